package engine

import (
	"context"
	"fmt"

	"github.com/garita-dev/garita/sandbox"
)

// SnapshotName is the name of a package's immutable snapshot.
func SnapshotName(p sandbox.Package) string {
	return fmt.Sprintf("%s/%s@%s/%s", p.Ecosystem, p.Name, p.Version, p.Tree)
}

// packageDir is the directory of the launch's package; "" without one. NotFound when it is not installed.
func (e *Engine) packageDir(ctx context.Context, b *box) (string, error) {
	if b.launch.Package == nil {
		return "", nil
	}
	return e.viewSnapshot(ctx, b, SnapshotName(*b.launch.Package))
}
