package image

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/garita-dev/garita/sandbox"
)

// From brings a layout folder or an archive, whatever path is, into a folder of into.
func From(ctx context.Context, path, into string, report Report) (Layout, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Layout{}, fmt.Errorf("find the image %s: %w", path, errdefs.ErrNotFound)
	case err != nil:
		return Layout{}, fmt.Errorf("find the image %s: %w", path, err)
	case info.IsDir():
		return FromLayout(ctx, path, into, report)
	case info.Mode().IsRegular():
		return FromTarball(ctx, path, into, report)
	}
	return Layout{}, fmt.Errorf("the image %s is neither a folder nor a file: %w", path, errdefs.ErrInvalidArgument)
}

// FromLayout copies this machine's image of an OCI layout folder into a folder of into.
func FromLayout(ctx context.Context, dir, into string, report Report) (Layout, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return Layout{}, fmt.Errorf("read the layout %s: %v: %w", dir, err, errdefs.ErrInvalidArgument)
	}
	img, err := pick(index, 0)
	if err != nil {
		return Layout{}, fmt.Errorf("read the layout %s: %w", dir, err)
	}
	if err := os.MkdirAll(into, 0o700); err != nil {
		return Layout{}, err
	}
	return write(ctx, into, img, report)
}

// pick finds the one image for this machine in an index, which may hold further indexes.
func pick(index v1.ImageIndex, depth int) (v1.Image, error) {
	m, err := index.IndexManifest()
	if err != nil || depth > 2 || len(m.Manifests) > maxLayers {
		return nil, fmt.Errorf("its index cannot be read: %w", errdefs.ErrInvalidArgument)
	}
	for _, d := range m.Manifests {
		switch {
		case d.MediaType.IsIndex():
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				continue
			}
			if img, err := pick(inner, depth+1); err == nil {
				return img, nil
			}
		case d.MediaType.IsImage() && ours(d.Platform):
			return index.Image(d.Digest)
		}
	}
	return nil, fmt.Errorf("it has no image for linux/%s: %w", runtime.GOARCH, errdefs.ErrNotFound)
}

func ours(p *v1.Platform) bool {
	return p == nil || p.OS == "linux" && p.Architecture == runtime.GOARCH
}

// FromTarball reads an archive made by `docker save`, or an OCI layout in a tar, packed with gzip
// or not, into a folder of into.
func FromTarball(ctx context.Context, file, into string, report Report) (Layout, error) {
	if err := os.MkdirAll(into, 0o700); err != nil {
		return Layout{}, err
	}
	temp, err := os.MkdirTemp(into, ".archive-")
	if err != nil {
		return Layout{}, err
	}
	defer os.RemoveAll(temp)
	report.tell(sandbox.Progress{Step: "unpack", Message: "Reading the archive"})
	plain, err := unzipped(ctx, file, temp)
	if err != nil {
		return Layout{}, fmt.Errorf("read the archive %s: %w", file, err)
	}
	entries, err := scan(plain)
	if err != nil {
		return Layout{}, fmt.Errorf("read the archive %s: %w", file, err)
	}
	if _, ok := entries["oci-layout"]; ok {
		return fromOCIArchive(ctx, plain, temp, into, report)
	}
	return fromDockerArchive(ctx, plain, entries, into, report)
}

// unzipped is file itself, or its unpacked copy in temp.
func unzipped(ctx context.Context, file, temp string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buffered := bufio.NewReader(f)
	if magic, _ := buffered.Peek(2); len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return file, nil
	}
	z, err := gzip.NewReader(buffered)
	if err != nil {
		return "", fmt.Errorf("%v: %w", err, errdefs.ErrInvalidArgument)
	}
	plain := filepath.Join(temp, "plain.tar")
	return plain, save(plain, &following{ctx: ctx, r: z, w: &writer{}}, maxBytes)
}

// save writes at most limit bytes of r to a new file.
func save(name string, r io.Reader, limit int64) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.Copy(f, io.LimitReader(r, limit+1))
	if err != nil {
		return err
	}
	if n > limit {
		return fmt.Errorf("there is more than %d bytes in it: %w", limit, errdefs.ErrInvalidArgument)
	}
	return f.Close()
}

// maxEntries bounds the files of an archive; each layer has a few.
const maxEntries = 4096

// scan lists an archive's regular files with their sizes.
func scan(file string) (map[string]int64, error) {
	entries := map[string]int64{}
	err := eachFile(file, func(h *tar.Header, _ io.Reader) error {
		if entries[path.Clean(h.Name)] = h.Size; len(entries) > maxEntries {
			return fmt.Errorf("it has more than %d files: %w", maxEntries, errdefs.ErrInvalidArgument)
		}
		return nil
	})
	return entries, err
}

func eachFile(file string, do func(*tar.Header, io.Reader) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r := tar.NewReader(f)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is no tar archive: %v: %w", err, errdefs.ErrInvalidArgument)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := do(h, r); err != nil {
			return err
		}
	}
}

// layoutFile is every name that an OCI layout needs; others in an archive are not unpacked.
var layoutFile = regexp.MustCompile(`^(oci-layout|index\.json|blobs/sha256/[0-9a-f]{64})$`)

func fromOCIArchive(ctx context.Context, file, temp, into string, report Report) (Layout, error) {
	dir := filepath.Join(temp, "layout")
	if err := os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o700); err != nil {
		return Layout{}, err
	}
	left := int64(maxBytes)
	err := eachFile(file, func(h *tar.Header, r io.Reader) error {
		name := path.Clean(h.Name)
		if !layoutFile.MatchString(name) {
			return nil
		}
		left -= h.Size
		return save(filepath.Join(dir, filepath.FromSlash(name)), &following{ctx: ctx, r: r, w: &writer{}}, left)
	})
	if err != nil {
		return Layout{}, fmt.Errorf("unpack the archive: %w", err)
	}
	return FromLayout(ctx, dir, into, report)
}

func fromDockerArchive(ctx context.Context, file string, entries map[string]int64, into string, report Report) (Layout, error) {
	if err := checkDockerArchive(file, entries); err != nil {
		return Layout{}, fmt.Errorf("read the archive: %w", err)
	}
	img, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		return Layout{}, fmt.Errorf("read the archive: %v: %w", err, errdefs.ErrInvalidArgument)
	}
	return write(ctx, into, img, report)
}

// checkDockerArchive refuses what would have to be held in memory and is too large for it.
func checkDockerArchive(file string, entries map[string]int64) error {
	size, ok := entries["manifest.json"]
	if !ok || size > maxJSON {
		return fmt.Errorf("it is no archive of an image: %w", errdefs.ErrInvalidArgument)
	}
	var raw []byte
	err := eachFile(file, func(h *tar.Header, r io.Reader) (err error) {
		if path.Clean(h.Name) == "manifest.json" && h.Size <= maxJSON {
			raw, err = io.ReadAll(r)
		}
		return err
	})
	if err != nil {
		return err
	}
	var images []struct{ Config string }
	if err := json.Unmarshal(raw, &images); err != nil || len(images) != 1 {
		return fmt.Errorf("it does not hold exactly one image: %w", errdefs.ErrInvalidArgument)
	}
	if size, ok := entries[path.Clean(images[0].Config)]; !ok || size > maxJSON {
		return fmt.Errorf("its configuration is missing or too large: %w", errdefs.ErrInvalidArgument)
	}
	return nil
}
