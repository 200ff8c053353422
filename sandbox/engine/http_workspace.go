package engine

import (
	"net/http"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
)

// workspaceRoutes are the questions about what servers changed. Those asked around every call
// (mark, since) come over connections that are kept alive.
func (e *Engine) workspaceRoutes(mux *http.ServeMux) {
	for route, h := range map[string]handler{
		"GET /v1/workspaces":               e.getWorkspaces,
		"GET /v1/workspaces/{id}/folders":  e.getFolders,
		"GET /v1/workspaces/{id}/changes":  e.getChanges,
		"GET /v1/workspaces/{id}/diff":     e.getDiff,
		"POST /v1/workspaces/{id}/mark":    e.markWorkspace,
		"POST /v1/workspaces/{id}/since":   e.sinceWorkspace,
		"POST /v1/workspaces/{id}/advance": e.advanceWorkspace,
		"POST /v1/workspaces/{id}/hold":    e.holdWorkspace,
		"POST /v1/workspaces/{id}/apply":   e.applyWorkspace,
		"POST /v1/workspaces/{id}/discard": e.discardWorkspace,
		"DELETE /v1/workspaces/{id}":       e.removeWorkspace,
	} {
		mux.Handle(route, h)
	}
}

func workspaceOf(r *http.Request) sandbox.WorkspaceID {
	return sandbox.WorkspaceID(r.PathValue("id"))
}

func (e *Engine) getWorkspaces(*http.Request) (any, error) { return e.ws.IDs() }

func (e *Engine) getFolders(r *http.Request) (any, error) { return e.ws.Folders(workspaceOf(r)) }

func (e *Engine) getChanges(r *http.Request) (any, error) {
	return e.ws.Changes(r.Context(), workspaceOf(r))
}

func (e *Engine) getDiff(r *http.Request) (any, error) {
	return e.ws.Diff(r.Context(), workspaceOf(r))
}

func (e *Engine) markWorkspace(r *http.Request) (any, error) {
	m, err := e.ws.Mark(r.Context(), workspaceOf(r))
	return wire.Since{Mark: m}, err
}

func (e *Engine) sinceWorkspace(r *http.Request) (any, error) {
	req, err := decode[wire.Since](r)
	if err != nil {
		return nil, err
	}
	return e.ws.Since(r.Context(), workspaceOf(r), req.Mark)
}

func (e *Engine) advanceWorkspace(r *http.Request) (any, error) {
	req, err := decode[wire.Since](r)
	if err != nil {
		return nil, err
	}
	changes, mark, err := e.ws.Advance(r.Context(), workspaceOf(r), req.Mark)
	return wire.Advanced{Changes: changes, Mark: mark}, err
}

func (e *Engine) holdWorkspace(r *http.Request) (any, error) {
	req, err := decode[wire.Hold](r)
	if err != nil {
		return nil, err
	}
	return done{}, e.ws.Hold(r.Context(), workspaceOf(r), req.Paths, req.Reason)
}

func (e *Engine) applyWorkspace(r *http.Request) (any, error) {
	req, err := decode[wire.Paths](r)
	if err != nil {
		return nil, err
	}
	done, left, err := e.ws.ApplySeen(r.Context(), workspaceOf(r), req.Paths, req.Seen)
	return wire.Applied{Done: done, Left: left}, err
}

func (e *Engine) discardWorkspace(r *http.Request) (any, error) {
	req, err := decode[wire.Paths](r)
	if err != nil {
		return nil, err
	}
	done, left, err := e.ws.Discard(r.Context(), workspaceOf(r), req.Paths)
	return wire.Applied{Done: done, Left: left}, err
}

func (e *Engine) removeWorkspace(r *http.Request) (any, error) {
	return done{}, e.ws.Remove(workspaceOf(r))
}
