package image

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/garita-dev/garita/sandbox"
)

// Source is how a registry is reached.
type Source struct {
	Transport http.RoundTripper   // nil means http.DefaultTransport
	Auth      authn.Authenticator // nil means anonymous
}

// Pull fetches the image for this machine into a folder of into, whose name is its digest. A
// reference by digest is held to it. Plain http is spoken only to registries on the loopback.
//
// Errors: InvalidArgument for a bad reference or image, NotFound, PermissionDenied, Unavailable.
func Pull(ctx context.Context, ref, into string, from Source, report Report) (Layout, error) {
	r, err := name.ParseReference(ref)
	if err != nil {
		return Layout{}, fmt.Errorf("read the image reference %q: %w", ref, errdefs.ErrInvalidArgument)
	}
	report.tell(sandbox.Progress{Step: "resolve", Message: "Asking " + r.Context().RegistryStr() + " for " + ref})
	img, err := remote.Image(r, from.options(ctx, r)...)
	if err != nil {
		return Layout{}, fmt.Errorf("pull %s: %w", ref, kind(err))
	}
	if err := os.MkdirAll(into, 0o700); err != nil {
		return Layout{}, err
	}
	l, err := write(ctx, into, img, report)
	if err != nil {
		return Layout{}, fmt.Errorf("pull %s: %w", ref, kind(err))
	}
	return l, nil
}

func (s Source) options(ctx context.Context, r name.Reference) []remote.Option {
	under := s.Transport
	if under == nil {
		under = http.DefaultTransport
	}
	auth := s.Auth
	if auth == nil {
		auth = authn.Anonymous
	}
	return []remote.Option{
		remote.WithContext(ctx),
		remote.WithTransport(&secure{under: under, local: isLoopback(r.Context().RegistryStr())}),
		remote.WithAuth(auth),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}),
		remote.WithUserAgent("garita"),
	}
}

// secure refuses plain http, except that a registry on the loopback may use it for the loopback.
type secure struct {
	under http.RoundTripper
	local bool
}

// RoundTrip sends r on if its address is permitted.
func (s *secure) RoundTrip(r *http.Request) (*http.Response, error) {
	loopback := isLoopback(r.URL.Host)
	if loopback && !s.local {
		return nil, errors.New("the registry sends on to this machine's own services")
	}
	if r.URL.Scheme != "https" && !loopback {
		return nil, fmt.Errorf("%s would be reached without encryption", r.URL.Host)
	}
	return s.under.RoundTrip(r)
}

func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// kind gives a registry's error one of our kinds.
func kind(err error) error {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return err
	}
	switch answer.StatusCode {
	case http.StatusNotFound:
		return fmt.Errorf("%v: %w", err, errdefs.ErrNotFound)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%v: %w", err, errdefs.ErrPermissionDenied)
	}
	return fmt.Errorf("%v: %w", err, errdefs.ErrUnavailable)
}
