package outlet

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/scan"
	"github.com/garita-dev/garita/sandbox/egress/swap"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// swapping puts values in the place of sentinels on their way out, and sentinels in the place of values on
// the way back.
func (o *Outlet) swapping(l *live, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer o.quietly(l)
		set := o.placeholders()
		if set.Empty() && !l.opened {
			next.ServeHTTP(w, r)
			return
		}
		if o.looksInto(l, set) {
			askForPlain(r)
			looked := newLooked(w, o.valuesEver(), func(name string) { o.cameInPart(l, name) })
			defer looked.finish()
			w = looked
		}
		body := &incoming{r: r, kept: &o.Secrets.bodies}
		defer body.release()
		if out := o.prepare(w, l, body); out != nil {
			next.ServeHTTP(w, out)
		}
	})
}

// quietly ends l where its handling went wrong, without a word of what it was about.
func (o *Outlet) quietly(l *live) {
	switch err := recover(); err {
	case nil:
	case http.ErrAbortHandler: //nolint:errorlint // it is what is panicked with, as it is
		panic(err)
	default:
		o.Log.Error("a request could not be handled", "host", l.host)
		l.end("a request on it could not be handled")
		panic(http.ErrAbortHandler)
	}
}

// maxAttempts bounds how often a request is decided about anew because the secrets have changed meanwhile.
const maxAttempts = 3

// prepare is the request as it is to leave; nil where it is refused, and answered.
func (o *Outlet) prepare(w http.ResponseWriter, l *live, body *incoming) *http.Request {
	r := body.r
	for range maxAttempts {
		set := o.placeholders()
		if set.Reads(r, l.target(), time.Now()) {
			if status, what := body.read(); status != 0 {
				http.Error(w, "garita: "+what, status)
				return nil
			}
		}
		plan := set.Plan(r, body.all, l.target(), time.Now())
		if p, why := o.mayLeave(r, l, plan); p != nil {
			o.refuse(w, l, plan.Uses, p, why)
			return nil
		}
		if !o.commit(l, set, plan.Uses) {
			continue
		}
		for _, one := range plan.Stays {
			o.stayed(l, one)
		}
		for _, u := range plan.Uses {
			o.sent(l, u)
		}
		return o.leaving(l, set, plan, body)
	}
	http.Error(w, "garita: the secrets of this server have just changed; try again", http.StatusServiceUnavailable)
	return nil
}

// mayLeave asks about each placeholder that is to be asked about. It returns the first that may not be
// used, and why.
func (o *Outlet) mayLeave(r *http.Request, l *live, plan *swap.Plan) (*wire.Placeholder, string) {
	asked := map[*wire.Placeholder]bool{}
	for _, u := range plan.Uses {
		if !u.Placeholder.Consult || asked[u.Placeholder] {
			continue
		}
		asked[u.Placeholder] = true
		if why := o.consult(r.Context(), l, u.Placeholder); why != "" {
			return u.Placeholder, why
		}
	}
	return nil, ""
}

// leaving is the request that plan makes.
func (o *Outlet) leaving(l *live, set *swap.Set, plan *swap.Plan, body *incoming) *http.Request {
	out := plan.Apply(body.r)
	switch b := plan.Body(); {
	case b != nil:
		body.replace(out, b)
	case body.all != nil:
		body.replace(out, body.all)
	case out.Body != nil && out.Body != http.NoBody && !set.Empty():
		why := "It does not stand in a body in which secrets are put."
		if body.tooLarge {
			why = swap.TooLarge
		}
		out.Body = o.watched(l, set, out, why)
	}
	return out
}

// incoming is a request's body.
type incoming struct {
	r        *http.Request
	kept     *atomic.Int64 // see Secrets.bodies
	reserved atomic.Int64  // of it
	done     bool
	all      []byte // nil where it was not read, or is too large
	tooLarge bool
}

// smallBody is what any number of requests may have in memory, in bytes.
const smallBody = 64 << 10

// read reads the body, unless it is too large; then it stays to be read. A status other than 0 says
// that it could not be read.
func (b *incoming) read() (status int, what string) {
	if b.done {
		return 0, ""
	}
	b.done = true
	if b.tooLarge = b.r.ContentLength > swap.MaxBody; b.tooLarge {
		return 0, ""
	}
	all, err := io.ReadAll(io.LimitReader(b.r.Body, smallBody+1))
	if err == nil && len(all) > smallBody {
		// It cannot wait here: what is not read keeps other requests on this connection from being read.
		if !b.reserve() {
			return http.StatusServiceUnavailable, "too many large requests with secrets are under way; try again"
		}
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(b.r.Body, swap.MaxBody+1-int64(len(all))))
		all = append(all, rest...)
	}
	if err != nil {
		return http.StatusBadRequest, "the request's body broke off"
	}
	if b.tooLarge = len(all) > swap.MaxBody; b.tooLarge {
		b.r.Body = &rejoined{io.MultiReader(bytes.NewReader(all), b.r.Body), b.r.Body}
		return 0, ""
	}
	b.all = all
	return 0, ""
}

// reserve makes room for a large body; false where there is none.
func (b *incoming) reserve() bool {
	n := b.r.ContentLength
	if n < 0 {
		n = swap.MaxBody
	}
	if b.kept.Add(n) > maxBodies {
		b.kept.Add(-n)
		return false
	}
	b.reserved.Store(n)
	return true
}

// release gives the room back. It may be called again.
func (b *incoming) release() { b.kept.Add(-b.reserved.Swap(0)) }

// known is a body in memory, on its way out.
type known struct {
	b *incoming
	r *bytes.Reader
}

// Read reads the body, and forgets it at its end.
func (k *known) Read(p []byte) (int, error) {
	if k.r == nil {
		return 0, io.EOF
	}
	n, err := k.r.Read(p)
	if k.r.Len() == 0 {
		k.r = nil
		k.b.release()
	}
	return n, err
}

// Close does nothing.
func (k *known) Close() error { return nil }

type rejoined struct {
	io.Reader
	io.Closer
}

// replace gives out a body that is known.
func (b *incoming) replace(out *http.Request, body []byte) {
	b.all = nil
	out.Body = &known{b, bytes.NewReader(body)}
	out.TransferEncoding = nil
	out.ContentLength = int64(len(body))
	if len(out.Trailer) > 0 {
		out.ContentLength = -1 // a length and trailers do not go together in HTTP/1.1
	}
}

// watched is r's body, in which sentinels are seen and stay.
func (o *Outlet) watched(l *live, set *swap.Set, r *http.Request, why string) io.ReadCloser {
	w := &watched{ReadCloser: r.Body, r: r}
	w.found = func(name string, in sandbox.PlaceKind) {
		if one, ok := set.Late(name, sandbox.SecretPlace{In: in}, l.target(), time.Now(), why); ok {
			o.stayed(l, one)
		}
	}
	w.set = set
	w.filter = scan.NewFilter(set.Sentinels(), func([]byte) error { return nil })
	w.filter.Found = func(name string) { w.found(name, sandbox.InBody) }
	return w
}

type watched struct {
	io.ReadCloser
	r      *http.Request
	set    *swap.Set
	filter *scan.Filter
	found  func(name string, in sandbox.PlaceKind)
}

// Read reads the body.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	_ = w.filter.Write(b[:n])
	if err == nil {
		return n, nil
	}
	_ = w.filter.Close()
	if errors.Is(err, io.EOF) {
		for _, values := range w.r.Trailer {
			for _, text := range values {
				for _, name := range w.set.Sentinels().Names(text) {
					w.found(name, swap.InTrailer)
				}
			}
		}
	}
	return n, err
}
