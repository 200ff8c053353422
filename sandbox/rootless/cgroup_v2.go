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

// findV2 needs a delegated group: one whose subtree_control and procs this user may write. Parent
// is that group's path, Dirs its directory.
func (h hierarchies) findV2() (Cgroups, error) {
	base := h.unified
	if filepath.Base(base) == mainLeaf {
		base = filepath.Dir(base) // an earlier life of this unit has moved us
	}
	dir := filepath.Join(h.root, base)
	if !delegated(dir) {
		return Cgroups{}, fmt.Errorf("the control group %s is not delegated to this user", dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return Cgroups{}, err
	}
	c := Cgroups{Version: 2, Parent: base, Dirs: []string{dir}, Freeze: true}
	c.keep(strings.Fields(string(text)))
	return c, nil
}

// keep notes which of the controllers there are.
func (c *Cgroups) keep(controllers []string) {
	c.Memory = slices.Contains(controllers, "memory")
	c.PIDs = slices.Contains(controllers, "pids")
	c.CPU = slices.Contains(controllers, "cpu")
}

func (h hierarchies) prepareV2(name string) (Cgroups, error) {
	c, err := h.findV2()
	if err != nil {
		return Cgroups{}, err
	}
	dir := c.Dirs[0]
	if err := moveToLeaf(dir); err != nil {
		return Cgroups{}, fmt.Errorf("empty the control group %s: %w", dir, err)
	}
	on := enable(dir, "memory", "pids", "cpu")
	group := filepath.Join(dir, name)
	if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return Cgroups{}, err
	}
	c.keep(enable(group, on...))
	c.Parent, c.Dirs = filepath.Join(c.Parent, name), []string{group}
	return c, nil
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
