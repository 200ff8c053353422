package engine

import (
	"context"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/workspace"
)

// maxInspected bounds the entries of one folder that are searched for what reaches beyond it.
const maxInspected = 200_000

// inspectFolders looks, while the server already runs, for hard links and sockets in its folders,
// which the person should know of. It ends with the sandbox.
func (b *box) inspectFolders(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it outlives the request
	finished := make(chan struct{})
	b.onUndo(func() error { cancel(); <-finished; return nil })
	go func() {
		defer close(finished)
		for _, f := range b.launch.Folders {
			if f.Mode == sandbox.None {
				continue
			}
			found, err := workspace.Inspect(ctx, f.Host, maxInspected)
			if err != nil {
				continue // ended, or the folder went away; there is nothing to tell
			}
			for _, sentence := range found.Notices(f.Host, f.Mode == sandbox.Direct) {
				b.notice(sentence)
			}
		}
	}()
}
