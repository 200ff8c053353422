package rootless

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Cgroups says where sandboxes get control groups of their own, and what those can hold. The zero
// Cgroups means that there are none: limits fall back on rlimits.
type Cgroups struct {
	Version int `json:"version"` // 1, 2, or 0 for none
	// Parent is put before a sandbox's id to make its cgroup path as runc takes it: relative to the
	// caller's own group in every hierarchy for version 1, from the root for version 2.
	Parent string   `json:"parent"`
	Dirs   []string `json:"dirs"` // the parent's directories, one per hierarchy
	Memory bool     `json:"memory"`
	PIDs   bool     `json:"pids"`
	CPU    bool     `json:"cpu"`
	Freeze bool     `json:"freeze"`
	Why    string   `json:"why"` // why there are none, for a person
}

// Path is the cgroup path of one sandbox as the OCI spec takes it; "" without control groups.
func (c Cgroups) Path(id string) string {
	if c.Version == 0 {
		return ""
	}
	return c.Parent + "/" + id
}

// Dir is the directory of one sandbox's group that holds the given controller; "" when none does.
func (c Cgroups) Dir(controller, id string) string {
	for _, d := range c.Dirs {
		if c.Version == 2 || strings.HasPrefix(d, filepath.Join(cgroupRoot, controller)+"/") {
			return filepath.Join(d, id)
		}
	}
	return ""
}

const cgroupRoot = "/sys/fs/cgroup"

// hierarchy is one line of /proc/self/cgroup.
type hierarchy struct {
	controllers []string // none for the unified one
	path        string
}

// parseCgroups reads the text of /proc/self/cgroup.
func parseCgroups(text []byte) []hierarchy {
	var all []hierarchy
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), ":", 3)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
			continue
		}
		h := hierarchy{path: fields[2]}
		if fields[1] != "" {
			h.controllers = strings.Split(fields[1], ",")
		}
		all = append(all, h)
	}
	return all
}

// PrepareCgroups makes the group that this process's sandboxes go under, called name, wherever the
// host lets it, and says what it found. name must be the same for every life of one daemon, so
// that groups left by an earlier life are found again. It must run in the host's pid namespace.
func PrepareCgroups(name string) Cgroups {
	return withHierarchies(func(h hierarchies) (Cgroups, error) { return h.prepare(name) })
}

// FindCgroups says what PrepareCgroups would find, and changes nothing.
func FindCgroups() Cgroups { return withHierarchies(hierarchies.find) }

// hierarchies is where this process is, in hierarchies mounted below root.
type hierarchies struct {
	root    string
	v1      []hierarchy
	unified string // "" without version 2
}

func withHierarchies(do func(hierarchies) (Cgroups, error)) Cgroups {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Cgroups{Why: err.Error()}
	}
	c, err := do(sort(cgroupRoot, parseCgroups(text)))
	if err != nil {
		return Cgroups{Why: err.Error()}
	}
	return c
}

func sort(root string, all []hierarchy) hierarchies {
	h := hierarchies{root: root}
	for _, one := range all {
		if one.controllers == nil {
			h.unified = one.path
		} else {
			h.v1 = append(h.v1, one)
		}
	}
	return h
}

func (h hierarchies) find() (Cgroups, error) {
	switch {
	case len(h.v1) > 0:
		return h.findV1()
	case h.unified != "":
		return h.findV2()
	default:
		return Cgroups{}, errors.New("this process is in no control group")
	}
}

func (h hierarchies) prepare(name string) (Cgroups, error) {
	if len(h.v1) > 0 {
		return h.prepareV1(name)
	}
	if h.unified != "" {
		return h.prepareV2(name)
	}
	return h.find()
}

// writable reports whether this process may make directories in dir.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

// Remove ends what is left in the groups of an earlier life, and removes them; the parents stay.
func (c Cgroups) Remove() error {
	var errs []error
	for _, dir := range c.Dirs {
		if err := removeBelow(dir); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// End kills what is left in one sandbox's groups and removes them. It is for what runc has not
// ended itself, and does nothing where nothing is left. It must run in a pid namespace that shows
// the processes.
func (c Cgroups) End(ctx context.Context, id string) error {
	return untilNil(ctx, func() error {
		var errs []error
		for _, dir := range c.Dirs {
			errs = append(errs, endGroup(filepath.Join(dir, id)))
		}
		return errors.Join(errs...)
	})
}

// Clear is End for every sandbox there is a group of, also for those of an earlier life.
func (c Cgroups) Clear(ctx context.Context) error {
	return untilNil(ctx, func() error {
		var errs []error
		for _, dir := range c.Dirs {
			for _, group := range subgroups(dir) {
				errs = append(errs, endGroup(group))
			}
		}
		return errors.Join(errs...)
	})
}

// Thaw lets every sandbox run again, so that it can die.
func (c Cgroups) Thaw() {
	for _, dir := range c.Dirs {
		for _, group := range subgroups(dir) {
			thaw(group)
		}
	}
}

// untilNil repeats do, ever more slowly, until it succeeds or ctx ends.
func untilNil(ctx context.Context, do func() error) error {
	for wait := time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		err := do()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// endGroup kills a group's processes and removes it; it fails while one of them is still dying.
func endGroup(dir string) error {
	pids, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	thaw(dir)
	for _, field := range strings.Fields(string(pids)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
			_ = unix.Kill(pid, unix.SIGKILL) // it may be dead already
		}
	}
	if err := removeBelow(dir); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove a control group: %w", err)
	}
	return nil
}

// RemoveAll is Remove and the parents too.
func (c Cgroups) RemoveAll() error {
	err := c.Remove()
	for _, dir := range c.Dirs {
		if rmErr := os.Remove(dir); rmErr != nil && !errors.Is(rmErr, os.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
	}
	return err
}

// Left counts the sandboxes' groups that exist.
func (c Cgroups) Left() int {
	n := 0
	for _, dir := range c.Dirs {
		n += len(subgroups(dir))
	}
	return n
}

func subgroups(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	return dirs
}

// removeBelow thaws, then removes, every group below dir. A group that still has processes stays,
// and is named in the error.
func removeBelow(dir string) error {
	var errs []error
	for _, d := range subgroups(dir) {
		thaw(d)
		if err := removeBelow(d); err != nil {
			errs = append(errs, err)
		}
		if err := os.Remove(d); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove a control group: %w", err))
		}
	}
	return errors.Join(errs...)
}

// thaw lets frozen processes run, so that a signal can end them. Version 1's frozen processes do
// not even die of SIGKILL.
func thaw(dir string) {
	for file, value := range map[string]string{"freezer.state": "THAWED", "cgroup.freeze": "0"} {
		path := filepath.Join(dir, file)
		if _, err := os.Stat(path); err == nil {
			_ = os.WriteFile(path, []byte(value), 0o644)
		}
	}
}
