package rootless

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mainLeaf is the group the daemon and its children move to: version 2 lets a group that hands
// controllers to its children hold no process itself.
const mainLeaf = "garita-main"

// prepareV2 needs a delegated group: one whose subtree_control and procs this user may write.
func prepareV2(root, own, name string) (Cgroups, error) {
	base := own
	if filepath.Base(own) == mainLeaf {
		base = filepath.Dir(own) // an earlier life of this unit has moved us
	}
	dir := filepath.Join(root, base)
	if !delegated(dir) {
		return Cgroups{}, fmt.Errorf("the control group %s is not delegated to this user", dir)
	}
	if err := moveToLeaf(dir); err != nil {
		return Cgroups{}, fmt.Errorf("empty the control group %s: %w", dir, err)
	}
	on := enable(dir, "memory", "pids", "cpu")
	group := filepath.Join(dir, name)
	if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return Cgroups{}, err
	}
	on = slices.DeleteFunc(on, func(s string) bool { return !slices.Contains(enable(group, s), s) })
	return Cgroups{
		Version: 2,
		Parent:  filepath.Join(base, name),
		Dirs:    []string{group},
		Memory:  slices.Contains(on, "memory"),
		PIDs:    slices.Contains(on, "pids"),
		CPU:     slices.Contains(on, "cpu"),
		Freeze:  true,
	}, nil
}

func delegated(dir string) bool {
	for _, file := range []string{"cgroup.procs", "cgroup.subtree_control"} {
		if unix.Access(filepath.Join(dir, file), unix.W_OK) != nil {
			return false
		}
	}
	return writable(dir)
}

func moveToLeaf(dir string) error {
	leaf := filepath.Join(dir, mainLeaf)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	pids, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, pid := range strings.Fields(string(pids)) {
		err := os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte(pid), 0o644)
		if err != nil && !errors.Is(err, unix.ESRCH) { // it may have ended meanwhile
			return err
		}
	}
	return nil
}

// enable hands controllers to dir's children and returns those that took.
func enable(dir string, controllers ...string) []string {
	var on []string
	for _, c := range controllers {
		if os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0o644) == nil {
			on = append(on, c)
		}
	}
	return on
}
