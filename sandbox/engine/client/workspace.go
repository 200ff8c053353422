package client

import (
	"context"
	"net/http"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
)

// Workspaces lists the workspaces on disk.
func (e *Engine) Workspaces(ctx context.Context) ([]sandbox.WorkspaceID, error) {
	return call[[]sandbox.WorkspaceID](ctx, e, http.MethodGet, "/v1/workspaces", nil)
}

// WorkspaceFolders lists a workspace's host folders, in the order they were first given. NotFound.
func (e *Engine) WorkspaceFolders(ctx context.Context, id sandbox.WorkspaceID) ([]string, error) {
	return call[[]string](ctx, e, http.MethodGet, workspacePath(id, "/folders"), nil)
}

// WorkspaceChanges lists what differs from the host, by content.
func (e *Engine) WorkspaceChanges(ctx context.Context, id sandbox.WorkspaceID) ([]sandbox.Change, error) {
	return call[[]sandbox.Change](ctx, e, http.MethodGet, workspacePath(id, "/changes"), nil)
}

// WorkspaceDiff is WorkspaceChanges with unified diffs.
func (e *Engine) WorkspaceDiff(ctx context.Context, id sandbox.WorkspaceID) ([]sandbox.FileDiff, error) {
	return call[[]sandbox.FileDiff](ctx, e, http.MethodGet, workspacePath(id, "/diff"), nil)
}

// MarkWorkspace names this moment in a workspace's history.
func (e *Engine) MarkWorkspace(ctx context.Context, id sandbox.WorkspaceID) (sandbox.Mark, error) {
	m, err := call[wire.Since](ctx, e, http.MethodPost, workspacePath(id, "/mark"), nil)
	return m.Mark, err
}

// WorkspaceSince lists what changed after a mark.
func (e *Engine) WorkspaceSince(ctx context.Context, id sandbox.WorkspaceID, m sandbox.Mark) ([]sandbox.Change, error) {
	return call[[]sandbox.Change](ctx, e, http.MethodPost, workspacePath(id, "/since"), wire.Since{Mark: m})
}

// AdvanceWorkspace lists what changed after a mark and makes a new one right after that: asked at the
// end of a call and again at the start of the next, nothing written in between escapes.
func (e *Engine) AdvanceWorkspace(ctx context.Context, id sandbox.WorkspaceID, from sandbox.Mark) ([]sandbox.Change, sandbox.Mark, error) {
	a, err := call[wire.Advanced](ctx, e, http.MethodPost, workspacePath(id, "/advance"), wire.Since{Mark: from})
	return a.Changes, a.Mark, err
}

// HoldWorkspace keeps paths out of Apply, for a reason a person reads.
func (e *Engine) HoldWorkspace(ctx context.Context, id sandbox.WorkspaceID, paths []string, reason string) error {
	_, err := call[struct{}](ctx, e, http.MethodPost, workspacePath(id, "/hold"), wire.Hold{Paths: paths, Reason: reason})
	return err
}

// ApplyWorkspace writes changes to the host; no paths means everything that is not held. left is
// what was left out, and why (Held or Stale).
func (e *Engine) ApplyWorkspace(ctx context.Context, id sandbox.WorkspaceID, paths []string) (done, left []sandbox.Change, err error) {
	return e.ApplyWorkspaceSeen(ctx, id, paths, "")
}

// ApplyWorkspaceSeen is ApplyWorkspace that leaves out what has changed since a mark made before the
// person looked. NotFound when the mark is of another engine's life: look again.
func (e *Engine) ApplyWorkspaceSeen(ctx context.Context, id sandbox.WorkspaceID, paths []string, seen sandbox.Mark) (done, left []sandbox.Change, err error) {
	a, err := call[wire.Applied](ctx, e, http.MethodPost, workspacePath(id, "/apply"), wire.Paths{Paths: paths, Seen: seen})
	return a.Done, a.Left, err
}

// DiscardWorkspace forgets changes; no paths means all of them.
func (e *Engine) DiscardWorkspace(ctx context.Context, id sandbox.WorkspaceID, paths []string) (done, left []sandbox.Change, err error) {
	a, err := call[wire.Applied](ctx, e, http.MethodPost, workspacePath(id, "/discard"), wire.Paths{Paths: paths})
	return a.Done, a.Left, err
}

// RemoveWorkspace deletes a workspace and everything in it. FailedPrecondition while it is in use.
func (e *Engine) RemoveWorkspace(ctx context.Context, id sandbox.WorkspaceID) error {
	_, err := call[struct{}](ctx, e, http.MethodDelete, workspacePath(id, ""), nil)
	return err
}

func workspacePath(id sandbox.WorkspaceID, verb string) string {
	return "/v1/workspaces/" + string(id) + verb
}

// ImportImage makes an image runnable: path is a layout that the wall has pulled or somebody has
// made, or an archive of `docker save` or of a layout. The digest is what sandbox.Root.Image takes.
func (e *Engine) ImportImage(ctx context.Context, path string) (sandbox.Digest, error) {
	got, err := call[wire.Imported](ctx, e, http.MethodPost, "/v1/images", wire.Import{Path: path})
	return got.Digest, err
}

// ImageAbout is what an image that was imported says of itself, by words for people: see wire.ImageAbout.
// NotFound.
func (e *Engine) ImageAbout(ctx context.Context, digest sandbox.Digest) (map[string]string, error) {
	got, err := call[wire.ImageAbout](ctx, e, http.MethodPost, "/v1/images/about", wire.Imported{Digest: digest})
	return got.Words, err
}
