package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/image"
	"github.com/garita-dev/garita/sandbox/ocispec"
)

// imageName is how an image is called in containerd: by its manifest, whatever reference it came by.
func imageName(d sandbox.Digest) string { return "garita/" + string(d) }

// importImage copies an image into the content store and unpacks it. path is one of the data
// directory's own layouts, somebody's layout, or an archive.
func (e *Engine) importImage(ctx context.Context, path string) (sandbox.Digest, error) {
	if own := filepath.Join(e.cfg.Data, "images"); filepath.Dir(path) != own {
		l, err := image.From(ctx, path, own, nil)
		if err != nil {
			return "", err
		}
		path = l.Dir
	}
	img, err := image.Open(path)
	if err != nil {
		return "", err
	}
	if err := e.checkLayers(ctx, img); err != nil {
		return "", fmt.Errorf("import image %s: %w", img.Digest, err)
	}
	ctx, release, err := e.ct.client.WithLease(inNamespace(ctx)) // the collector must not take half an image
	if err != nil {
		return "", fmt.Errorf("import image %s: %w", img.Digest, err)
	}
	defer func() {
		ctx, cancel := cleanup(ctx)
		defer cancel()
		_ = release(ctx) // it expires by itself
	}()
	if err := e.storeImage(ctx, img); err != nil {
		return "", fmt.Errorf("import image %s: %w", img.Digest, err)
	}
	return img.Digest, nil
}

func (e *Engine) storeImage(ctx context.Context, img image.Image) error {
	var top v1.Descriptor
	for i := len(img.Blobs) - 1; i >= 0; i-- { // the manifest last: what it names is there then
		b := img.Blobs[i]
		desc := v1.Descriptor{MediaType: b.MediaType, Digest: digest.Digest(b.Digest), Size: b.Size}
		if err := e.storeBlob(ctx, b.Path, desc); err != nil {
			return err
		}
		top = desc
	}
	record := images.Image{Name: imageName(img.Digest), Target: top, CreatedAt: time.Now()}
	if _, err := e.ct.client.ImageService().Create(ctx, record); err != nil && !errdefs.IsAlreadyExists(err) {
		return err
	}
	store := e.ct.client.ContentStore()
	if _, err := images.SetChildrenMappedLabels(store, images.ChildrenHandler(store), nil)(ctx, top); err != nil {
		return err
	}
	return client.NewImage(e.ct.client, record).Unpack(ctx, e.ct.snapshotter)
}

func (e *Engine) storeBlob(ctx context.Context, path string, desc v1.Descriptor) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	err = content.WriteBlob(ctx, e.ct.client.ContentStore(), "import-"+desc.Digest.String(), f, desc)
	if err != nil && !errdefs.IsAlreadyExists(err) {
		return fmt.Errorf("store blob %s: %w", desc.Digest, err)
	}
	return nil
}

// imageRoot makes a writable snapshot of the launch's image (runc needs to make mount points in it;
// the server sees it read-only) and reads how the image wants to be run.
func (e *Engine) imageRoot(ctx context.Context, b *box) (*ocispec.Image, string, error) {
	record, err := e.ct.client.GetImage(ctx, imageName(b.launch.Root.Image))
	if err != nil {
		return nil, "", fmt.Errorf("image %s: %w", b.launch.Root.Image, err)
	}
	layers, err := record.RootFS(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("image %s: %w", b.launch.Root.Image, err)
	}
	key := string(b.launch.ID) + "-root"
	if _, err := e.snapshots().Prepare(ctx, key, identity.ChainID(layers).String(), temporary()); err != nil {
		return nil, "", fmt.Errorf("image %s: %w", b.launch.Root.Image, err)
	}
	b.onUndo(func() error { return e.removeSnapshot(ctx, key) })
	spec, err := record.Spec(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("image %s: %w", b.launch.Root.Image, err)
	}
	c := spec.Config
	return &ocispec.Image{Entrypoint: c.Entrypoint, Cmd: c.Cmd, Env: c.Env, Dir: c.WorkingDir}, key, nil
}
