package config

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

// remote is where an external server is. What only a sandbox could hold to is refused with it: a wall
// that is written down and not there is worse than none.
func (d *declared) remote() (src sandbox.Source, key string, err error) {
	for _, wall := range []struct {
		key string
		set bool
	}{
		{"args", len(d.Args) > 0},
		{"listen", d.Listen != ""},
		{"runtime", d.Runtime != ""},
		{"workspace", d.Workspace != "" && d.Workspace != string(sandbox.None)},
		{"folders", len(d.Folders) > 0},
		{"mounts", len(d.Mounts) > 0},
		{"env", len(d.Env) > 0},
		{"network", d.reaches()},
		{"exec", d.Exec != nil},
		{"limits", d.Limits.Memory != "" || d.Limits.PIDs != 0 || d.Limits.CPUs != 0},
	} {
		if wall.set {
			return src, wall.key, fmt.Errorf("%s: a server at a url runs elsewhere, where this cannot be held to; take it out", wall.key)
		}
	}
	if d.Placement == "dedicated" {
		return src, "placement", fmt.Errorf("placement: a server at a url is external")
	}
	if err := checkURL(d.URL); err != nil {
		return src, "url", err
	}
	headers, err := d.headers()
	return sandbox.Source{URL: d.URL, Headers: headers}, "headers", err
}

// reaches says whether hosts are declared.
func (d *declared) reaches() bool {
	l, err := d.Network.lower()
	return err != nil || l.Lists() || len(l.Deny) > 0
}

// checkURL takes https, and http to this machine alone: what is sent in the clear can be read and
// answered by anybody on the way.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "":
		return fmt.Errorf("url: want an address such as https://example.com/mcp")
	case u.User != nil:
		return fmt.Errorf("url: a name or password does not belong in it")
	case u.Fragment != "" || strings.Contains(s, "#"):
		return fmt.Errorf("url: a fragment is never sent; take it out")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return fmt.Errorf("url: http only to this machine itself; want https")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("url: want https")
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ourHeaders are set by Garita on every request.
var ourHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Forwarded", "Host", "Last-Event-Id", "Origin",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

// CheckURL says why no server can be declared at that address; nil when one can.
func CheckURL(s string) error { return checkURL(s) }

// CheckHeader says why no server at a url can be declared with that header, by its canonical name.
func CheckHeader(name, value string) error { return checkHeader(name, value) }

// CarriesCredential says whether a header is one in which credentials are sent.
func CarriesCredential(header string) bool { return secretHeader.MatchString(header) }

// secretHeader is what credentials are sent in.
var secretHeader = regexp.MustCompile(`(?i)auth|cookie|token|secret|passw|credential|api-?key|access-?key`)

// headers are by canonical name.
func (d *declared) headers() (map[string]string, error) {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		canonical := http.CanonicalHeaderKey(name)
		if err := checkHeader(canonical, d.Headers[name]); err != nil {
			return nil, err
		}
		if _, twice := out[canonical]; twice {
			return nil, fmt.Errorf("headers: %s is there twice", canonical)
		}
		out[canonical] = d.Headers[name]
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

var (
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	headerValue = regexp.MustCompile(`^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$`)
)

func checkHeader(name, value string) error {
	switch {
	case !headerName.MatchString(name):
		return fmt.Errorf("headers: %q is not a header's name", name)
	case slices.Contains(ourHeaders, name) || strings.HasPrefix(name, "Mcp-"):
		return fmt.Errorf("headers: %s is set by Garita and cannot be chosen", name)
	case secretHeader.MatchString(name):
		return fmt.Errorf("headers: %s carries a credential, and values do not belong in servers.yaml: garita secret set NAME, then under secrets: {name: NAME, header: %s}", name, name)
	case !headerValue.MatchString(value):
		return fmt.Errorf("headers: %s: want one line of visible characters", name)
	}
	return nil
}

// listen reads "3000/mcp": the port and path a server listens at inside its sandbox.
func (d *declared) listen() (sandbox.Listen, error) {
	if d.Listen == "" {
		return sandbox.Listen{}, nil
	}
	number, path, _ := strings.Cut(d.Listen, "/")
	port, err := strconv.Atoi(number)
	if err != nil || port < 1 || port > 65535 || strconv.Itoa(port) != number || !plainPath.MatchString("/"+path) {
		return sandbox.Listen{}, fmt.Errorf("listen: want a port and a path, such as 3000/mcp")
	}
	return sandbox.Listen{Port: port, Path: "/" + path}, nil
}

var plainPath = regexp.MustCompile(`^/[A-Za-z0-9/._~-]*$`)
