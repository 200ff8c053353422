package rootless

import (
	"fmt"
	"strconv"

	"github.com/garita-dev/garita/sandbox"
)

// InForce says which of l really hold with the control groups c, and in sentences for a person
// which do not. root means root mode: the kernel does not bound the processes of real root's.
func InForce(l sandbox.Limits, c Cgroups, root bool) (held []sandbox.LimitInForce, notices []string) {
	by := map[int]string{1: "cgroup1", 2: "cgroup2"}[c.Version]
	add := func(name, value, by string) {
		held = append(held, sandbox.LimitInForce{Name: name, Value: value, By: by})
	}
	if c.Memory {
		add("memory", Bytes(l.Memory), by)
	} else {
		add("memory", Bytes(l.Memory), "rlimit")
		notices = append(notices, "Memory is limited for each process, not for the whole sandbox.")
	}
	switch {
	case c.PIDs:
		add("pids", strconv.FormatInt(l.PIDs, 10), by)
	case root:
		notices = append(notices, "The number of processes is not limited on this host.")
	default:
		add("pids", strconv.FormatInt(l.PIDs, 10), "rlimit")
	}
	if c.CPU {
		add("cpus", strconv.FormatFloat(l.CPUs, 'g', -1, 64), by)
	} else {
		notices = append(notices, "CPU time is not limited on this host.")
	}
	return held, notices
}

// Bytes shows a size as people write it: "512 MiB".
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i, v := 0, float64(n)
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return fmt.Sprintf("%s %s", strconv.FormatFloat(v, 'g', 4, 64), units[i])
}
