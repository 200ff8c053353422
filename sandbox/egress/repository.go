package egress

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// repository answers one sandbox's git: the commits of one repository, read-only, by git's smart protocol
// (gitprotocol-http). Credentials are added here; what git says of its own is not sent on.
type repository struct {
	*proxy
	base *url.URL // where it has turned out to be, on the same host; guarded by proxy.mu
}

// The three requests that git makes to fetch, below where it thinks the repository is.
const (
	gitRefs   = "/repository/info/refs?service=git-upload-pack"
	gitUpload = "/repository/git-upload-pack"
	gitWants  = "application/x-git-upload-pack-request"
	gitGives  = "application/x-git-upload-pack-result"
	gitOffers = "application/x-git-upload-pack-advertisement"
)

// maxWants bounds what git may ask for, in bytes: a first clone asks for some hundred.
const maxWants = 1 << 20

// ServeHTTP answers one request, and reports it.
func (g *repository) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var no *refusal
	switch {
	case r.Host != wire.RegistryAddress:
		no = &refusal{http.StatusForbidden, "the Host is not this repository's"}
	case r.Method == http.MethodGet && r.RequestURI == gitRefs:
	case r.Method == http.MethodPost && r.RequestURI == gitUpload && r.Header.Get("Content-Type") == gitWants:
	default:
		no = &refusal{http.StatusForbidden, "only commits can be fetched from a repository"}
	}
	g.serve(w, r, no, func() wire.Fetch {
		ctx, cancel := context.WithTimeout(r.Context(), g.bounds.each)
		defer cancel()
		return g.pass(ctx, cancel, w, r)
	})
}

func (g *repository) pass(ctx context.Context, cancel func(), w http.ResponseWriter, r *http.Request) wire.Fetch {
	f := wire.Fetch{Kind: wire.Cloned, Name: g.name()}
	wants, err := io.ReadAll(io.LimitReader(r.Body, maxWants+1))
	if err != nil || len(wants) > maxWants {
		return refusedGit(w, f, &refusal{http.StatusRequestEntityTooLarge, "git asks for more than is allowed"})
	}
	resp, no := g.ask(ctx, r, wants)
	if no != nil {
		return refusedGit(w, f, no)
	}
	defer resp.Body.Close()
	f.Status = http.StatusOK
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.Header().Set("Cache-Control", "no-cache")
	body := newBounded(resp.Body, g.bounds.tarball, g.bounds.idle, cancel)
	defer body.stop()
	f.Bytes, err = io.Copy(w, body)
	return g.passed(w, f, err)
}

// refusedGit answers with a sentence that git shows: "remote: …".
func refusedGit(w http.ResponseWriter, f wire.Fetch, no *refusal) wire.Fetch {
	f.Status, f.Why = no.status, no.why
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(no.status)
	_, _ = io.WriteString(w, "garita: "+no.why+"\n")
	return f
}

// name is the repository without scheme, for people and the record.
func (g *repository) name() string {
	at := g.upstream.registries.fallback
	return at.Host + at.Path
}

func (g *repository) where() *url.URL {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.base != nil {
		return g.base
	}
	return g.upstream.registries.fallback
}

// ask asks the repository, and follows it to where it has moved on its own host.
func (g *repository) ask(ctx context.Context, r *http.Request, wants []byte) (*http.Response, *refusal) {
	rest := strings.TrimPrefix(r.RequestURI, "/repository")
	next, err := url.Parse(g.where().String() + rest)
	if err != nil {
		return nil, &refusal{http.StatusBadGateway, "the repository's address cannot be read"}
	}
	for range maxHops {
		resp, err := g.hop(ctx, r, next, wants)
		if err != nil {
			_, why := failure(err)
			return nil, &refusal{http.StatusBadGateway, strings.Replace(why, "the registry", g.where().Host, 1)}
		}
		location := redirect(resp)
		if location == "" {
			return g.judge(r, resp)
		}
		_ = resp.Body.Close()
		if next, err = next.Parse(location); err != nil {
			return nil, &refusal{http.StatusBadGateway, "the repository redirected to an address that cannot be read"}
		}
		if no := g.moved(r, next, rest); no != nil {
			return nil, no
		}
	}
	return nil, &refusal{http.StatusBadGateway, "the repository redirected too often"}
}

// moved notes where the repository is by its own word; on its own host, and only before anything was asked.
func (g *repository) moved(r *http.Request, to *url.URL, rest string) *refusal {
	base, ok := strings.CutSuffix(to.String(), rest)
	at, err := url.Parse(base)
	switch {
	case !g.upstream.registries.permits(to):
		return &refusal{http.StatusForbidden, fmt.Sprintf("the repository sends on to %s, another host; name that one, if it is meant", to.Host)}
	case r.Method != http.MethodGet || !ok || err != nil:
		return &refusal{http.StatusBadGateway, "the repository redirected to something else"}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.base = at
	return nil
}

func (g *repository) hop(ctx context.Context, r *http.Request, to *url.URL, wants []byte) (*http.Response, error) {
	if !g.upstream.registries.permits(to) {
		return nil, &notPermitted{host: to.Host}
	}
	var body io.Reader
	if r.Method == http.MethodPost {
		body = bytes.NewReader(wants)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, to.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "git/2 ("+userAgent+")") // some hosts answer nobody else
	if r.Header.Get("Git-Protocol") == "version=2" {
		req.Header.Set("Git-Protocol", "version=2")
	}
	if body != nil {
		req.Header.Set("Content-Type", gitWants)
		req.Header.Set("Accept", gitGives)
		if r.Header.Get("Content-Encoding") == "gzip" {
			req.Header.Set("Content-Encoding", "gzip")
		}
	}
	if header := g.upstream.registries.header(to); !header.IsZero() {
		req.Header.Set("Authorization", header.Send())
	}
	return g.upstream.transport.RoundTrip(req)
}

// judge takes an answer of git's, and no other.
func (g *repository) judge(r *http.Request, resp *http.Response) (*http.Response, *refusal) {
	want := gitOffers
	if r.Method == http.MethodPost {
		want = gitGives
	}
	var no *refusal
	switch host := g.where().Host; {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		no = &refusal{http.StatusForbidden, fmt.Sprintf("%s does not show it to us: it is not there, or it is private; for a private one put a token into ~/.netrc (machine %s login USER password TOKEN)", host, g.where().Hostname())}
	case resp.StatusCode == http.StatusNotFound:
		no = &refusal{http.StatusNotFound, host + " has no such repository, or it is private: for a private one put a token into ~/.netrc"}
	case resp.StatusCode != http.StatusOK:
		no = &refusal{http.StatusBadGateway, fmt.Sprintf("%s answered %d", host, resp.StatusCode)}
	case resp.Header.Get("Content-Type") != want:
		no = &refusal{http.StatusBadGateway, host + " does not speak git's smart protocol there: is it the address of a repository?"}
	default:
		return resp, nil
	}
	_ = resp.Body.Close()
	return nil, no
}
