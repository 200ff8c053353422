package door

import (
	"net"
	"net/http"
	"strings"
)

// guard stands before everything: a page that a name server led here, or one of another origin, gets
// no further, whatever it asks for.
func (d *Door) guard(w http.ResponseWriter, r *http.Request) bool {
	hosts := ourHosts(r)
	switch {
	case !contains(hosts, r.Host):
		d.refuse(w, r, Access{}, "host", http.StatusForbidden)
	case !ourOrigin(hosts, r.Header["Origin"]):
		d.refuse(w, r, Access{}, "origin", http.StatusForbidden)
	default:
		return true
	}
	return false
}

// ourHosts is what Host may say: the names of loopback and the port the request came in at. There
// are none when it came in elsewhere.
func ourHosts(r *http.Request) []string {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return nil
	}
	_, port, _ := net.SplitHostPort(at.String())
	return []string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port}
}

func ourOrigin(hosts, origins []string) bool {
	switch len(origins) {
	case 0:
		return true
	case 1:
		host, ok := strings.CutPrefix(origins[0], "http://")
		return ok && contains(hosts, host)
	}
	return false
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

// identify finds out who asks. Whatever is wrong with the token, the answer is the same.
func (d *Door) identify(v *visit) bool {
	if token, ok := bearer(v.r.Header["Authorization"]); ok {
		access, err := d.Backend.Authenticate(v.r.Context(), token)
		if err == nil {
			v.access = access
			return true
		}
	}
	v.w.Header().Set("WWW-Authenticate", `Bearer realm="Garita"`)
	d.refuse(v.w, v.r, Access{}, "token", http.StatusUnauthorized)
	return false
}

// bearer is the token of an Authorization header. It is taken from nowhere else.
func bearer(headers []string) (string, bool) {
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(headers[0], " ")
	token = strings.Trim(token, " ")
	return token, ok && token != "" && strings.EqualFold(scheme, "Bearer")
}

var words = map[int]string{
	http.StatusForbidden:    "forbidden: this is a local service, not for web pages",
	http.StatusUnauthorized: "unauthorized: a bearer token of Garita is needed (garita token create)",
	http.StatusNotFound:     "not found",
}

// refuse turns a request away and has it recorded.
func (d *Door) refuse(w http.ResponseWriter, r *http.Request, a Access, reason string, status int) {
	d.Backend.Refused(r.Context(), Refusal{
		Reason: reason, Access: a.ID, Status: status, Method: cut(r.Method), Path: cut(r.URL.Path),
		Host: cut(r.Host), Origin: cut(strings.Join(r.Header["Origin"], ", ")), Remote: r.RemoteAddr,
	})
	plain(w, status, words[status])
}

func cut(s string) string { return s[:min(len(s), 200)] }
