package egress_test

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress"
	"github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/handover"
	"github.com/garita-dev/garita/sandbox/image"
)

// TestMain makes this binary the wall, or a daemon that has one, when it is started as such.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "egress":
			os.Exit(egress.Main())
		case "daemon":
			os.Exit(daemon())
		}
	}
	os.Exit(m.Run())
}

// startWall starts the wall as the process it is.
func startWall(t *testing.T) (*client.Wall, *lockedBuffer) {
	t.Helper()
	var log lockedBuffer
	w, err := client.StartWall(t.Context(), client.Config{Program: os.Args[0], Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.Close()
		if t.Failed() {
			t.Logf("the wall's log:\n%s", log.String())
		}
	})
	return w, &log
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// inside is a sandbox's side of a registry: requests, and what the wall said of them.
type inside struct {
	t      *testing.T
	client *http.Client
	addr   string
	seen   chan wire.Fetch
}

// serve makes w serve c to a listening socket, as garita-init would open it.
func serve(t *testing.T, w *client.Wall, c client.RegistryConfig) *inside {
	t.Helper()
	in := &inside{t: t, seen: make(chan wire.Fetch, 1000)}
	r, err := w.ServeRegistry(t.Context(), c, func(f wire.Fetch) { in.seen <- f })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	in.addr = sendListener(t, r.File)
	if f := in.next(); f.Kind != wire.Attached {
		t.Fatalf("got %+v before the socket was attached", f)
	}
	in.client = &http.Client{Transport: &http.Transport{
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", in.addr)
		},
	}}
	t.Cleanup(in.client.CloseIdleConnections)
	return in
}

func sendListener(t *testing.T, far *os.File) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sendFile(t, far, f)
	return l.Addr().String()
}

func sendFile(t *testing.T, far *os.File, f *os.File) {
	t.Helper()
	conn, err := net.FileConn(far)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := handover.Send(conn.(*net.UnixConn), []byte{1}, f); err != nil {
		t.Fatal(err)
	}
}

func (in *inside) next() wire.Fetch {
	in.t.Helper()
	select {
	case f := <-in.seen:
		return f
	case <-time.After(10 * time.Second):
		in.t.Fatal("the wall reported nothing")
		return wire.Fetch{}
	}
}

func (in *inside) get(path string) (int, string) {
	in.t.Helper()
	resp, err := in.client.Get("http://" + wire.RegistryAddress + path)
	if err != nil {
		return 0, "BROKEN: " + err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		body = append(body, []byte(" BROKEN: "+err.Error())...)
	}
	return resp.StatusCode, string(body)
}

// fakeRegistry has the packages "a" and "@s/b", whose tarballs lie where elsewhere says.
type fakeRegistry struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
	paths   []string
}

func newFakeRegistry(t *testing.T, more map[string]http.HandlerFunc) *fakeRegistry {
	t.Helper()
	f := &fakeRegistry{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.headers = append(f.headers, r.Header.Clone())
		f.paths = append(f.paths, r.RequestURI)
		f.mu.Unlock()
		if h := more[r.RequestURI]; h != nil {
			h(w, r)
			return
		}
		f.serve(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeRegistry) serve(w http.ResponseWriter, r *http.Request) {
	switch r.RequestURI {
	case "/a":
		fmt.Fprintf(w, `{"name":"a","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"a","version":"1.0.0","dist":{"tarball":"%s/a/-/a-1.0.0.tgz"}}}}`, f.URL)
	case "/@s%2fb":
		fmt.Fprintf(w, `{"name":"@s/b","versions":{"2.0.0":{"dist":{"tarball":"%s/download/@s/b/2.0.0/deadbeef"}}}}`, f.URL)
	case "/a/-/a-1.0.0.tgz", "/download/@s/b/2.0.0/deadbeef":
		_, _ = io.WriteString(w, "the tarball")
	case "/-/package/a/dist-tags":
		_, _ = io.WriteString(w, `{"latest":"1.0.0"}`)
	default:
		http.NotFound(w, r)
	}
}

func (f *fakeRegistry) seen() (paths []string, last http.Header) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paths, f.headers[len(f.headers)-1]
}

func TestPackagesPassAndAreReported(t *testing.T) {
	w, _ := startWall(t)
	fake := newFakeRegistry(t, nil)
	in := serve(t, w, client.RegistryConfig{Default: fake.URL})

	status, body := in.get("/a")
	if status != 200 || !strings.Contains(body, `"tarball":"http://127.0.0.1:4873/a/-/a-1.0.0.tgz"`) {
		t.Errorf("description: %d %s", status, body)
	}
	if f := in.next(); f.Kind != wire.Packument || f.Name != "a" || f.Status != 200 || f.Bytes == 0 {
		t.Errorf("reported %+v", f)
	}
	status, body = in.get("/a/-/a-1.0.0.tgz")
	if status != 200 || body != "the tarball" {
		t.Errorf("tarball: %d %s", status, body)
	}
	sum := sha512.Sum512([]byte("the tarball"))
	if f := in.next(); f.Version != "1.0.0" || f.Integrity != "sha512-"+base64.StdEncoding.EncodeToString(sum[:]) || f.Bytes != 11 {
		t.Errorf("reported %+v", f)
	}
	if status, body = in.get("/-/package/a/dist-tags"); status != 200 || body != `{"latest":"1.0.0"}` {
		t.Errorf("dist-tags: %d %s", status, body)
	}
	in.next()
	status, body = in.get("/none")
	if status != 404 || !strings.Contains(body, "garita: the registry has no packument of none") {
		t.Errorf("missing: %d %s", status, body)
	}
}

func TestATarballWhereverTheRegistryKeepsIt(t *testing.T) {
	w, _ := startWall(t)
	fake := newFakeRegistry(t, nil)
	in := serve(t, w, client.RegistryConfig{Default: "https://nowhere.invalid/", Scopes: map[string]string{"@s": fake.URL}})
	if _, body := in.get("/@s%2fb"); !strings.Contains(body, `"http://127.0.0.1:4873/@s/b/-/b-2.0.0.tgz"`) {
		t.Errorf("description: %s", body)
	}
	if status, body := in.get("/@s/b/-/b-2.0.0.tgz"); status != 200 || body != "the tarball" {
		t.Errorf("tarball: %d %s", status, body)
	}
}

func TestNothingElsePasses(t *testing.T) {
	w, log := startWall(t)
	fake := newFakeRegistry(t, nil)
	in := serve(t, w, client.RegistryConfig{Default: fake.URL})
	for _, request := range []string{
		"PUT /a HTTP/1.1\r\nHost: 127.0.0.1:4873\r\nContent-Length: 2\r\n\r\n{}",
		"POST /-/npm/v1/security/advisories/bulk HTTP/1.1\r\nHost: 127.0.0.1:4873\r\nContent-Length: 0\r\n\r\n",
		"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
		"GET http://evil.example/a HTTP/1.1\r\nHost: 127.0.0.1:4873\r\n\r\n",
		"GET " + fake.URL + "/a HTTP/1.1\r\nHost: 127.0.0.1:4873\r\n\r\n",
		"GET /a HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"GET /../a HTTP/1.1\r\nHost: 127.0.0.1:4873\r\n\r\n",
		"GET /-/whoami HTTP/1.1\r\nHost: 127.0.0.1:4873\r\n\r\n",
		"GET /a?x=" + strings.Repeat("secret", 9) + " HTTP/1.1\r\nHost: 127.0.0.1:4873\r\n\r\n",
		"GET /a HTTP/1.1\r\nHost: 127.0.0.1:4873\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01",
	} {
		conn, err := net.Dial("tcp", in.addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, request)
		_ = conn.(*net.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(conn)
		_ = conn.Close()
		if line, _, _ := strings.Cut(string(answer), "\r\n"); !strings.HasPrefix(line, "HTTP/1.1 4") {
			t.Errorf("%.60q got %q", request, line)
		}
	}
	if fake.paths != nil {
		t.Errorf("the registry was asked for %q", fake.paths)
	}
	if f := in.next(); f.Kind != wire.Refused || f.Name != "PUT /a" || f.Status != http.StatusMethodNotAllowed {
		t.Errorf("reported %+v", f)
	}
	if !strings.Contains(log.String(), "kind=refused") {
		t.Error("the log does not say so")
	}
}

func TestTokensGoToTheirHostOnly(t *testing.T) {
	const token = "npm_s3cr3t"
	other := newFakeRegistry(t, map[string]http.HandlerFunc{"/stolen": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "from elsewhere") }})
	foreign := newFakeRegistry(t, nil)
	fake := newFakeRegistry(t, map[string]http.HandlerFunc{
		"/a/-/a-1.0.0.tgz": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/stolen", http.StatusFound)
		},
		"/c": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, foreign.URL+"/a", http.StatusFound) },
		"/d": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/d", http.StatusFound) },
		"/e": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		},
	})
	host := strings.TrimPrefix(fake.URL, "http://")
	otherHost := strings.TrimPrefix(other.URL, "http://")
	w, log := startWall(t)
	in := serve(t, w, client.RegistryConfig{
		Default: fake.URL, Hosts: []string{otherHost},
		Auth: []wire.Credential{
			{Host: host, Path: "/", Header: wire.NewSecret("Bearer " + token)},
			{Host: otherHost, Path: "/", Header: wire.NewSecret("Bearer " + token)},
		},
	})
	if status, _ := in.get("/a"); status != 200 {
		t.Fatalf("status %d", status)
	}
	if _, h := fake.seen(); h.Get("Authorization") != "Bearer "+token || h.Get("User-Agent") != "garita" {
		t.Errorf("the registry got %v", h)
	}
	if status, body := in.get("/a/-/a-1.0.0.tgz"); status != 200 || body != "from elsewhere" {
		t.Errorf("redirected: %d %s", status, body)
	}
	if _, h := other.seen(); h.Get("Authorization") != "" {
		t.Errorf("the redirect's target got %v", h)
	}
	for path, want := range map[string]int{"/c": 403, "/d": 502, "/e": 403} {
		if status, body := in.get(path); status != want || !strings.Contains(body, "garita: ") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if foreign.paths != nil {
		t.Error("a host that is not configured was reached")
	}
	if strings.Contains(log.String(), token) {
		t.Error("the token is in the log")
	}
}

func TestHeadersOfTheSandboxStayInside(t *testing.T) {
	fake := newFakeRegistry(t, nil)
	w, _ := startWall(t)
	in := serve(t, w, client.RegistryConfig{Default: fake.URL})
	req, _ := http.NewRequest(http.MethodGet, "http://"+wire.RegistryAddress+"/a", nil)
	req.Header.Set("Authorization", "Bearer stolen")
	req.Header.Set("Accept", "x/exfiltrated, application/vnd.npm.install-v1+json")
	req.Header.Set("Npm-Command", "exfiltrated")
	resp, err := in.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	_, h := fake.seen()
	if s := fmt.Sprint(h); strings.Contains(s, "stolen") || strings.Contains(s, "exfiltrated") {
		t.Errorf("the registry got %s", s)
	}
}

func TestARegistryThatBreaksOff(t *testing.T) {
	fake := newFakeRegistry(t, map[string]http.HandlerFunc{
		"/a/-/a-1.0.0.tgz": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "a part")
		},
		"/b": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"/c": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"/d": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	})
	w, _ := startWall(t)
	in := serve(t, w, client.RegistryConfig{Default: fake.URL})
	if _, body := in.get("/a/-/a-1.0.0.tgz"); !strings.Contains(body, "BROKEN") {
		t.Errorf("half a tarball passed for a whole one: %s", body)
	}
	if f := in.next(); f.Why == "" || f.Kind != wire.Tarball {
		t.Errorf("reported %+v", f)
	}
	for path, want := range map[string]int{"/b": 502, "/c": 403, "/d": 502} {
		if status, body := in.get(path); status != want || !strings.Contains(body, "garita: ") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	gone := newFakeRegistry(t, nil)
	url := gone.URL
	gone.Close()
	in = serve(t, w, client.RegistryConfig{Default: url})
	if status, _ := in.get("/a"); status != 502 {
		t.Errorf("an absent registry: %d", status)
	}
}

func TestRegistriesThatCannotBeServed(t *testing.T) {
	w, _ := startWall(t)
	for _, url := range []string{"http://registry.example/", "ftp://registry.example/", ""} {
		if _, err := w.ServeRegistry(t.Context(), client.RegistryConfig{Default: url}, nil); !errdefs.IsInvalidArgument(err) {
			t.Errorf("%q: got %v", url, err)
		}
	}
	_, err := w.ServeRegistry(t.Context(), client.RegistryConfig{Default: "https://x/", Outside: wire.Outside{CA: "no PEM"}}, nil)
	if !errdefs.IsInvalidArgument(err) {
		t.Errorf("certificates that are none: got %v", err)
	}
}

func TestSocketsThatDoNotListenAreRefused(t *testing.T) {
	w, _ := startWall(t)
	seen := make(chan wire.Fetch, 10)
	r, err := w.ServeRegistry(t.Context(), client.RegistryConfig{Default: "https://x/"}, func(f wire.Fetch) { seen <- f })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sendFile(t, r.File, file)
	select {
	case f := <-seen:
		if f.Kind != wire.Refused || f.Why == "" {
			t.Errorf("got %+v", f)
		}
	case <-time.After(10 * time.Second):
		t.Error("the wall said nothing")
	}
}

func TestServiceEndsWithItsRequest(t *testing.T) {
	w, _ := startWall(t)
	fake := newFakeRegistry(t, nil)
	r, err := w.ServeRegistry(t.Context(), client.RegistryConfig{Default: fake.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	addr := sendListener(t, r.File)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the socket is closed", func() bool {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
}

// eventually waits for a fact that another process brings about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(10 * time.Second); ; {
		if is() {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not seen: %s", what)
		}
	}
}

func TestPullThroughTheWall(t *testing.T) {
	img, err := image.Build(map[string]image.File{"server": {Body: []byte("x"), Mode: 0o755}}, image.Config{Entrypoint: []string{"/server"}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer srv.Close()
	ref, err := name.ParseReference(strings.TrimPrefix(srv.URL, "http://") + "/test/server:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	w, _ := startWall(t)
	dir := filepath.Join(t.TempDir(), "images")
	steps := 0
	got, err := w.PullImage(t.Context(), client.Pull{Ref: ref.String(), Dir: dir}, func(sandbox.Progress) { steps++ })
	if err != nil {
		t.Fatal(err)
	}
	want, _ := img.Digest()
	if got.Digest != sandbox.Digest(want.String()) || filepath.Dir(got.Layout) != dir || steps == 0 {
		t.Errorf("got %+v after %d steps, want %s", got, steps, want)
	}
	if _, err := image.Open(got.Layout); err != nil {
		t.Error(err)
	}
	if _, err := w.PullImage(t.Context(), client.Pull{Ref: "a b", Dir: dir}, nil); !errdefs.IsInvalidArgument(err) {
		t.Errorf("a bad reference: %v", err)
	}
	_, err = w.PullImage(t.Context(), client.Pull{Ref: ref.Context().Name() + ":none", Dir: dir}, nil)
	if !errdefs.IsNotFound(err) {
		t.Errorf("a missing image: %v", err)
	}
}
