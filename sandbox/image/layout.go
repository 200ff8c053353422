// Package image brings OCI images into one shape: a layout folder with exactly one image for this
// machine, every blob checked against its digest. Images come from a registry, a layout or a
// tarball; the engine imports nothing but what this package has written or opened.
//
// Layers stay packed here: what is in them is containerd's to unpack, inside the engine's namespace.
package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/garita-dev/garita/sandbox"
)

// Layout is one image on disk.
type Layout struct {
	Dir    string         // absolute
	Digest sandbox.Digest // of the manifest
}

// Bounds limit what is accepted of one image. No image in the wild that we know is larger.
const (
	maxBytes  = 16 << 30 // of all blobs together
	maxLayers = 256
	maxJSON   = 8 << 20 // of a manifest or a configuration
)

// Report is told how far long work has come; nil is allowed.
type Report func(sandbox.Progress)

func (r Report) tell(p sandbox.Progress) {
	if r != nil {
		r(p)
	}
}

// write puts img into a folder of into named by its digest. Where that exists already it is
// returned as it is. A failed write leaves nothing.
func write(ctx context.Context, into string, img v1.Image, report Report) (Layout, error) {
	raw, m, err := manifestOf(img)
	if err != nil {
		return Layout{}, err
	}
	sum := sha256.Sum256(raw)
	name := hex.EncodeToString(sum[:])
	l := Layout{Dir: filepath.Join(into, "sha256-"+name), Digest: sandbox.Digest("sha256:" + name)}
	if _, err := os.Stat(l.Dir); err == nil {
		return l, nil
	}
	temp, err := os.MkdirTemp(into, ".incoming-")
	if err != nil {
		return Layout{}, fmt.Errorf("make a folder for the image: %w", err)
	}
	defer os.RemoveAll(temp)
	w := writer{dir: temp, left: maxBytes, report: report, total: totalSize(m)}
	if err := w.image(ctx, img, raw, m); err != nil {
		return Layout{}, err
	}
	if err := os.Rename(temp, l.Dir); err != nil {
		if _, there := os.Stat(l.Dir); there == nil {
			return l, nil // another pull was first
		}
		return Layout{}, fmt.Errorf("keep the image: %w", err)
	}
	return l, nil
}

// manifestOf is img's manifest, refused unless it is one for this machine of a kind we run.
func manifestOf(img v1.Image) ([]byte, *v1.Manifest, error) {
	raw, err := img.RawManifest()
	if err != nil {
		return nil, nil, fmt.Errorf("read the image's manifest: %w", err)
	}
	m, err := parseManifest(raw)
	if err != nil {
		return nil, nil, err
	}
	rawConfig, err := img.RawConfigFile()
	if err != nil {
		return nil, nil, fmt.Errorf("read the image's configuration: %w", err)
	}
	_, err = parseConfig(rawConfig)
	return raw, m, err
}

func parseManifest(raw []byte) (*v1.Manifest, error) {
	var m v1.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("read the image's manifest: %v: %w", err, errdefs.ErrInvalidArgument)
	}
	if m.MediaType != "" && !m.MediaType.IsImage() || len(m.Layers) > maxLayers {
		return nil, fmt.Errorf("the image is of the kind %q with %d layers, which cannot be run: %w", m.MediaType, len(m.Layers), errdefs.ErrInvalidArgument)
	}
	for _, d := range append([]v1.Descriptor{m.Config}, m.Layers...) {
		if err := checkDescriptor(d); err != nil {
			return nil, err
		}
	}
	for _, d := range m.Layers {
		if !d.MediaType.IsLayer() || !d.MediaType.IsDistributable() || len(d.URLs) > 0 {
			return nil, fmt.Errorf("a layer of the kind %q cannot be unpacked: %w", d.MediaType, errdefs.ErrInvalidArgument)
		}
	}
	return &m, nil
}

func checkDescriptor(d v1.Descriptor) error {
	_, err := hex.DecodeString(d.Digest.Hex)
	if d.Digest.Algorithm != "sha256" || len(d.Digest.Hex) != 64 || err != nil || strings.ToLower(d.Digest.Hex) != d.Digest.Hex {
		return fmt.Errorf("the image names a digest that is not sha256: %w", errdefs.ErrInvalidArgument)
	}
	if d.Size < 0 || d.Size > maxBytes {
		return fmt.Errorf("the image has a part of %d bytes: %w", d.Size, errdefs.ErrInvalidArgument)
	}
	return nil
}

func totalSize(m *v1.Manifest) int64 {
	total := m.Config.Size
	for _, l := range m.Layers {
		total += l.Size
	}
	return total
}

// writer fills one layout folder.
type writer struct {
	dir         string
	left        int64 // bytes that may still come
	done, total int64
	report      Report
}

func (w *writer) image(ctx context.Context, img v1.Image, raw []byte, m *v1.Manifest) error {
	if err := os.MkdirAll(filepath.Join(w.dir, "blobs", "sha256"), 0o700); err != nil {
		return err
	}
	cfg, err := img.RawConfigFile()
	if err != nil {
		return fmt.Errorf("read the image's configuration: %w", err)
	}
	if err := w.blob(ctx, m.Config, strings.NewReader(string(cfg))); err != nil {
		return err
	}
	for _, d := range m.Layers {
		if err := w.layer(ctx, img, d); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(raw)
	d := v1.Descriptor{MediaType: m.MediaType, Size: int64(len(raw)), Digest: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}}
	if d.MediaType == "" {
		d.MediaType = types.OCIManifestSchema1
	}
	if err := w.blob(ctx, d, strings.NewReader(string(raw))); err != nil {
		return err
	}
	return w.index(d)
}

func (w *writer) layer(ctx context.Context, img v1.Image, d v1.Descriptor) error {
	layer, err := img.LayerByDigest(d.Digest)
	if err != nil {
		return fmt.Errorf("find a layer: %w", err)
	}
	r, err := layer.Compressed()
	if err != nil {
		return fmt.Errorf("read a layer: %w", err)
	}
	defer r.Close()
	return w.blob(ctx, d, r)
}

// blob writes what r has, which must be exactly what d says.
func (w *writer) blob(ctx context.Context, d v1.Descriptor, r io.Reader) error {
	if w.left -= d.Size; w.left < 0 {
		return fmt.Errorf("the image is larger than %d bytes: %w", int64(maxBytes), errdefs.ErrInvalidArgument)
	}
	path := filepath.Join(w.dir, "blobs", "sha256", d.Digest.Hex)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil // one layer may occur twice
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	body := io.LimitReader(&following{ctx: ctx, r: r, w: w}, d.Size+1)
	n, err := io.Copy(io.MultiWriter(f, sum), body)
	if err != nil {
		return fmt.Errorf("fetch a part of the image: %w", err)
	}
	if n != d.Size || hex.EncodeToString(sum.Sum(nil)) != d.Digest.Hex {
		return fmt.Errorf("a part of the image is not what its digest %s says: %w", d.Digest, errdefs.ErrInvalidArgument)
	}
	return f.Close()
}

func (w *writer) index(d v1.Descriptor) error {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{d}}
	raw, err := json.Marshal(index)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.dir, "index.json"), raw, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o600)
}

// following reports progress as it is read from, and stops with its context.
type following struct {
	ctx context.Context
	r   io.Reader
	w   *writer
	at  int64 // done when last reported
}

// Read reads from the source.
func (f *following) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.r.Read(p)
	f.w.done += int64(n)
	if f.w.done-f.at > 1<<20 || err == io.EOF {
		f.at = f.w.done
		f.w.report.tell(sandbox.Progress{Step: "download", Message: "Fetching the image", Done: f.w.done, Total: f.w.total})
	}
	return n, err
}
