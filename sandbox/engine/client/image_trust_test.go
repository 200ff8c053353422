package client_test

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/image"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// imageOf is an image with these programs of the host, the libraries they need, and more.
func imageOf(t *testing.T, more map[string]image.File, programs ...string) image.Layout {
	t.Helper()
	files := map[string]image.File{}
	add := func(path string) {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(path, "/")] = image.File{Body: body, Mode: 0o755}
	}
	for _, program := range programs {
		path := sandboxtest.Program(t, program)
		out, err := exec.Command("ldd", path).Output() //nolint:gosec // a test's
		if err != nil {
			t.Skipf("ldd says nothing about %s: %v", path, err)
		}
		for _, field := range strings.Fields(string(out)) {
			if strings.HasPrefix(field, "/") {
				add(field)
			}
		}
		add(path)
	}
	for path, f := range more {
		files[path] = f
	}
	img, err := image.Build(files, image.Config{Entrypoint: []string{"/usr/bin/dash", "-c"}, Env: []string{"PATH=/usr/bin:/bin", "SSL_CERT_FILE=/none"}})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("test:latest")
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/image.tar"
	if err := tarball.WriteToFile(file, tag, img); err != nil {
		t.Fatal(err)
	}
	l, err := image.From(t.Context(), file, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestAnImageBelievesTheAuthority, whatever certificates it has itself, and its root stays read-only.
func TestAnImageBelievesTheAuthority(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	w.believable("127.77.0.1", http.HandlerFunc(tell))
	w.name("api.example.test", "127.77.0.1")
	own := image.File{Body: []byte("# none\n"), Mode: 0o644}
	for name, more := range map[string]map[string]image.File{
		"without certificates":    nil,
		"with its own":            {"etc/ssl/certs/ca-certificates.crt": own},
		"as another distribution": {"etc/pki/tls/certs/ca-bundle.crt": own, "etc/ssl/cert.pem": own},
	} {
		t.Run(name, func(t *testing.T) {
			digest, err := e.ImportImage(within(t), imageOf(t, more, "dash", "curl", "tr").Dir)
			if err != nil {
				t.Fatal(err)
			}
			in := w.settleTrusting(e, rules(t, "api.example.test"), githubToken(), func(l *sandbox.Launch) {
				l.Root.Image, l.Argv = digest, l.Argv[len(l.Argv)-1:]
			})
			got := in.run(`curl -sS -m 20 -H "Authorization: Bearer $TOKEN" https://api.example.test/`)
			if !strings.Contains(got, "header[value:true sentinel:false]") {
				t.Errorf("got %s%s", got, in.story())
			}
			if got := in.run(`(echo x > /etc/ssl/certs/ca-certificates.crt) 2>/dev/null || echo read-only`); !strings.Contains(got, "read-only") {
				t.Errorf("the bundle: %s", got)
			}
		})
	}
}
