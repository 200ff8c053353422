package dial

import (
	"net/http"
	"net/url"
)

// maxRedirects is how often one request may be sent on within its origin.
const maxRedirects = 3

// Client is an HTTP client over the Dialer that keeps no cookies and follows redirects within one
// origin only, three at most, and none that would turn a POST into a GET. Any other redirect is
// the answer itself. The caller closes its idle connections.
func (d *Dialer) Client() *http.Client {
	return &http.Client{Transport: d.Transport(), CheckRedirect: checkRedirect}
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || req.Method != first.Method || !SameOrigin(req.URL, first.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// SameOrigin tells whether two URLs have scheme, host and port in common.
func SameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && plain(a.Hostname()) == plain(b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}
