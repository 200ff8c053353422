package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/snapshots"
)

// reconcile removes what an earlier life has left. Its processes and mounts died with its
// namespaces; records, snapshots in use and control groups did not.
func (e *Engine) reconcile(ctx context.Context) error {
	ctx = inNamespace(ctx)
	containers, err := e.ct.client.Containers(ctx)
	if err != nil {
		return fmt.Errorf("reconcile: list containers: %w", err)
	}
	var errs []error
	for _, c := range containers {
		errs = append(errs, c.Delete(ctx, client.WithSnapshotCleanup))
	}
	left, err := e.temporarySnapshots(ctx)
	errs = append(errs, err)
	for _, key := range left {
		errs = append(errs, e.removeSnapshot(ctx, key))
	}
	errs = append(errs, e.cfg.Cgroups.Remove())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("reconcile: %w", err)
	}
	return nil
}

// temporarySnapshots lists the snapshots that belong to instances and unfinished installs.
func (e *Engine) temporarySnapshots(ctx context.Context) ([]string, error) {
	var keys []string
	err := e.snapshots().Walk(inNamespace(ctx), func(_ context.Context, info snapshots.Info) error {
		if info.Kind != snapshots.KindCommitted {
			keys = append(keys, info.Name)
		}
		return nil
	}, fmt.Sprintf("labels.%q", lifeLabel))
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	return keys, nil
}
