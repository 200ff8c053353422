package workspace

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// Hold marks paths and whatever lies below them with a reason, for people to read: Changes shows
// it in Held, and Apply leaves them out unless one is named exactly. A hold ends when the change
// is applied or discarded, or is no longer one. InvalidArgument, NotFound.
func (s *Store) Hold(_ context.Context, id sandbox.WorkspaceID, paths []string, reason string) error {
	if reason == "" {
		return fmt.Errorf("hold in workspace %s: no reason given: %w", id, errdefs.ErrInvalidArgument)
	}
	w, err := s.workspace(id, false)
	if err != nil {
		return err
	}
	if err := w.lock(); err != nil {
		return err
	}
	defer w.mu.Unlock()
	places, err := w.places(paths)
	if err != nil {
		return fmt.Errorf("hold in workspace %s: %w", id, err)
	}
	for _, p := range places {
		w.holds[p] = reason
	}
	return w.save()
}

// places reads paths as callers give them. A relative path means that path in every folder.
func (w *workspace) places(paths []string) ([]place, error) {
	var all []place
	for _, p := range paths {
		found, err := w.parsePath(p)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (w *workspace) parsePath(p string) ([]place, error) {
	var found []place
	for _, f := range w.folders {
		rel, ok := p, !path.IsAbs(p)
		if !ok && inside(f.host, p) {
			rel, ok = strings.TrimPrefix(strings.TrimPrefix(p, f.host), "/"), true
		}
		if !ok {
			continue
		}
		raw, err := DecodePath(rel)
		if err != nil {
			return nil, err
		}
		raw = path.Clean("/" + raw)[1:]
		found = append(found, place{f.n, raw})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%q is in no folder of the workspace: %w", p, errdefs.ErrNotFound)
	}
	return found, nil
}

// heldBy is the reason of the hold on a path or on a directory above it.
func (w *workspace) heldBy(p place) string {
	if len(w.holds) == 0 {
		return ""
	}
	for {
		if reason := w.holds[p]; reason != "" {
			return reason
		}
		if p.path == "" {
			return ""
		}
		p.path, _ = split(p.path)
	}
}

// dropHolds forgets holds on paths that are no change any more and have none below.
func (w *workspace) dropHolds(diffs []difference) error {
	if len(w.holds) == 0 {
		return nil
	}
	wanted := map[place]bool{}
	for _, d := range diffs {
		for p := d.raw; ; p, _ = split(p) {
			wanted[place{d.folder.n, p}] = true
			if p == "" {
				break
			}
		}
	}
	dropped := false
	for p := range w.holds {
		if !wanted[p] {
			delete(w.holds, p)
			dropped = true
		}
	}
	if !dropped {
		return nil
	}
	return w.save()
}

// risky says why a path must not reach the host unnamed: what the user's own tools would run by
// themselves.
func risky(raw string) string {
	parts := strings.Split(strings.ToLower(raw), "/")
	for i, part := range parts {
		if part != ".git" {
			continue
		}
		rest := parts[i+1:]
		switch {
		case len(rest) == 0:
			continue
		case slices.Contains(rest, "hooks"), strings.HasPrefix(rest[len(rest)-1], "config"):
			return "git would run it, or be told by it what to run; name it to apply it"
		}
	}
	return ""
}
