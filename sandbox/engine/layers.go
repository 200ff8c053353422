package engine

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/containerd/containerd/v2/pkg/archive/compression"
	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox/image"
)

// checkLayers refuses layers with device nodes where they would really be made: as root. In a user
// namespace containerd leaves them out, as the kernel would refuse them.
func (e *Engine) checkLayers(ctx context.Context, img image.Image) error {
	if !e.cfg.Root {
		return nil
	}
	for _, b := range img.Blobs[2:] { // behind manifest and configuration
		if err := checkLayer(ctx, b.Path); err != nil {
			return fmt.Errorf("layer %s: %w", b.Digest, err)
		}
	}
	return nil
}

func checkLayer(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := compression.DecompressStream(f)
	if err != nil {
		return fmt.Errorf("unpack: %v: %w", err, errdefs.ErrInvalidArgument)
	}
	defer plain.Close()
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("unpack: %v: %w", err, errdefs.ErrInvalidArgument)
		case h.Typeflag == tar.TypeBlock, h.Typeflag == tar.TypeChar && h.Devmajor+h.Devminor > 0: // 0,0 is overlayfs's own mark
			return fmt.Errorf("it has the device %q, which only an engine that does not run as root leaves out: %w", h.Name, errdefs.ErrFailedPrecondition)
		}
	}
}
