package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
)

// Labels of our snapshots. containerd's collector keeps what has its root label.
const (
	rootLabel = "containerd.io/gc.root"
	// lifeLabel marks what belongs to one life of the engine: found at a start, it is removed.
	lifeLabel = "garita.dev/life"
)

func (e *Engine) snapshots() snapshots.Snapshotter {
	return e.ct.client.SnapshotService(e.ct.snapshotter)
}

// prepareSnapshot makes an empty, writable snapshot and returns its directory, which may be bound
// into a sandbox. Left uncommitted, it is removed at the engine's next start.
func (e *Engine) prepareSnapshot(ctx context.Context, key string) (dir string, err error) {
	mounts, err := e.snapshots().Prepare(inNamespace(ctx), key, "", temporary())
	if err != nil {
		return "", fmt.Errorf("prepare snapshot %s: %w", key, err)
	}
	return single(mounts)
}

// commitSnapshot makes the snapshot at key immutable under name, and keeps it.
func (e *Engine) commitSnapshot(ctx context.Context, name, key string, labels map[string]string) error {
	kept := map[string]string{rootLabel: time.Now().UTC().Format(time.RFC3339)}
	for k, v := range labels {
		kept[k] = v
	}
	if err := e.snapshots().Commit(inNamespace(ctx), name, key, snapshots.WithLabels(kept)); err != nil {
		return fmt.Errorf("commit snapshot %s: %w", name, err)
	}
	return nil
}

// removeSnapshot removes a snapshot; one that is not there is no error.
func (e *Engine) removeSnapshot(ctx context.Context, key string) error {
	ctx, cancel := cleanup(ctx)
	defer cancel()
	if err := e.snapshots().Remove(ctx, key); err != nil && !isNotFound(err) {
		return fmt.Errorf("remove snapshot %s: %w", key, err)
	}
	return nil
}

// viewSnapshot returns the directory of a committed snapshot for as long as b lives.
func (e *Engine) viewSnapshot(ctx context.Context, b *box, name string) (string, error) {
	key := string(b.launch.ID) + "-package"
	mounts, err := e.snapshots().View(inNamespace(ctx), key, name, temporary())
	if err != nil {
		return "", fmt.Errorf("view snapshot %s: %w", name, err)
	}
	b.onUndo(func() error { return e.removeSnapshot(ctx, key) })
	return single(mounts)
}

func temporary() snapshots.Opt {
	return snapshots.WithLabels(map[string]string{rootLabel: time.Now().UTC().Format(time.RFC3339), lifeLabel: "instance"})
}

// single is the one directory a snapshot without parents consists of.
func single(mounts []mount.Mount) (string, error) {
	if len(mounts) != 1 || mounts[0].Type != "bind" {
		return "", fmt.Errorf("a snapshot of several layers cannot be bound: %w", errdefs.ErrFailedPrecondition)
	}
	return mounts[0].Source, nil
}
