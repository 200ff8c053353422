package image

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// File is one regular file of a layer.
type File struct {
	Body []byte
	Mode int64
}

// Layer packs files, by their paths without a first slash. Equal files give equal digests.
func Layer(files map[string]File) (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f := files[path]
		h := &tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: f.Mode, Size: int64(len(f.Body))}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Body); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	packed := buf.Bytes()
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil })
}

// Build makes an image for this machine of one layer.
func Build(files map[string]File, c Config) (v1.Image, error) {
	layer, err := Layer(files)
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, configured(img, c))
}

func configured(img v1.Image, c Config) *v1.ConfigFile {
	file, err := img.ConfigFile()
	if err != nil {
		file = &v1.ConfigFile{}
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config = v1.Config{Entrypoint: c.Entrypoint, Cmd: c.Cmd, Env: c.Env, WorkingDir: c.WorkingDir, User: c.User}
	return file
}
