package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// overlays mounts the workspaces of the launch's snapshot folders for as long as b lives. The
// answer has every such folder; "" means that an outer folder's overlay shows it.
func (e *Engine) overlays(_ context.Context, b *box) (map[string]string, error) {
	folders := map[sandbox.WorkspaceID][]string{}
	for _, f := range b.launch.Folders {
		if f.Mode != sandbox.Snapshot && f.Mode != "" {
			continue
		}
		if f.Workspace == "" {
			return nil, fmt.Errorf("folder %q has no workspace: %w", f.Host, errdefs.ErrInvalidArgument)
		}
		folders[f.Workspace] = append(folders[f.Workspace], f.Host)
	}
	merged := map[string]string{}
	for id, hosts := range folders {
		dirs, release, err := e.ws.Mount(id, hosts)
		if err != nil {
			return nil, err
		}
		b.onUndo(func() error { defer e.openWork(id); return release() })
		for i, h := range hosts {
			if merged[h] == "" { // the same folder twice: the mounted one counts
				merged[h] = dirs[i]
			}
		}
	}
	return merged, nil
}

// openWork gives overlayfs' own directories a mode with which their owner can remove them: the
// kernel leaves them without any.
func (e *Engine) openWork(id sandbox.WorkspaceID) {
	dirs, _ := filepath.Glob(filepath.Join(e.cfg.Data, "workspaces", string(id), "*", "work", "work"))
	for _, d := range dirs {
		_ = os.Chmod(d, 0o700) // still mounted for another sandbox: the kernel does not mind
	}
}
