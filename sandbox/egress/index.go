package egress

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/sandbox/egress/pyindex"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// index answers one sandbox's requests for packages of Python: the pages of projects, written anew
// from what was understood of the index's, and files, whose bytes are known before one of them passes.
type index struct {
	*proxy
	builds map[string]string // sources that may be used: "name@version" to their digest in hex
	prefer string            // "name@version"
	pinned map[string][]string
	exact  bool // what is not in pinned is not there

	pages map[string]*page // by project; guarded by proxy.mu
}

// page is a project's page once it was looked at.
type page struct {
	pyindex.Page
	cached bool
	files  map[string]pyindex.File // by name: those that this installation may have
}

func newIndex(p *proxy, request wire.Registries) *index {
	x := &index{proxy: p, builds: map[string]string{}, prefer: request.Prefer, pinned: request.Pinned, exact: request.Exactly, pages: map[string]*page{}}
	for _, one := range request.Builds {
		if name, digest, ok := strings.Cut(one, " sha256:"); ok {
			x.builds[name] = digest
		}
	}
	return x
}

// askedFile is what one request asks an index for: the page of a project, or a file of it.
type askedFile struct {
	project, file string
	metadata      bool // the wheel's metadata alone
}

var indexPath = regexp.MustCompile(`^/(?:simple/([a-z0-9]+(?:-[a-z0-9]+)*)/|files/([a-z0-9]+(?:-[a-z0-9]+)*)/([A-Za-z0-9][A-Za-z0-9._+!-]*))$`)

// parseIndexRequest is parseRequest, for an index of Python's.
func parseIndexRequest(method, host, uri string) (askedFile, *refusal) {
	switch {
	case method != http.MethodGet:
		return askedFile{}, &refusal{http.StatusMethodNotAllowed, "only reading from an index is allowed"}
	case host != wire.RegistryAddress:
		return askedFile{}, &refusal{http.StatusForbidden, "the Host is not this index's"}
	case len(uri) > maxURI:
		return askedFile{}, &refusal{http.StatusForbidden, "the request is too long"}
	}
	m := indexPath.FindStringSubmatch(uri)
	switch {
	case m == nil:
		return askedFile{}, &refusal{http.StatusForbidden, "only pages and files of projects can be fetched"}
	case m[1] != "":
		return askedFile{project: m[1]}, nil
	}
	file, metadata := strings.CutSuffix(m[3], pyindex.MetadataSuffix)
	if _, wheel, ok := pyindex.ParseName(m[2], file); !ok || metadata && !wheel {
		return askedFile{}, &refusal{http.StatusForbidden, "that is no file of the project"}
	}
	return askedFile{project: m[2], file: file, metadata: metadata}, nil
}

// ServeHTTP answers one request, and reports it.
func (x *index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, no := parseIndexRequest(r.Method, r.Host, r.RequestURI)
	x.serve(w, r, no, func() wire.Fetch {
		ctx, cancel := context.WithTimeout(r.Context(), x.bounds.each)
		defer cancel()
		if a.file == "" {
			return x.passPage(ctx, cancel, w, a)
		}
		return x.passFile(ctx, cancel, w, a)
	})
}

func (x *index) passPage(ctx context.Context, cancel func(), w http.ResponseWriter, a askedFile) wire.Fetch {
	f := wire.Fetch{Kind: wire.Packument, Name: a.project}
	p, no := x.page(ctx, cancel, a.project)
	if no != nil {
		return refused(w, f, no)
	}
	f.Status, f.Cached = http.StatusOK, p.cached
	shown := pyindex.Page{Project: a.project}
	for _, file := range p.Files {
		if its, may := p.files[file.Name]; may {
			shown.Files = append(shown.Files, its)
		}
	}
	w.Header().Set("Content-Type", pyindex.JSON)
	counted := &counter{w: w}
	err := shown.Write(counted, func(file pyindex.File) string {
		return "http://" + wire.RegistryAddress + "/files/" + a.project + "/" + file.Name
	})
	f.Bytes = counted.n
	return x.passed(w, f, err)
}

func refused(w http.ResponseWriter, f wire.Fetch, no *refusal) wire.Fetch {
	f.Status, f.Why = no.status, no.why
	answer(w, f.Status, f.Why)
	return f
}

// page is a project's, as it was when this installation first asked for it.
func (x *index) page(ctx context.Context, cancel func(), project string) (*page, *refusal) {
	x.mu.Lock()
	known := x.pages[project]
	x.mu.Unlock()
	if known != nil {
		return known, nil
	}
	p, no := x.fetchedPage(ctx, cancel, project)
	if no != nil {
		return nil, no
	}
	if source := x.judge(p); source != nil {
		x.tellSource(ctx, cancel, project, *source)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if known = x.pages[project]; known == nil && len(x.pages) < maxPages {
		x.pages[project], known = p, p
	}
	if known == nil {
		return nil, &refusal{http.StatusForbidden, "this installation has asked for more than is allowed"}
	}
	return known, nil
}

// maxPages bounds the projects of one installation.
const maxPages = 5000

// fetchedPage is a page from the index; the one that is kept when that cannot be reached.
func (x *index) fetchedPage(ctx context.Context, cancel func(), project string) (*page, *refusal) {
	key := x.pageKey(project)
	if x.isDown() {
		if p, err := x.keptPage(key, project); err == nil {
			return p, nil
		}
	}
	p, no := x.askPage(ctx, cancel, project)
	if no == nil {
		x.keepPage(key, p.Page)
		return p, nil
	}
	if no.status >= http.StatusInternalServerError {
		if kept, err := x.keptPage(key, project); err == nil {
			return kept, nil
		}
	}
	return nil, no
}

func (x *index) askPage(ctx context.Context, cancel func(), project string) (*page, *refusal) {
	resp, err := x.upstream.get(ctx, http.MethodGet, x.upstream.registries.fallback.String()+"/"+project+"/", pyindex.Accept)
	if err != nil {
		status, why := failure(err)
		x.setDown(status >= http.StatusInternalServerError)
		return nil, &refusal{status, why}
	}
	defer resp.Body.Close()
	if no := translated(resp.StatusCode, project); no != nil {
		return nil, no
	}
	body := newBounded(resp.Body, x.bounds.packument, x.bounds.idle, cancel)
	defer body.stop()
	p, err := pyindex.Parse(project, resp.Header.Get("Content-Type"), resp.Request.URL, body)
	if err != nil {
		return nil, &refusal{http.StatusBadGateway, shorten(err.Error())}
	}
	return &page{Page: p}, nil
}

// translated says what an index's status means for the sandbox; nil where it has answered.
func translated(status int, project string) *refusal {
	switch status {
	case http.StatusOK:
		return nil
	case http.StatusNotFound, http.StatusGone:
		return &refusal{http.StatusNotFound, "the index has no " + project}
	case http.StatusUnauthorized, http.StatusForbidden:
		return &refusal{http.StatusForbidden, "the index does not give " + project + " to us; look at the user and password in your pip.conf or uv.toml"}
	case http.StatusTooManyRequests:
		return &refusal{status, "the index asks to slow down"}
	}
	return &refusal{http.StatusBadGateway, fmt.Sprintf("the index answered %d", status)}
}

// pageKey is where a page is kept, by its index and project.
func (x *index) pageKey(project string) string {
	sum := sha256.Sum256([]byte(x.upstream.registries.fallback.String()))
	return "pypi_" + hex.EncodeToString(sum[:8]) + "_" + project
}

// keepPage keeps what was understood; that it cannot be kept changes nothing now.
func (x *index) keepPage(key string, p pyindex.Page) {
	s, err := x.cache.spool()
	if err != nil {
		return
	}
	defer s.discard()
	if json.MarshalWrite(s, p) == nil {
		s.keep(key)
	}
}

func (x *index) keptPage(key, project string) (*page, error) {
	f, err := x.cache.description(key)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := &page{cached: true}
	if err := json.UnmarshalRead(f, &p.Page); err != nil {
		return nil, err
	}
	if p.Project != project {
		return nil, errors.New("it is another project's")
	}
	return p, nil
}

// judge says which files of p this installation may have: not those that were taken back, that are too
// new, or that run code to be built. Where nothing is left for this machine but such sources, it
// returns the one to ask about.
func (x *index) judge(p *page) (source *pyindex.File) {
	p.files = map[string]pyindex.File{}
	wheels, told := false, map[string]bool{}
	for i, f := range p.Files {
		name := p.Project + "@" + f.Version
		exempt := x.exempt[name]
		switch {
		case !x.isPinned(p.Project, f):
		case f.Yanked && !exempt:
		case !exempt && x.tooYoung(p.Page, f):
			if !told[name] {
				told[name] = true
				x.seen(wire.Fetch{Kind: wire.Young, Name: p.Project, Version: f.Version, Published: f.At})
			}
		case f.Wheel:
			p.files[f.Name] = f
			wheels = wheels || f.Fits()
		case x.builds[name] != "" && (f.SHA256 == "" || f.SHA256 == x.builds[name]):
			f.SHA256 = x.builds[name] // the bytes that were looked at, whatever the index tells
			p.files[f.Name], wheels = f, true
		case source == nil || x.better(p.Project, f, *source):
			source = &p.Files[i]
		}
	}
	if wheels {
		return nil
	}
	return source
}

// isPinned says whether a lock has f, where one says which files of its project may be used. A file whose
// digest the index does not tell is looked at once it is there.
func (x *index) isPinned(project string, f pyindex.File) bool {
	only, are := x.pinned[project]
	return !are && !x.exact || are && (f.SHA256 == "" || slices.Contains(only, f.SHA256))
}

func (x *index) tooYoung(p pyindex.Page, f pyindex.File) bool {
	return !x.before.IsZero() && p.Timed && (f.At.IsZero() || f.At.After(x.before))
}

// better says which of two sources to ask about: the one asked for, else the newer; indexes list the
// newest last.
func (x *index) better(project string, f, than pyindex.File) bool {
	if project+"@"+than.Version == x.prefer {
		return false
	}
	return project+"@"+f.Version == x.prefer || !f.At.Before(than.At)
}

// tellSource reports a source distribution that was left out, with what it would run.
func (x *index) tellSource(ctx context.Context, cancel func(), project string, f pyindex.File) {
	said := wire.Fetch{Kind: wire.Source, Name: project, Version: f.Version, File: f.Name}
	got, _, no := x.fetchFile(ctx, cancel, f)
	if no != nil {
		said.Why = no.why
		x.seen(said)
		return
	}
	defer got.Close()
	script, err := pyindex.ReadSource(got)
	if said.Script, said.Integrity = script, "sha256:"+got.digest; err != nil {
		said.Why = shorten(err.Error())
	}
	x.seen(said)
}

// passFile sends a file that is whole.
func (x *index) passFile(ctx context.Context, cancel func(), w http.ResponseWriter, a askedFile) wire.Fetch {
	version, _, _ := pyindex.ParseName(a.project, a.file)
	f := wire.Fetch{Kind: wire.Tarball, Name: a.project, Version: version, File: a.file}
	p, no := x.page(ctx, cancel, a.project)
	if no != nil {
		return refused(w, f, no)
	}
	file, may := p.files[a.file]
	if a.metadata {
		if file.Metadata == "" {
			may = false
		}
		f.Kind, f.File = wire.Metadata, a.file+pyindex.MetadataSuffix
		file = pyindex.File{Name: f.File, URL: file.URL + pyindex.MetadataSuffix, SHA256: file.Metadata}
	}
	if !may {
		return refused(w, f, &refusal{http.StatusForbidden, a.file + " is not there for this installation: it is unknown, too new, taken back, or runs code to be built"})
	}
	got, cached, no := x.fetchFile(ctx, cancel, file)
	if no != nil {
		return refused(w, f, no)
	}
	defer got.Close()
	if !a.metadata && !x.isPinned(a.project, pyindex.File{SHA256: got.digest}) {
		return refused(w, f, &refusal{http.StatusForbidden, a.file + " is not the file that the lock has"})
	}
	f.Status, f.Integrity, f.Cached = http.StatusOK, "sha256:"+got.digest, cached
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", fmt.Sprint(got.size))
	n, err := io.Copy(w, got)
	f.Bytes = n
	return x.passed(w, f, err)
}

// whole is a file whose bytes are known. The caller closes it.
type whole struct {
	*os.File
	digest string // sha256, in hex
	size   int64
}

// fetchFile has the bytes of f, from what is kept or from the index, and checked against what the
// index's page says of them.
func (x *index) fetchFile(ctx context.Context, cancel func(), f pyindex.File) (got whole, cached bool, no *refusal) {
	if kept, err := x.cache.file(f.SHA256); err == nil {
		if info, err := kept.Stat(); err == nil {
			return whole{kept, f.SHA256, info.Size()}, true, nil
		}
		_ = kept.Close()
	}
	resp, err := x.upstream.get(ctx, http.MethodGet, f.URL, "*/*")
	if err != nil {
		status, why := failure(err)
		return whole{}, false, &refusal{status, why}
	}
	defer resp.Body.Close()
	if no := translated(resp.StatusCode, f.Name); no != nil {
		return whole{}, false, no
	}
	body := newBounded(resp.Body, x.bounds.tarball, x.bounds.idle, cancel)
	defer body.stop()
	s, err := x.cache.spool()
	if err != nil {
		return whole{}, false, &refusal{http.StatusInternalServerError, "a file cannot be kept: " + shorten(err.Error())}
	}
	if got, err = checked(s, body, f.SHA256); err != nil {
		s.discard()
		return whole{}, false, &refusal{http.StatusBadGateway, f.Name + ": " + err.Error()}
	}
	s.keep(fileKey(got.digest))
	return got, false, nil
}

// checked writes body to s, whose bytes have to be those of the digest; "" allows any.
func checked(s *spool, body io.Reader, digest string) (whole, error) {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(s, sum), body)
	if err != nil {
		return whole{}, err
	}
	got := hex.EncodeToString(sum.Sum(nil))
	if digest != "" && got != digest {
		return whole{}, errors.New("the file is not what the index's own page says")
	}
	_, err = s.Seek(0, io.SeekStart)
	return whole{s.File, got, n}, err
}
