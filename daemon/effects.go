package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// workspaces is the engine's side of finding what a call did.
type workspaces interface {
	MarkWorkspace(ctx context.Context, id sandbox.WorkspaceID) (sandbox.Mark, error)
	// AdvanceWorkspace tells what has changed since a mark, and the mark of now. NotFound: a mark of
	// another life of the engine.
	AdvanceWorkspace(ctx context.Context, id sandbox.WorkspaceID, from sandbox.Mark) ([]sandbox.Change, sandbox.Mark, error)
	HoldWorkspace(ctx context.Context, id sandbox.WorkspaceID, paths []string, reason string) error
}

// demoter takes from a tool the right to pass as a read.
type demoter interface {
	Demote(ctx context.Context, d store.Demotion) error
	// Unattributed records changes that were made while no call was under way.
	Unattributed(ctx context.Context, c approvals.Call, changes []sandbox.Change) error
}

// effects knows which calls are under way in which workspace. Calls that may write take turns; a
// change is attributed to all that were in flight when it happened.
type effects struct {
	workspaces workspaces
	demoter    demoter

	mu    sync.Mutex // guards the fields below
	under map[sandbox.WorkspaceID]map[approvals.CallID]*watch
	left  map[sandbox.WorkspaceID]sandbox.Mark  // where the last call left a workspace
	turns map[sandbox.WorkspaceID]chan struct{} // holds one token while nobody writes
}

func newEffects(w workspaces, d demoter) *effects {
	return &effects{
		workspaces: w, demoter: d,
		under: map[sandbox.WorkspaceID]map[approvals.CallID]*watch{}, left: map[sandbox.WorkspaceID]sandbox.Mark{},
		turns: map[sandbox.WorkspaceID]chan struct{}{},
	}
}

// watch is one call under way.
type watch struct {
	effects *effects
	call    approvals.Call
	writes  bool // it was allowed to write
	mark    sandbox.Mark
	done    func() // gives the turn back

	met map[approvals.CallID]bool // calls in flight at the same time: whether they were allowed to write
}

// unwatched is a call that has no workspace: there are no files of the person's it could change.
type unwatched struct{}

func (unwatched) Stop(context.Context) (gateway.Seen, error) { return gateway.Seen{}, nil }

// Watch implements gateway.Effects.
func (e *effects) Watch(ctx context.Context, c approvals.Call, d approvals.Decision) (gateway.Watch, error) {
	if c.Workspace == "" {
		return unwatched{}, nil
	}
	w := &watch{effects: e, call: c, writes: d.Class != approvals.Read || d.ByPerson(), done: func() {}, met: map[approvals.CallID]bool{}}
	if w.writes {
		if err := e.takeTurn(ctx, w); err != nil {
			return nil, err
		}
	}
	left := e.enter(w) // before the mark: who writes after it has met us
	mark, err := e.begin(ctx, c, left)
	if err != nil {
		e.leave(w, "")
		w.done()
		return nil, fmt.Errorf("note the workspace before %s: %w", c.Tool, err)
	}
	w.mark = mark
	return w, nil
}

// begin marks a workspace before a call. What was written since the last call left it is nobody's:
// a server may answer first and write later. It is held back and recorded.
func (e *effects) begin(ctx context.Context, c approvals.Call, left sandbox.Mark) (sandbox.Mark, error) {
	if left == "" {
		return e.workspaces.MarkWorkspace(ctx, c.Workspace)
	}
	changes, mark, err := e.workspaces.AdvanceWorkspace(ctx, c.Workspace, left)
	switch {
	case errdefs.IsNotFound(err):
		return e.workspaces.MarkWorkspace(ctx, c.Workspace)
	case err != nil || len(changes) == 0:
		return mark, err
	}
	if err := e.workspaces.HoldWorkspace(ctx, c.Workspace, paths(changes), "written while no call was under way"); err != nil {
		return "", err
	}
	return mark, e.demoter.Unattributed(ctx, c, changes)
}

// Settle holds back what was written since the last call, before a person looks at a workspace or
// applies it. c names the workspace, its server and whose it is.
func (e *effects) Settle(ctx context.Context, c approvals.Call) error {
	e.mu.Lock()
	busy, left := len(e.under[c.Workspace]) > 0, e.left[c.Workspace]
	e.mu.Unlock()
	if busy || left == "" {
		return nil
	}
	mark, err := e.begin(ctx, c, left)
	if err != nil {
		return fmt.Errorf("see what was written between calls: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left[c.Workspace] == left {
		e.left[c.Workspace] = mark
	}
	return nil
}

// busy says whether a call is under way in a workspace.
func (e *effects) busy(id sandbox.WorkspaceID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.under[id]) > 0
}

func (e *effects) takeTurn(ctx context.Context, w *watch) error {
	e.mu.Lock()
	turn := e.turns[w.call.Workspace]
	if turn == nil {
		turn = make(chan struct{}, 1)
		turn <- struct{}{}
		e.turns[w.call.Workspace] = turn
	}
	e.mu.Unlock()
	select {
	case <-turn:
		w.done = func() { turn <- struct{}{} }
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for another call that may write: %w", ctx.Err())
	}
}

// enter counts a call in. When it is alone, it returns where the last call left the workspace.
func (e *effects) enter(w *watch) sandbox.Mark {
	e.mu.Lock()
	defer e.mu.Unlock()
	here := e.under[w.call.Workspace]
	if here == nil {
		here = map[approvals.CallID]*watch{}
		e.under[w.call.Workspace] = here
	}
	for id, other := range here {
		other.met[w.call.ID], w.met[id] = w.writes, other.writes
	}
	here[w.call.ID] = w
	if len(here) > 1 {
		return ""
	}
	return e.left[w.call.Workspace]
}

// leave counts a call out; the last one leaves its mark, "" when there is none.
func (e *effects) leave(w *watch, mark sandbox.Mark) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.under[w.call.Workspace], w.call.ID)
	if len(e.under[w.call.Workspace]) == 0 {
		delete(e.under, w.call.Workspace)
		e.left[w.call.Workspace] = mark
	}
}

// Stop implements gateway.Watch.
func (w *watch) Stop(ctx context.Context) (gateway.Seen, error) {
	defer w.done()
	changes, mark, err := w.effects.workspaces.AdvanceWorkspace(ctx, w.call.Workspace, w.mark)
	w.effects.leave(w, mark)
	if err != nil {
		return gateway.Seen{}, fmt.Errorf("see what %s changed: %w", w.call.Tool, err)
	}
	seen := gateway.Seen{Changes: changes}
	for id, writes := range w.met {
		seen.Shared = append(seen.Shared, id)
		seen.Excused = seen.Excused || writes
	}
	return seen, nil
}

// Blame implements gateway.Effects.
func (e *effects) Blame(ctx context.Context, c approvals.Call, changes []sandbox.Change, why string) error {
	if len(changes) > 0 {
		if err := e.workspaces.HoldWorkspace(ctx, c.Workspace, paths(changes), fmt.Sprintf("made by %s, which was allowed as a read", c.Tool)); err != nil {
			return fmt.Errorf("hold back what %s changed: %w", c.Tool, err)
		}
	}
	d := store.Demotion{Server: c.Server, Tool: c.Tool, Reason: why, Call: c.ID, Principal: c.Principal, Session: c.Session, At: time.Now().UTC()}
	if err := e.demoter.Demote(ctx, d); err != nil {
		return fmt.Errorf("demote %s: %w", c.Tool, err)
	}
	return nil
}

// paths names changes so that one name cannot mean two files.
func paths(changes []sandbox.Change) []string {
	out := make([]string, 0, len(changes))
	for _, c := range changes {
		out = append(out, filepath.Join(c.Folder, c.Path))
	}
	return out
}
