package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// workspaces is the engine's side of finding what a call did.
type workspaces interface {
	MarkWorkspace(ctx context.Context, id sandbox.WorkspaceID) (sandbox.Mark, error)
	WorkspaceSince(ctx context.Context, id sandbox.WorkspaceID, mark sandbox.Mark) ([]sandbox.Change, error)
	HoldWorkspace(ctx context.Context, id sandbox.WorkspaceID, paths []string, reason string) error
}

// demoter takes from a tool the right to pass as a read.
type demoter interface {
	Demote(ctx context.Context, d store.Demotion) error
}

// effects knows which calls are under way in which workspace. Calls that may write take turns; a
// change is attributed to all that were in flight when it happened.
type effects struct {
	workspaces workspaces
	demoter    demoter

	mu    sync.Mutex // guards the fields below
	under map[sandbox.WorkspaceID]map[approvals.CallID]*watch
	turns map[sandbox.WorkspaceID]chan struct{} // holds one token while nobody writes
}

func newEffects(w workspaces, d demoter) *effects {
	return &effects{
		workspaces: w, demoter: d,
		under: map[sandbox.WorkspaceID]map[approvals.CallID]*watch{},
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
	w := &watch{effects: e, call: c, writes: d.Class != approvals.Read || d.Outcome != "", done: func() {}, met: map[approvals.CallID]bool{}}
	if w.writes {
		if err := e.takeTurn(ctx, w); err != nil {
			return nil, err
		}
	}
	e.enter(w) // before the mark: who writes after it has met us
	mark, err := e.workspaces.MarkWorkspace(ctx, c.Workspace)
	if err != nil {
		e.leave(w)
		w.done()
		return nil, fmt.Errorf("note the workspace before %s: %w", c.Tool, err)
	}
	w.mark = mark
	return w, nil
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

func (e *effects) enter(w *watch) {
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
}

func (e *effects) leave(w *watch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.under[w.call.Workspace], w.call.ID)
	if len(e.under[w.call.Workspace]) == 0 {
		delete(e.under, w.call.Workspace)
	}
}

// Stop implements gateway.Watch.
func (w *watch) Stop(ctx context.Context) (gateway.Seen, error) {
	defer w.done()
	changes, err := w.effects.workspaces.WorkspaceSince(ctx, w.call.Workspace, w.mark)
	w.effects.leave(w)
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
	if err := e.workspaces.HoldWorkspace(ctx, c.Workspace, paths(changes), fmt.Sprintf("made by %s, which was allowed as a read", c.Tool)); err != nil {
		return fmt.Errorf("hold back what %s changed: %w", c.Tool, err)
	}
	d := store.Demotion{Server: c.Server, Tool: c.Tool, Reason: why, Call: c.ID, At: time.Now().UTC()}
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
