package workspace

import (
	"fmt"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// selection is what one Apply or Discard is to do, and what it leaves.
type selection struct {
	chosen []difference
	left   []sandbox.Change
}

// choose picks the changes that paths name: exactly, or by a directory above them; no paths mean
// all. NotFound for a path that names no change.
func (w *workspace) choose(diffs []difference, paths []string) ([]difference, map[place]bool, error) {
	exact := map[place]bool{}
	if len(paths) == 0 {
		return diffs, exact, nil
	}
	chosen := make([]bool, len(diffs))
	for _, p := range paths {
		places, err := w.parsePath(p)
		if err != nil {
			return nil, nil, err
		}
		if !mark(diffs, places, chosen, exact) {
			return nil, nil, fmt.Errorf("%q is no change of the workspace: %w", p, errdefs.ErrNotFound)
		}
	}
	var picked []difference
	for i, d := range diffs {
		if chosen[i] {
			picked = append(picked, d)
		}
	}
	return picked, exact, nil
}

func mark(diffs []difference, places []place, chosen []bool, exact map[place]bool) (any bool) {
	for _, p := range places {
		for i, d := range diffs {
			if d.folder.n != p.folder || !inside(p.path, d.raw) {
				continue
			}
			chosen[i], any = true, true
			if d.raw == p.path {
				exact[p] = true
			}
		}
	}
	return any
}

// complete adds what chosen changes need: the new directories above them, and the deletion of
// what lies below a directory that is replaced.
func complete(diffs, chosen []difference) []difference {
	want := map[place]bool{}
	replaced := map[place]bool{}
	for _, d := range chosen {
		want[place{d.folder.n, d.raw}] = true
		if d.host.kind() == kindDir && d.upper.kind() != kindDir {
			replaced[place{d.folder.n, d.raw}] = true
		}
		for p, _ := split(d.raw); p != ""; p, _ = split(p) {
			want[place{d.folder.n, p}] = true
		}
	}
	var all []difference
	for _, d := range diffs {
		if want[place{d.folder.n, d.raw}] || belowAny(replaced, d) {
			all = append(all, d)
		}
	}
	return all
}

func belowAny(dirs map[place]bool, d difference) bool {
	for p, _ := split(d.raw); p != ""; p, _ = split(p) {
		if dirs[place{d.folder.n, p}] {
			return true
		}
	}
	return false
}

// applicable takes out what apply must not touch: stale, refused, and held unless named exactly.
func applicable(chosen []difference, exact map[place]bool) selection {
	var s selection
	for _, d := range chosen {
		named := exact[place{d.folder.n, d.raw}]
		switch {
		case d.Stale, d.upper.kind() == kindOther, d.Held != "" && !named:
			s.left = append(s.left, d.Change)
		default:
			s.chosen = append(s.chosen, d)
		}
	}
	return s
}

// inOrder puts deletions first, contents before their directories, then everything else with
// directories before contents.
func inOrder(diffs []difference) []difference {
	ordered := make([]difference, 0, len(diffs))
	for i := len(diffs) - 1; i >= 0; i-- {
		if diffs[i].Kind == sandbox.Deleted {
			ordered = append(ordered, diffs[i])
		}
	}
	for _, d := range diffs {
		if d.Kind != sandbox.Deleted {
			ordered = append(ordered, d)
		}
	}
	return ordered
}
