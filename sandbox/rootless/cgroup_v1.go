package rootless

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// findV1 needs a writable group of this process's own in every hierarchy: runc joins them all.
// Dirs are this process's own groups.
func (h hierarchies) findV1() (Cgroups, error) {
	c := Cgroups{Version: 1}
	for _, one := range h.v1 {
		own := filepath.Join(h.root, mountName(h.root, one.controllers), one.path)
		if _, err := os.Stat(own); err != nil {
			continue // not mounted here: runc passes it over too
		}
		if !writable(own) {
			return Cgroups{}, fmt.Errorf("the control group %s belongs to someone else", own)
		}
		c.Dirs = append(c.Dirs, own)
		c.Memory = c.Memory || slices.Contains(one.controllers, "memory")
		c.PIDs = c.PIDs || slices.Contains(one.controllers, "pids")
		c.CPU = c.CPU || slices.Contains(one.controllers, "cpu")
		c.Freeze = c.Freeze || slices.Contains(one.controllers, "freezer")
	}
	// On hybrid hosts runc makes a group in the unified hierarchy as well, where it may.
	if own := filepath.Join(h.root, "unified", h.unified); h.unified != "" && writable(own) {
		c.Dirs = append(c.Dirs, own)
	}
	return c, nil
}

func (h hierarchies) prepareV1(name string) (Cgroups, error) {
	c, err := h.findV1()
	if err != nil {
		return Cgroups{}, err
	}
	c.Parent = name
	for i, own := range c.Dirs {
		dir := filepath.Join(own, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return Cgroups{}, err
		}
		if err := copyCpuset(own, dir); err != nil {
			return Cgroups{}, err
		}
		c.Dirs[i] = dir
	}
	return c, nil
}

// mountName is the directory a hierarchy is mounted on below root: "cpu,cpuacct", "cpu", "systemd".
func mountName(root string, controllers []string) string {
	joined := strings.TrimPrefix(strings.Join(controllers, ","), "name=")
	if _, err := os.Stat(filepath.Join(root, joined)); err == nil {
		return joined
	}
	return strings.TrimPrefix(controllers[0], "name=")
}

// copyCpuset fills a new group's processors and memory nodes, where it has such: it starts with
// none, and takes no process then.
func copyCpuset(own, dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(own, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue // another hierarchy
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(value)) == 0 {
			return fmt.Errorf("%s of the control group %s is empty", file, own)
		}
		if err := os.WriteFile(filepath.Join(dir, file), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}
