package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

type watchKey struct{}

// watch knows what of a test's Garita is there: what the user ran before the test is not.
type watch struct {
	home   string
	bin    string
	uids   []span
	before map[identity]bool
	groups map[string]bool
}

// span is a range of user ids.
type span struct{ first, count int }

// identity tells processes apart whose number is used again.
type identity struct {
	pid   int
	start string
}

// proc is one process, as /proc has it.
type proc struct {
	identity
	uid    int
	name   string
	args   string
	apart  bool // it lives in another pid namespace than the test, or hides which
	ours   bool // its environment has the test's GARITA_HOME
	zombie bool
}

func newWatch(home, bin string) *watch {
	w := &watch{home: home, bin: bin, uids: append(subordinate(), span{os.Getuid(), 1}), before: map[identity]bool{}, groups: map[string]bool{}}
	for _, p := range w.processes() {
		w.before[p.identity] = true
	}
	for _, g := range controlGroups() {
		w.groups[g] = true
	}
	return w
}

// subordinate are the ids that /etc/subuid gives this user.
func subordinate() (spans []span) {
	text, err := os.ReadFile("/etc/subuid")
	if err != nil {
		return nil
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		fields := strings.Split(line, ":")
		if len(fields) != 3 || fields[0] != os.Getenv("USER") && fields[0] != strconv.Itoa(os.Getuid()) {
			continue
		}
		first, err1 := strconv.Atoi(fields[1])
		count, err2 := strconv.Atoi(fields[2])
		if err1 == nil && err2 == nil && first > 0 {
			spans = append(spans, span{first, count})
		}
	}
	return spans
}

func (w *watch) mine(uid int) bool {
	return slices.ContainsFunc(w.uids, func(s span) bool { return uid >= s.first && uid < s.first+s.count })
}

// processes are those of the user and of the ids that belong to them.
func (w *watch) processes() (found []proc) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if p, ok := w.look(pid); ok && w.mine(p.uid) && !p.zombie {
			found = append(found, p)
		}
	}
	return found
}

func (w *watch) look(pid int) (proc, bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	info, err := os.Stat(dir)
	stat, err2 := os.ReadFile(dir + "/stat")
	args, err3 := os.ReadFile(dir + "/cmdline")
	if err != nil || err2 != nil || err3 != nil {
		return proc{}, false
	}
	open, shut := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[shut+1:]))
	if open < 0 || len(fields) < 20 {
		return proc{}, false
	}
	environ, errEnv := os.ReadFile(dir + "/environ")
	space, errSpace := os.Readlink(dir + "/ns/pid")
	own, _ := os.Readlink("/proc/self/ns/pid")
	return proc{
		identity: identity{pid, fields[19]},
		uid:      int(info.Sys().(*syscall.Stat_t).Uid),
		name:     string(stat[open+1 : shut]),
		args:     strings.ReplaceAll(strings.TrimRight(string(args), "\x00"), "\x00", " "),
		apart:    errSpace != nil || space != own,
		ours:     errEnv != nil || slices.Contains(strings.Split(string(environ), "\x00"), "GARITA_HOME="+w.home),
		zombie:   fields[0] == "Z",
	}, true
}

// garitas are the processes that the test's Garita consists of, sandboxes included.
func (w *watch) garitas() (found []proc) {
	for _, p := range w.processes() {
		mine := p.ours && strings.HasPrefix(p.name, "garita") || strings.HasPrefix(p.args, w.bin+"/garita-engine ")
		if !w.before[p.identity] && (p.apart || mine) {
			found = append(found, p)
		}
	}
	return found
}

// named are those whose name, or whose command line up to the first option, is name. "garita
// connect" finds bridges, "init" sandboxes.
func (w *watch) named(name string) (found []proc) {
	for _, p := range w.garitas() {
		words := strings.Fields(p.args)
		if len(words) > 0 {
			words[0] = filepath.Base(words[0])
		}
		if p.name == name || strings.HasPrefix(strings.Join(words, " ")+" ", name+" ") {
			found = append(found, p)
		}
	}
	return found
}

func (p proc) kill() { _ = syscall.Kill(p.pid, syscall.SIGKILL) } // one that is gone has been killed

// alive names the processes and mounts that are there.
func (w *watch) alive() (found []string) {
	for _, p := range w.garitas() {
		found = append(found, fmt.Sprintf("process %d (uid %d): %s: %s", p.pid, p.uid, p.name, p.args))
	}
	for _, m := range mounts() {
		if strings.HasPrefix(m, w.home) {
			found = append(found, "mount "+m)
		}
	}
	return found
}

// groupsLeft names the control groups that came with the test and are still there.
func (w *watch) groupsLeft() (found []string) {
	for _, g := range controlGroups() {
		if !w.groups[g] {
			found = append(found, "control group "+g)
		}
	}
	return found
}

// sweep ends what a failed test has left, so that the next one starts clean.
func (w *watch) sweep() {
	for _, p := range w.garitas() {
		p.kill()
	}
}

// mounts are the mount points in the test's own namespace.
func mounts() (points []string) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if fields := strings.Fields(s.Text()); len(fields) > 4 {
			points = append(points, fields[4])
		}
	}
	return points
}

// controlGroups are the user's that are named after Garita.
func controlGroups() (found []string) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || !strings.Contains(d.Name(), "garita") || strings.HasPrefix(d.Name(), "garita-check-") {
			return nil
		}
		var st syscall.Stat_t
		if syscall.Stat(path, &st) == nil && int(st.Uid) == os.Getuid() {
			found = append(found, path)
		}
		return nil
	})
	return found
}
