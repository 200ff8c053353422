package egress

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// description is a package's description as its registry gave it, in a file. The caller closes it.
type description struct {
	*os.File
	dates  dates
	long   bool
	cached bool
}

// describe answers with a package's description, without the versions that are too new.
func (p *proxy) describe(ctx context.Context, cancel func(), w http.ResponseWriter, r *http.Request, f wire.Fetch) wire.Fetch {
	d, no := p.judged(ctx, cancel, f.Name, accept(asked{kind: f.Kind}, r.Header.Get("Accept")) == longDescription)
	if no != nil {
		f.Status, f.Why = no.status, no.why
		answer(w, f.Status, f.Why)
		return f
	}
	defer d.Close()
	e := edit{place: func(version, tarball string) string { return p.place(f.Name, version, tarball) }}
	if left := p.leftOut(f.Name, d.dates); len(left) > 0 {
		e.left = func(version string) bool { _, ok := slices.BinarySearch(left, version); return ok }
		e.tags = d.dates.tagsWithout(e.left)
	}
	p.remember(f.Name, d.dates)
	f.Status, f.Cached = http.StatusOK, d.cached
	w.Header().Set("Content-Type", longDescription)
	if !d.long {
		w.Header().Set("Content-Type", shortDescription)
	}
	counted := &counter{w: w}
	err := rewritePackument(counted, d.File, e)
	f.Bytes = counted.n
	return p.passed(w, f, err)
}

// judged is a description that says when its versions were published, where that matters: the short
// form says only when anything was last changed.
func (p *proxy) judged(ctx context.Context, cancel func(), name string, long bool) (*description, *refusal) {
	d, no := p.fetched(ctx, cancel, name, long)
	if no != nil || d.long || d.dates.published != nil || d.dates.settled(p.before) {
		return d, no
	}
	_ = d.Close()
	return p.fetched(ctx, cancel, name, true)
}

// fetched is a description from its registry; the one that is kept when that cannot be reached.
func (p *proxy) fetched(ctx context.Context, cancel func(), name string, long bool) (*description, *refusal) {
	a := asked{kind: wire.Packument, name: name}
	form, want := "short", shortDescription
	if long {
		form, want = "long", ""
	}
	key := descriptionKey(p.upstream.registries.of(name).Host, name, form)
	if p.isDown() {
		if d, err := p.kept(key, long); err == nil {
			return d, nil
		}
	}
	d, no := p.ask(ctx, cancel, a, want, key, long)
	if no != nil && no.status >= http.StatusInternalServerError {
		if kept, err := p.kept(key, long); err == nil {
			return kept, nil
		}
	}
	return d, no
}

func (p *proxy) kept(key string, long bool) (*description, error) {
	f, err := p.cache.description(key)
	if err != nil {
		return nil, err
	}
	return readDescription(f, long, true)
}

// ask fetches a description and keeps it.
func (p *proxy) ask(ctx context.Context, cancel func(), a asked, want, key string, long bool) (*description, *refusal) {
	resp, err := p.upstream.get(ctx, http.MethodGet, p.address(a), accept(a, want))
	if err != nil {
		status, why := failure(err)
		p.setDown(status >= http.StatusInternalServerError)
		return nil, &refusal{status, why}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		status, why := translate(resp.StatusCode, a)
		return nil, &refusal{status, why}
	}
	s, err := p.cache.spool()
	if err != nil {
		return nil, &refusal{http.StatusInternalServerError, "a description cannot be kept: " + shorten(err.Error())}
	}
	body := newBounded(resp.Body, p.bounds.packument, p.bounds.idle, cancel)
	defer body.stop()
	_, err = io.Copy(s, body)
	if err == nil {
		_, err = s.Seek(0, io.SeekStart)
	}
	if err != nil {
		s.discard()
		return nil, &refusal{http.StatusBadGateway, err.Error()}
	}
	d, err := readDescription(s.File, long || contentType(a, resp.Header.Get("Content-Type")) == longDescription, false)
	if err != nil {
		s.keep("")
		return nil, &refusal{http.StatusBadGateway, "read a package's description: " + shorten(err.Error())}
	}
	s.keep(key)
	return d, nil
}

// readDescription takes ownership of f.
func readDescription(f *os.File, long, cached bool) (*description, error) {
	dates, err := readDates(f)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &description{f, dates, long, cached}, nil
}

// leftOut are the versions that are too new, sorted; each is reported.
func (p *proxy) leftOut(name string, d dates) []string {
	var left []string
	for _, version := range d.versions {
		if p.exempt[name+"@"+version] || !d.young(version, p.before) {
			continue
		}
		left = append(left, version)
		p.mu.Lock()
		p.tooNew[name+" "+version] = true
		p.mu.Unlock()
		p.seen(wire.Fetch{Kind: wire.Young, Name: name, Version: version, Published: d.published[version]})
	}
	slices.Sort(left)
	return left
}

// old refuses a tarball that is too new. One may be asked for without its description: by a
// shrinkwrap that came in a package.
func (p *proxy) old(ctx context.Context, cancel func(), a asked) *refusal {
	if a.kind != wire.Tarball || p.before.IsZero() {
		return nil
	}
	p.mu.Lock()
	described := p.described[a.name]
	p.mu.Unlock()
	if !described {
		d, no := p.judged(ctx, cancel, a.name, false)
		if no != nil {
			return no
		}
		defer d.Close()
		p.leftOut(a.name, d.dates)
		p.remember(a.name, d.dates)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tooNew[a.name+" "+a.version] {
		return &refusal{http.StatusForbidden, a.name + "@" + a.version + " was published too lately"}
	}
	return nil
}

// remember keeps what the tarballs of a package are to be.
func (p *proxy) remember(name string, d dates) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.described[name] = true
	for version, integrity := range d.integrity {
		if len(p.integrity) < maxElsewhere {
			p.integrity[name+" "+version] = integrity
		}
	}
}

func (p *proxy) isDown() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.down
}

func (p *proxy) setDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = p.down || down
}
