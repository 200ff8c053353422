package httpapi

import (
	"bytes"
	"crypto/rand"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// nonceMark stands in index.html where the nonce of that answer's style policy belongs.
const nonceMark = "__CSP_NONCE__"

// files serves the page: files as they are, and index.html for every other path, since the page
// has its own router. There are no listings.
type files struct {
	root fs.FS // nil when there is no page
}

func newFiles(root fs.FS) *files { return &files{root: root} }

func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeProblem(w, &api.Problem{Status: http.StatusMethodNotAllowed, Code: "invalid", Title: "Files can only be read"})
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if body, ok := f.read(name); ok && name != "index.html" {
		sendFile(w, r, name, body)
		return
	}
	index, ok := f.read("index.html")
	if !ok || path.Ext(name) != "" && name != "index.html" {
		noRoute(w, r)
		return
	}
	sendIndex(w, r, index)
}

// read returns a file's bytes; directories are not files.
func (f *files) read(name string) ([]byte, bool) {
	if f.root == nil || !fs.ValidPath(name) {
		return nil, false
	}
	info, err := fs.Stat(f.root, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	body, err := fs.ReadFile(f.root, name)
	return body, err == nil
}

// sendFile sends one file. Those under assets/ carry their digest in the name and never change.
func sendFile(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	if strings.HasPrefix(name, "assets/") {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		w.Header().Set("Cache-Control", "no-cache")
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// sendIndex sends the page with a policy of its own: nothing but our files, our origin, and styles
// that carry this answer's nonce.
func sendIndex(w http.ResponseWriter, r *http.Request, index []byte) {
	nonce := rand.Text()
	w.Header().Set("Content-Security-Policy", pagePolicy(r.Host, nonce))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	body := bytes.ReplaceAll(index, []byte(nonceMark), []byte(nonce))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// pagePolicy is the page's CSP. host has passed knownHost.
func pagePolicy(host, nonce string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce + "'; img-src 'self' data:; font-src 'self'; " +
		"connect-src 'self' ws://" + host + "; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
