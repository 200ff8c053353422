package client_test

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/image"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// serverImage is an image of one static program that answers on stdio.
func serverImage(t *testing.T) v1.Image {
	t.Helper()
	program, err := os.ReadFile(sandboxtest.Hostile(t).Mounts[0].Host)
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Build(map[string]image.File{"srv/server": {Body: program, Mode: 0o755}}, image.Config{
		Entrypoint: []string{"/srv/server"}, Env: []string{"FROM=the image"}, WorkingDir: "/srv", User: "0:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// runs checks that an imported image starts and answers.
func runs(t *testing.T, e *client.Engine, d sandbox.Digest) {
	t.Helper()
	i, pipes := sandboxtest.Start(t, e, sandbox.Launch{
		ID: sandboxtest.ID(), Server: "image", Group: "test", Root: sandbox.Root{Image: d},
	})
	answer := pipes.Line(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if !strings.Contains(answer, `"tools"`) {
		t.Errorf("the image's server answers %.100s", answer)
	}
	if err := i.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

func TestImageFromARegistry(t *testing.T) {
	e := startEngine(t)
	img := serverImage(t)
	srv := httptest.NewServer(ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(srv.Close)
	ref, err := name.ParseReference(strings.TrimPrefix(srv.URL, "http://") + "/test/server:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	in := newInstall(t, e, client.RegistryConfig{})
	pulled, err := in.Wall.PullImage(t.Context(), client.Pull{Ref: ref.String(), Dir: t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second import finds everything there
		d, err := e.ImportImage(t.Context(), pulled.Layout)
		if err != nil || d != pulled.Digest {
			t.Fatalf("imported %s, %v; pulled %s", d, err, pulled.Digest)
		}
	}
	runs(t, e, pulled.Digest)
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}

func TestImageFromAnArchiveAndALayout(t *testing.T) {
	e := startEngine(t)
	img := serverImage(t)
	archive := filepath.Join(t.TempDir(), "image.tar")
	tag, err := name.NewTag("test/server:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(archive, tag, img); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.AppendImage(img); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{archive, dir} {
		d, err := e.ImportImage(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		runs(t, e, d)
	}
	if _, err := e.ImportImage(t.Context(), filepath.Join(dir, "none")); !errdefs.IsNotFound(err) {
		t.Errorf("a path that is not there: %v", err)
	}
}

func TestHostileLayersStayInside(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	data := t.TempDir()
	e := engineIn(t, data)
	target := t.TempDir()
	up := strings.Repeat("../", 20)
	for name, headers := range map[string][]tar.Header{
		"climbing":                   {{Name: up + target[1:] + "/pwned", Typeflag: tar.TypeReg, Mode: 0o644}},
		"through an absolute link":   {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: target}, {Name: "l/pwned", Typeflag: tar.TypeReg, Mode: 0o644}},
		"through a link that climbs": {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: up + target[1:]}, {Name: "l/pwned", Typeflag: tar.TypeReg, Mode: 0o644}},
		"a hard link out":            {{Name: "pwned", Typeflag: tar.TypeLink, Linkname: up + "etc/passwd"}},
		"a device":                   {{Name: "disk", Typeflag: tar.TypeBlock, Devmajor: 8, Mode: 0o666}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := e.ImportImage(t.Context(), hostileArchive(t, headers))
			t.Logf("imported %.20s, %v", d, err)
			if entries, _ := os.ReadDir(target); len(entries) != 0 {
				t.Errorf("the layer wrote %v outside", entries)
			}
			if devices := devicesBelow(t, data); len(devices) != 0 {
				t.Errorf("the layer made the devices %v", devices)
			}
		})
	}
}

// devicesBelow lists the device nodes in a tree.
func devicesBelow(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&fs.ModeDevice != 0 {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// hostileArchive is an image whose one layer has exactly these entries.
func hostileArchive(t *testing.T, headers []tar.Header) string {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("test/hostile:1")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(file, tag, img); err != nil {
		t.Fatal(err)
	}
	return file
}
