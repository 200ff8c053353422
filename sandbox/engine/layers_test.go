package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox/image"
)

// layerFile packs entries as a layer's blob.
func layerFile(t *testing.T, packed bool, headers ...tar.Header) string {
	t.Helper()
	var plain, out bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close()
	out = plain
	if packed {
		out = bytes.Buffer{}
		z := gzip.NewWriter(&out)
		_, _ = z.Write(plain.Bytes())
		_ = z.Close()
	}
	path := filepath.Join(t.TempDir(), "layer")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRootRefusesDevices(t *testing.T) {
	block := tar.Header{Name: "dev/sda", Typeflag: tar.TypeBlock, Devmajor: 8}
	char := tar.Header{Name: "dev/mem", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 1}
	removed := tar.Header{Name: "gone", Typeflag: tar.TypeChar}
	file := tar.Header{Name: "a", Typeflag: tar.TypeReg}
	for name, tt := range map[string]struct {
		path    string
		refused bool
	}{
		"files":              {layerFile(t, false, file, removed), false},
		"a disk":             {layerFile(t, false, file, block), true},
		"memory, packed":     {layerFile(t, true, char), true},
		"nothing to unpack":  {layerFile(t, true), false},
		"not a layer at all": {os.DevNull, false},
	} {
		t.Run(name, func(t *testing.T) {
			img := image.Image{Blobs: []image.Blob{{}, {}, {Path: tt.path}}}
			root, user := &Engine{cfg: Config{Root: true}}, &Engine{}
			if err := root.checkLayers(context.Background(), img); errdefs.IsFailedPrecondition(err) != tt.refused {
				t.Errorf("as root: %v", err)
			}
			if err := user.checkLayers(context.Background(), img); err != nil {
				t.Errorf("as a user: %v", err)
			}
		})
	}
}
