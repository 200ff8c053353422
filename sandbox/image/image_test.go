package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/garita-dev/garita/sandbox"
)

// testImage is a small image with one file in each of two layers.
func testImage(t *testing.T, arch string) v1.Image {
	t.Helper()
	img, err := Build(map[string]File{"bin/server": {Body: []byte("#!"), Mode: 0o755}}, Config{
		Entrypoint: []string{"/bin/server"}, Env: []string{"A=b"}, WorkingDir: "/",
	})
	if err != nil {
		t.Fatal(err)
	}
	layer, err := Layer(map[string]File{"etc/motd": {Body: []byte("hello"), Mode: 0o644}})
	if err != nil {
		t.Fatal(err)
	}
	if img, err = mutate.AppendLayers(img, layer); err != nil {
		t.Fatal(err)
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Architecture = arch
	if img, err = mutate.ConfigFile(img, cfg); err != nil {
		t.Fatal(err)
	}
	return img
}

func digest(t *testing.T, img v1.Image) sandbox.Digest {
	t.Helper()
	h, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Digest(h.String())
}

// testRegistry is a registry on the loopback that holds img as test/server:1.
func testRegistry(t *testing.T, push v1.Image) string {
	t.Helper()
	srv := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(srv.Close)
	host := strings.TrimPrefix(srv.URL, "http://")
	ref, err := name.ParseReference(host + "/test/server:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, push); err != nil {
		t.Fatal(err)
	}
	return host
}

func checkOpened(t *testing.T, l Layout, want v1.Image) {
	t.Helper()
	got, err := Open(l.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest != digest(t, want) || l.Digest != got.Digest {
		t.Errorf("digest %s (said %s), want %s", got.Digest, l.Digest, digest(t, want))
	}
	wantConfig := Config{Entrypoint: []string{"/bin/server"}, Env: []string{"A=b"}, WorkingDir: "/"}
	if diff := cmp.Diff(got.Config, wantConfig); diff != "" {
		t.Errorf("configuration differs (-got +want):\n%s", diff)
	}
	if len(got.Blobs) != 4 {
		t.Errorf("%d blobs, want manifest, configuration and two layers", len(got.Blobs))
	}
}

func TestPullFromARegistry(t *testing.T) {
	img := testImage(t, runtime.GOARCH)
	host := testRegistry(t, img)
	into := filepath.Join(t.TempDir(), "images")
	var steps []string
	report := func(p sandbox.Progress) { steps = append(steps, p.Step) }
	for _, ref := range []string{host + "/test/server:1", host + "/test/server@" + string(digest(t, img))} {
		l, err := Pull(t.Context(), ref, into, Source{}, report)
		if err != nil {
			t.Fatal(err)
		}
		checkOpened(t, l, img)
	}
	if len(steps) < 3 {
		t.Errorf("progress was told %d times", len(steps))
	}
	entries, _ := os.ReadDir(into)
	if len(entries) != 1 {
		t.Errorf("%d entries are left, want the one layout", len(entries))
	}
}

func TestPullRefuses(t *testing.T) {
	img := testImage(t, runtime.GOARCH)
	host := testRegistry(t, img)
	other := testRegistry(t, testImage(t, "s390x"))
	into := t.TempDir()
	for name, tt := range map[string]struct {
		ref string
		is  func(error) bool
	}{
		"a reference that is none":     {"UPPER CASE", errdefs.IsInvalidArgument},
		"an unknown tag":               {host + "/test/server:2", errdefs.IsNotFound},
		"a digest it does not have":    {host + "/test/server@sha256:" + strings.Repeat("0", 64), errdefs.IsNotFound},
		"an image for another machine": {other + "/test/server:1", errdefs.IsFailedPrecondition},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Pull(t.Context(), tt.ref, into, Source{}, nil); !tt.is(err) {
				t.Errorf("got %v", err)
			}
		})
	}
	if entries, _ := os.ReadDir(into); len(entries) != 0 {
		t.Errorf("refused pulls left %d entries", len(entries))
	}
}

func TestPlainHTTPOnlyOnTheLoopback(t *testing.T) {
	ok := roundTrip(func(*http.Request) (*http.Response, error) { return &http.Response{}, nil })
	for name, tt := range map[string]struct {
		url   string
		local bool
		want  bool
	}{
		"https":                               {"https://registry.example/v2/", false, true},
		"http far away":                       {"http://registry.example/v2/", false, false},
		"http in a private network":           {"http://10.1.2.3/v2/", false, false},
		"the loopback from a local registry":  {"http://127.0.0.1:5000/v2/", true, true},
		"the loopback from one far away":      {"http://127.0.0.1:5000/v2/", false, false},
		"https loopback from one far away":    {"https://localhost:5000/v2/", false, false},
		"a local registry sends on in clear":  {"http://registry.example/v2/", true, false},
		"a local registry sends on encrypted": {"https://cdn.example/x", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, tt.url, nil)
			_, err := (&secure{under: ok, local: tt.local}).RoundTrip(r)
			if (err == nil) != tt.want {
				t.Errorf("err %v, want permitted: %v", err, tt.want)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestPullStopsWithItsContext(t *testing.T) {
	host := testRegistry(t, testImage(t, runtime.GOARCH))
	ctx, cancel := context.WithCancel(t.Context())
	into := t.TempDir()
	_, err := Pull(ctx, host+"/test/server:1", into, Source{}, func(sandbox.Progress) { cancel() })
	if err == nil {
		t.Error("the pull went on")
	}
	if entries, _ := os.ReadDir(into); len(entries) != 0 {
		t.Errorf("it left %d entries", len(entries))
	}
}

func TestDockerArchive(t *testing.T) {
	img := testImage(t, runtime.GOARCH)
	file := filepath.Join(t.TempDir(), "image.tar")
	tag, _ := name.NewTag("test/server:1")
	if err := tarball.WriteToFile(file, tag, img); err != nil {
		t.Fatal(err)
	}
	l, err := FromTarball(t.Context(), file, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Open(l.Dir); err != nil || len(got.Blobs) != 4 || got.Config.WorkingDir != "/" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestLayoutsAndTheirArchives(t *testing.T) {
	img := testImage(t, runtime.GOARCH)
	dir := t.TempDir()
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	foreign := layout.WithPlatform(v1.Platform{OS: "linux", Architecture: "s390x"})
	if err := p.AppendImage(testImage(t, "s390x"), foreign); err != nil {
		t.Fatal(err)
	}
	if err := p.AppendImage(img, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH})); err != nil {
		t.Fatal(err)
	}
	l, err := FromLayout(t.Context(), dir, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	checkOpened(t, l, img)
	for _, packed := range []bool{false, true} {
		l, err = FromTarball(t.Context(), archive(t, dir, packed), t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		checkOpened(t, l, img)
	}
}

// archive packs a folder, with entries that must not be written anywhere.
func archive(t *testing.T, dir string, packed bool) string {
	t.Helper()
	var buf bytes.Buffer
	var out io.WriteCloser = nopCloser{&buf}
	if packed {
		out = gzip.NewWriter(&buf)
	}
	w := tar.NewWriter(out)
	for _, hostile := range []tar.Header{
		{Name: "../escape", Typeflag: tar.TypeReg, Size: 0},
		{Name: "blobs/sha256/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: "/etc/escape", Typeflag: tar.TypeReg},
	} {
		if err := w.WriteHeader(&hostile); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	_ = out.Close()
	file := filepath.Join(t.TempDir(), "layout.tar")
	if err := os.WriteFile(file, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func TestOpenFindsAChangedBlob(t *testing.T) {
	host := testRegistry(t, testImage(t, runtime.GOARCH))
	l, err := Pull(t.Context(), host+"/test/server:1", t.TempDir(), Source{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	img, err := Open(l.Dir)
	if err != nil {
		t.Fatal(err)
	}
	last := img.Blobs[len(img.Blobs)-1].Path
	body, _ := os.ReadFile(last)
	body[len(body)-1] ^= 1
	if err := os.WriteFile(last, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(l.Dir); !errdefs.IsInvalidArgument(err) {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", last); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(l.Dir); err == nil {
		t.Error("a link out of the layout was followed")
	}
}

func TestNotAnArchive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	for name, body := range map[string]string{"text": strings.Repeat("no tar at all ", 100), "nothing": "", "half a gzip": "\x1f\x8b"} {
		if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := FromTarball(t.Context(), file, t.TempDir(), nil); !errdefs.IsInvalidArgument(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
