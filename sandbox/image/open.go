package image

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/garita-dev/garita/sandbox"
)

// Image is what an opened layout holds.
type Image struct {
	Layout
	MediaType string
	Blobs     []Blob // manifest, configuration, layers from the lowest up
	Config    Config
}

// Blob is one file of a layout.
type Blob struct {
	Digest    sandbox.Digest
	Size      int64 // bytes
	MediaType string
	Path      string // absolute
}

// Open reads a layout that this package has written and checks every blob against its digest.
func Open(dir string) (Image, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Image{}, fmt.Errorf("open the image at %s: %w", dir, err)
	}
	defer root.Close()
	o := opener{root: root, image: Image{Layout: Layout{Dir: dir}}}
	if err := o.open(); err != nil {
		return Image{}, fmt.Errorf("open the image at %s: %w", dir, err)
	}
	return o.image, nil
}

type opener struct {
	root  *os.Root
	image Image
}

func (o *opener) open() error {
	raw, err := o.small("index.json")
	if err != nil {
		return err
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(raw, &index); err != nil || len(index.Manifests) != 1 {
		return fmt.Errorf("it does not hold exactly one image: %w", errdefs.ErrInvalidArgument)
	}
	top := index.Manifests[0]
	if err := o.blob(top); err != nil {
		return err
	}
	o.image.Digest, o.image.MediaType = sandbox.Digest(top.Digest.String()), string(top.MediaType)
	if raw, err = o.small(blobPath(top)); err != nil {
		return err
	}
	m, err := parseManifest(raw)
	if err != nil {
		return err
	}
	for _, d := range append([]v1.Descriptor{m.Config}, m.Layers...) {
		if err := o.blob(d); err != nil {
			return err
		}
	}
	return o.config(m.Config)
}

func (o *opener) config(d v1.Descriptor) error {
	raw, err := o.small(blobPath(d))
	if err != nil {
		return err
	}
	o.image.Config, err = parseConfig(raw)
	return err
}

// blob checks one file and lists it.
func (o *opener) blob(d v1.Descriptor) error {
	if err := checkDescriptor(d); err != nil {
		return err
	}
	f, err := o.root.Open(blobPath(d))
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return err
	}
	if n != d.Size || hex.EncodeToString(sum.Sum(nil)) != d.Digest.Hex {
		return fmt.Errorf("a file is not what its digest %s says: %w", d.Digest, errdefs.ErrInvalidArgument)
	}
	o.image.Blobs = append(o.image.Blobs, Blob{
		Digest: sandbox.Digest(d.Digest.String()), Size: d.Size, MediaType: string(d.MediaType),
		Path: filepath.Join(o.image.Dir, blobPath(d)),
	})
	return nil
}

func (o *opener) small(name string) ([]byte, error) {
	f, err := o.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxJSON+1))
	if len(raw) > maxJSON {
		return nil, fmt.Errorf("%s is too large: %w", name, errdefs.ErrInvalidArgument)
	}
	return raw, err
}

func blobPath(d v1.Descriptor) string { return filepath.Join("blobs", "sha256", d.Digest.Hex) }
