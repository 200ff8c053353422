package egress

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// registries is wire.Registries, checked: which registry has a package, which hosts may be
// reached, and which credentials go where. It does not change once made.
type registries struct {
	fallback *url.URL
	scopes   map[string]*url.URL
	allowed  map[string]bool // host:port
	auth     []credential
}

type credential struct {
	host   string // host:port
	path   string // with slashes at both ends
	header wire.Secret
}

// newRegistries refuses (InvalidArgument) what could not be meant: other schemes than https,
// plain http beyond the loopback, passwords in URLs.
func newRegistries(w wire.Registries) (*registries, error) {
	r := &registries{scopes: map[string]*url.URL{}, allowed: map[string]bool{}}
	fallback, err := r.add(w.Default)
	if err != nil {
		return nil, err
	}
	r.fallback = fallback
	for scope, address := range w.Scopes {
		if r.scopes[scope], err = r.add(address); err != nil {
			return nil, fmt.Errorf("registry of %s: %w", scope, err)
		}
	}
	for _, host := range w.Hosts {
		r.allowed[withPort(host, "https")] = true
	}
	for _, c := range w.Auth {
		r.auth = append(r.auth, credential{host: withPort(c.Host, "https"), path: c.Path, header: c.Header})
	}
	return r, nil
}

func (r *registries) add(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil {
		return nil, fmt.Errorf("a registry's URL cannot be read: %w", errdefs.ErrInvalidArgument) // the URL may hold a password
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Host == "" {
		return nil, fmt.Errorf("the registry at %s: a host and a path, nothing else, are allowed: %w", u.Host, errdefs.ErrInvalidArgument)
	}
	if !safeScheme(u) {
		return nil, fmt.Errorf("the registry at %s is not reached by https: %w", u.Host, errdefs.ErrInvalidArgument)
	}
	r.allowed[hostPort(u)] = true
	return u, nil
}

// safeScheme permits https, and plain http to this machine's loopback.
func safeScheme(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// of is the registry that has the package.
func (r *registries) of(name string) *url.URL {
	if scope, _, ok := strings.Cut(name, "/"); ok {
		if u := r.scopes[scope]; u != nil {
			return u
		}
	}
	return r.fallback
}

// address is where the thing asked for is, as registries usually lay it out.
func (r *registries) address(a asked) string {
	base := r.of(a.name).String() + "/"
	escaped := strings.Replace(a.name, "/", "%2f", 1)
	switch a.kind {
	case wire.Tarball:
		return base + a.name + "/-/" + a.file
	case wire.DistTags:
		return base + "-/package/" + escaped + "/dist-tags"
	}
	return base + escaped
}

// permits says whether the wall may fetch u at all.
func (r *registries) permits(u *url.URL) bool {
	return safeScheme(u) && u.User == nil && r.allowed[hostPort(u)]
}

// header is the Authorization for u: the longest path that fits, of exactly its host.
func (r *registries) header(u *url.URL) wire.Secret {
	best := credential{}
	for _, c := range r.auth {
		if c.host == hostPort(u) && strings.HasPrefix(u.EscapedPath()+"/", c.path) && len(c.path) >= len(best.path) {
			best = c
		}
	}
	return best.header
}

func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return strings.ToLower(u.Host)
	}
	return withPort(u.Host, u.Scheme)
}

// withPort adds the scheme's port to a host that has none.
func withPort(host, scheme string) string {
	host = strings.ToLower(host)
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	port := "443"
	if scheme == "http" {
		port = "80"
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}
