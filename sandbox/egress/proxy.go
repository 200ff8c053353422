package egress

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// bounds limit what one sandbox may fetch.
type bounds struct {
	packument int64         // bytes of one description, unpacked
	tarball   int64         // bytes of one tarball
	total     int64         // bytes of everything
	requests  int64         // requests of every kind
	atOnce    int           // requests being answered
	idle      time.Duration // without a byte from the registry
	each      time.Duration // one request, from first to last byte
}

// usual bounds: the largest description on npmjs is below 40 MB, the largest tarball of a server
// seen below 200 MB; the rest leaves room and ends a runaway.
var usual = bounds{
	packument: 96 << 20, tarball: 1 << 30, total: 8 << 30, requests: 50_000, atOnce: 32,
	idle: 60 * time.Second, each: 15 * time.Minute,
}

// proxy answers one sandbox's requests for packages.
type proxy struct {
	upstream *upstream
	bounds   bounds
	log      *slog.Logger
	seen     func(wire.Fetch) // never blocks for long
	slots    chan struct{}
	cache    *cache
	before   time.Time       // versions published later are left out; zero: none
	exempt   map[string]bool // "name@version"s that are not

	mu        sync.Mutex        // guards the fields below
	elsewhere map[string]string // name + " " + version to a tarball's address, where it is not the usual one
	integrity map[string]string // name + " " + version to what the description says
	described map[string]bool   // names whose description was looked at
	tooNew    map[string]bool   // name + " " + version
	requests  int64
	bytes     int64
	down      bool // a registry could not be reached: what is kept is looked at first
}

// maxElsewhere bounds the addresses remembered; a large installation has some ten thousand versions.
const maxElsewhere = 500_000

func newProxy(u *upstream, b bounds, log *slog.Logger, seen func(wire.Fetch)) *proxy {
	return &proxy{upstream: u, bounds: b, log: log, seen: seen, slots: make(chan struct{}, b.atOnce), elsewhere: map[string]string{}, integrity: map[string]string{}, described: map[string]bool{}, tooNew: map[string]bool{}}
}

// ServeHTTP answers one request, and reports it.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, no := parseRequest(r.Method, r.Host, r.RequestURI)
	p.serve(w, r, no, func() wire.Fetch { return p.pass(w, r, a) })
}

// serve answers a request that was refused, or with what pass does; and reports it.
func (p *proxy) serve(w http.ResponseWriter, r *http.Request, no *refusal, pass func() wire.Fetch) {
	if no == nil {
		no = p.admit()
	}
	if no != nil {
		p.refuse(w, r, no)
		return
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-r.Context().Done():
		return
	}
	p.report(pass())
}

// admit counts the request against the bounds.
func (p *proxy) admit() *refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	if p.requests > p.bounds.requests || p.bytes > p.bounds.total {
		return &refusal{http.StatusForbidden, "this installation has fetched more than is allowed"}
	}
	return nil
}

func (p *proxy) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	answer(w, no.status, no.why)
	p.report(wire.Fetch{Kind: wire.Refused, Name: shorten(r.Method + " " + r.RequestURI), Status: no.status, Why: no.why})
}

func (p *proxy) report(f wire.Fetch) {
	level := slog.LevelDebug // the daemon records what passed; what did not is worth a line here too
	if f.Why != "" {
		level = slog.LevelWarn
	}
	p.log.Log(context.Background(), level, "registry request", "kind", f.Kind, "name", f.Name, "version", f.Version, "status", f.Status, "bytes", f.Bytes, "why", f.Why)
	p.mu.Lock()
	p.bytes += f.Bytes
	p.mu.Unlock()
	p.seen(f)
}

// pass fetches what was asked for and copies it inside.
func (p *proxy) pass(w http.ResponseWriter, r *http.Request, a asked) (f wire.Fetch) {
	ctx, cancel := context.WithTimeout(r.Context(), p.bounds.each)
	defer cancel()
	f = wire.Fetch{Kind: a.kind, Name: a.name, Version: a.version}
	if a.kind == wire.Packument && r.Method == http.MethodGet {
		return p.describe(ctx, cancel, w, r, f)
	}
	if no := p.old(ctx, cancel, a); no != nil {
		f.Status, f.Why = no.status, no.why
		answer(w, f.Status, f.Why)
		return f
	}
	if p.fromCache(w, r, &f) {
		return f
	}
	resp, err := p.upstream.get(ctx, r.Method, p.address(a), accept(a, r.Header.Get("Accept")))
	if err != nil {
		f.Status, f.Why = failure(err)
		answer(w, f.Status, f.Why)
		return f
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		f.Status, f.Why = translate(resp.StatusCode, a)
		answer(w, f.Status, f.Why)
		return f
	}
	f.Status = http.StatusOK
	w.Header().Set("Content-Type", contentType(a, resp.Header.Get("Content-Type")))
	if r.Method == http.MethodHead {
		return f
	}
	body := newBounded(resp.Body, p.limit(a.kind), p.bounds.idle, cancel)
	defer body.stop()
	return p.passed(w, f, p.copyBody(w, body, a, &f, resp.ContentLength))
}

// passed is f once its body has been sent, or as much of it as there was.
func (p *proxy) passed(w http.ResponseWriter, f wire.Fetch, err error) wire.Fetch {
	if err == nil {
		return f
	}
	f.Why = err.Error()
	if f.Bytes == 0 {
		f.Status = http.StatusBadGateway
		answer(w, f.Status, f.Why)
		return f
	}
	p.report(f)
	panic(http.ErrAbortHandler) // a part has been sent: only a broken connection says that it is one
}

func (p *proxy) copyBody(w http.ResponseWriter, body io.Reader, a asked, f *wire.Fetch, length int64) error {
	if a.kind != wire.Tarball {
		n, err := io.Copy(w, body)
		f.Bytes = n
		return err
	}
	if length > 0 {
		w.Header().Set("Content-Length", fmt.Sprint(length))
	}
	kept, err := p.cache.spool()
	if err != nil {
		return fmt.Errorf("keep a tarball: %w", err)
	}
	defer kept.discard()
	sum := sha512.New()
	f.Bytes, err = io.Copy(io.MultiWriter(w, sum, kept), body)
	f.Integrity = "sha512-" + base64.StdEncoding.EncodeToString(sum.Sum(nil))
	if err != nil {
		return err
	}
	if said := p.said(a); said == f.Integrity || said == "" {
		kept.keep(tarballKey(f.Integrity))
	} else if tarballKey(said) != "" {
		f.Why = "the tarball is not what the registry's own description says" // npm refuses it, too
	}
	return nil
}

// fromCache answers with a tarball that is kept.
func (p *proxy) fromCache(w http.ResponseWriter, r *http.Request, f *wire.Fetch) bool {
	a := asked{kind: f.Kind, name: f.Name, version: f.Version}
	if a.kind != wire.Tarball || r.Method != http.MethodGet {
		return false
	}
	kept, err := p.cache.tarball(p.said(a))
	if err != nil {
		return false
	}
	defer kept.Close()
	w.Header().Set("Content-Type", contentType(a, ""))
	f.Status, f.Integrity, f.Cached = http.StatusOK, p.said(a), true
	n, err := io.Copy(w, kept)
	f.Bytes = n
	*f = p.passed(w, *f, err)
	return true
}

// said is the integrity that the description gave, "" for none.
func (p *proxy) said(a asked) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.integrity[a.name+" "+a.version]
}

func (p *proxy) limit(k wire.Kind) int64 {
	if k == wire.Tarball {
		return p.bounds.tarball
	}
	return p.bounds.packument
}

// place is the address under which the sandbox may fetch a tarball; where the registry's own
// differs from the usual one it is kept.
func (p *proxy) place(name, version, tarball string) string {
	a := asked{kind: wire.Tarball, name: name, file: tarballName(name, version), version: version}
	if tarball != p.upstream.registries.address(a) {
		p.mu.Lock()
		if len(p.elsewhere) < maxElsewhere {
			p.elsewhere[name+" "+version] = tarball
		}
		p.mu.Unlock()
	}
	return "http://" + wire.RegistryAddress + "/" + name + "/-/" + a.file
}

// address is where to fetch a from.
func (p *proxy) address(a asked) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if there := p.elsewhere[a.name+" "+a.version]; a.kind == wire.Tarball && there != "" {
		return there
	}
	return p.upstream.registries.address(a)
}

const (
	shortDescription = "application/vnd.npm.install-v1+json"
	longDescription  = "application/json"
)

// accept is the Accept header sent on: never the sandbox's own words.
func accept(a asked, from string) string {
	switch {
	case a.kind == wire.Tarball:
		return "application/octet-stream, */*"
	case strings.Contains(from, shortDescription):
		return shortDescription + "; q=1.0, " + longDescription + "; q=0.8"
	}
	return longDescription
}

// contentType is the one of the known types that from is.
func contentType(a asked, from string) string {
	if a.kind == wire.Tarball {
		return "application/octet-stream"
	}
	if strings.HasPrefix(from, shortDescription) {
		return shortDescription
	}
	return longDescription
}

// translate says what a registry's status means for the sandbox.
func translate(status int, a asked) (int, string) {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return http.StatusNotFound, "the registry has no " + string(a.kind) + " of " + a.name
	case http.StatusUnauthorized, http.StatusForbidden:
		return http.StatusForbidden, "the registry does not give " + a.name + " to us; look at the token in your .npmrc"
	case http.StatusTooManyRequests:
		return status, "the registry asks to slow down"
	}
	return http.StatusBadGateway, fmt.Sprintf("the registry answered %d", status)
}

// failure says what an error on the way to a registry means for the sandbox.
func failure(err error) (int, string) {
	var no *notPermitted
	switch {
	case errors.As(err, &no):
		return http.StatusForbidden, no.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, "the registry took too long"
	}
	return http.StatusBadGateway, "the registry cannot be reached: " + shorten(err.Error())
}

// answer sends a sentence in the form that npm shows.
func answer(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", longDescription)
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, map[string]string{"error": "garita: " + why})
}

// shorten keeps foreign text to one log line.
func shorten(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
