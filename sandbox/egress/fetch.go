package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/net/http/httpproxy"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// maxHops bounds the redirects followed for one request.
const maxHops = 5

// userAgent is all that a registry learns about who asks.
const userAgent = "garita"

// newTransport reaches the outside as o says. The caller closes its idle connections.
func newTransport(o wire.Outside) (*http.Transport, error) {
	roots, err := trusted(o.CA)
	if err != nil {
		return nil, err
	}
	proxy := (&httpproxy.Config{HTTPProxy: o.Proxy.Send(), HTTPSProxy: o.Proxy.Send(), NoProxy: o.NoProxy}).ProxyFunc()
	return &http.Transport{
		OnProxyConnectResponse: wantsPassword,
		Proxy:                  func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
		DialContext:            (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    15 * time.Second,
		ResponseHeaderTimeout:  60 * time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
	}, nil
}

// wantsPassword says where to put what a proxy wants to know. (Other refusals say what they are.)
func wantsPassword(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusProxyAuthRequired {
		return nil
	}
	return fmt.Errorf("the proxy %s wants a name and a password, or other ones: put them into its URL, proxy: http://NAME:PASSWORD@HOST:PORT under network in config.yaml, or HTTPS_PROXY of the daemon's environment", proxy.Host)
}

// trusted is the system's certificates and pem's; nil means the system's alone.
func trusted(pem string) (*x509.CertPool, error) {
	if pem == "" {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM([]byte(pem)) {
		return nil, fmt.Errorf("the certificates to trust are not PEM: %w", errdefs.ErrInvalidArgument)
	}
	return pool, nil
}

// upstream fetches from the registries, and from nowhere else.
type upstream struct {
	registries *registries
	transport  http.RoundTripper
}

// get fetches address, following redirects to permitted hosts only. Credentials go to the first
// host alone. The caller closes the body.
func (u *upstream) get(ctx context.Context, method, address, accept string) (*http.Response, error) {
	next, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the registry named an address that cannot be read")
	}
	first := hostPort(next)
	for range maxHops {
		if !u.registries.permits(next) {
			return nil, &notPermitted{host: next.Host}
		}
		resp, err := u.hop(ctx, method, next, accept, hostPort(next) == first)
		if err != nil {
			return nil, err
		}
		location := redirect(resp)
		if location == "" {
			return resp, nil
		}
		_ = resp.Body.Close()
		if next, err = next.Parse(location); err != nil {
			return nil, errors.New("the registry redirected to an address that cannot be read")
		}
	}
	return nil, errors.New("the registry redirected too often")
}

func (u *upstream) hop(ctx context.Context, method string, to *url.URL, accept string, credentials bool) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, to.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", accept)
	if header := u.registries.header(to); credentials && !header.IsZero() {
		req.Header.Set("Authorization", header.Send())
	}
	return u.transport.RoundTrip(req)
}

func redirect(resp *http.Response) string {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location")
	}
	return ""
}

// notPermitted is a host that is none of the registries'.
type notPermitted struct{ host string }

func (e *notPermitted) Error() string {
	return "the registry sends on to " + e.host + ", which is not one of the configured hosts"
}
