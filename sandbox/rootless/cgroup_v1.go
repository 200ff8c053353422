package rootless

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// prepareV1 needs a writable group of this process's own in every hierarchy: runc joins them all.
func prepareV1(root string, all []hierarchy, name string) (Cgroups, error) {
	c := Cgroups{Version: 1, Parent: name}
	for _, h := range all {
		own := filepath.Join(root, mountName(root, h.controllers), h.path)
		if _, err := os.Stat(own); err != nil {
			continue // not mounted here: runc passes it over too
		}
		if !writable(own) {
			return Cgroups{}, fmt.Errorf("the control group %s belongs to someone else", own)
		}
		dir := filepath.Join(own, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return Cgroups{}, err
		}
		c.Dirs = append(c.Dirs, dir)
		if err := c.hold(h.controllers, own, dir); err != nil {
			return Cgroups{}, err
		}
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

func (c *Cgroups) hold(controllers []string, own, dir string) error {
	for _, name := range controllers {
		switch name {
		case "memory":
			c.Memory = true
		case "pids":
			c.PIDs = true
		case "cpu":
			c.CPU = true
		case "freezer":
			c.Freeze = true
		case "cpuset":
			if err := copyCpuset(own, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyCpuset fills a new group's processors and memory nodes: it starts with none, and takes no process then.
func copyCpuset(own, dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(own, file))
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
