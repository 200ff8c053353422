package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// ruled is a shell whose programs are held to rules. Each line that it is given is run as a script, and
// answered by what that says, in one line.
type ruled struct {
	t  *testing.T
	e  *client.Engine
	id sandbox.InstanceID
	p  *sandboxtest.Pipes
	i  sandbox.Instance
}

func underRules(t *testing.T, rules sandbox.ExecRules, change func(*sandbox.Launch)) *ruled {
	t.Helper()
	e := shared(t)
	l := sandboxtest.Shell(`while read -r line; do out=$(eval "$line" 2>&1); out="$out [$?]"; printf '%s\n' "$out" | while read -r l; do printf '%s ' "$l"; done; echo; done`)
	l.Exec = &rules
	if change != nil {
		change(&l)
	}
	i, p, err := sandboxtest.TryStart(t, e, l)
	if err != nil {
		seen, _ := e.Sightings(context.Background(), l.ID, 0, 0)
		t.Fatalf("start: %v; seen were %+v", err, seen)
	}
	return &ruled{t, e, i.Info().ID, p, i}
}

func (h *ruled) run(line string) string { return strings.TrimSpace(h.p.Line(h.t, line)) }

func (h *ruled) allowed(line, want string) {
	h.t.Helper()
	if got := h.run(line); !strings.Contains(got, want) || !strings.HasSuffix(got, "[0]") {
		h.t.Errorf("%s: %q, want %q", line, got, want)
	}
}

func (h *ruled) denied(line string) {
	h.t.Helper()
	if got := h.run(line); strings.Contains(got, "PASSED") || strings.HasSuffix(got, "[0]") {
		h.t.Errorf("%s: %q, want it denied", line, got)
	}
}

// saw waits until something was seen.
func (h *ruled) saw(what string, is func(sandbox.Sighting) bool) sandbox.Sighting {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	var all []string
	for after := int64(0); ; {
		now, err := h.e.Sightings(ctx, h.id, after, 5*time.Second)
		if err != nil {
			h.t.Fatalf("%s was not seen: %v; seen were\n%s", what, err, strings.Join(all, "\n"))
		}
		for _, s := range now.List {
			after = max(after, s.Seq)
			all = append(all, string(s.Kind)+" "+sandbox.CommandLine(s.Path, s.Argv)+" "+s.Pattern+s.Why)
			if is(s) {
				return s
			}
		}
		if now.Over {
			h.t.Fatalf("%s was not seen; seen were\n%s", what, strings.Join(all, "\n"))
		}
	}
}

func denies(argv ...string) func(sandbox.Sighting) bool {
	return func(s sandbox.Sighting) bool { return s.Kind == sandbox.SawDenied && slices.Equal(s.Argv, argv) }
}

func TestWhatRulesAllowIsExecuted(t *testing.T) {
	h := underRules(t, sandbox.ExecRules{Allow: []string{"*"}, Deny: []string{"id*"}}, nil)
	h.allowed("/usr/bin/env true; uname -s", "Linux")
	h.denied("id && echo PASSED")
	h.denied("sh -c 'id && echo PASSED'")
	h.denied("/usr/bin/env id && echo PASSED")
	if s := h.saw("the denial", denies("id")); s.Pattern != "id*" || s.Count < 3 || s.File == "" {
		t.Errorf("got %+v", s)
	}
	h.saw("what ran", func(s sandbox.Sighting) bool {
		return s.Kind == sandbox.SawCommand && slices.Equal(s.Argv, []string{"uname", "-s"})
	})
	h.allowed("nosuch; uname", "not found")
}

func TestWhatNoRuleAllowsIsDenied(t *testing.T) {
	h := underRules(t, sandbox.ExecRules{Allow: []string{"uname -s", "cat *", "cp *", "chmod *", "ln *"}}, nil)
	h.allowed("uname -s", "Linux")
	h.denied("uname -r && echo PASSED")
	h.denied("id && echo PASSED")
	t.Run("a copy under an allowed name", func(t *testing.T) {
		h.allowed("cp /usr/bin/id $HOME/cat && chmod +x $HOME/cat", "")
		h.denied("$HOME/cat && echo PASSED")
	})
	t.Run("a link under an allowed name", func(t *testing.T) {
		h.allowed("mkdir() { :; }; ln -s /usr/bin/id $HOME/uname", "")
		h.denied("$HOME/uname -s && echo PASSED")
	})
	t.Run("a script that names its interpreter", func(t *testing.T) {
		h.run(`printf '#!/usr/bin/id\n' > $HOME/script; chmod +x $HOME/script`)
		h.denied("$HOME/script && echo PASSED")
	})
	if h.run("cat /proc/self/comm") == "" {
		t.Error("what is allowed does not run")
	}
}

func TestRulesWithNothingInThemDenyEverything(t *testing.T) {
	h := underRules(t, sandbox.ExecRules{}, nil)
	h.denied("uname && echo PASSED")
	h.denied("/bin/true && echo PASSED")
	h.allowed("echo built in", "built in")
}

func TestScriptsAreOneCommand(t *testing.T) {
	dir := folderWith(t, map[string]string{"tool": "#!/bin/sh -e\necho \"tool $0 $@\"\n"})
	if err := os.Chmod(filepath.Join(dir, "tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	h := underRules(t, sandbox.ExecRules{Allow: []string{"/data/*"}, Deny: []string{"bash*"}}, func(l *sandbox.Launch) {
		l.Mounts = []sandbox.Mount{{Host: dir, At: "/data"}}
	})
	h.allowed("/data/tool a 'b c'", "tool /data/tool a b c")
	h.denied("/bin/sh -c 'echo PASSED'")
	s := h.saw("the script", func(s sandbox.Sighting) bool { return s.Kind == sandbox.SawCommand && s.Path == "/data/tool" })
	if s.Script != "/bin/sh -e /data/tool a \"b c\"" || !s.Fixed {
		t.Errorf("got %+v", s)
	}
}

func TestAPersonIsAskedAboutACommand(t *testing.T) {
	h := underRules(t, sandbox.ExecRules{Allow: []string{"*"}, Ask: []string{"uname *"}}, nil)
	answered := uint64(0)
	for _, allow := range []bool{true, false} {
		done := make(chan string, 1)
		go func() { done <- h.run("/usr/bin/uname -s") }()
		s := h.saw("the question", func(s sandbox.Sighting) bool { return s.Kind == sandbox.SawAsked && s.Ask > answered })
		if !slices.Equal(s.Argv, []string{"/usr/bin/uname", "-s"}) || s.Dir == "" || s.Pattern != "uname *" {
			t.Errorf("got %+v", s)
		}
		answered = s.Ask
		if err := h.e.AnswerExec(t.Context(), h.id, s.Ask, allow, "you denied it"); err != nil {
			t.Fatal(err)
		}
		if got := <-done; strings.Contains(got, "Linux") != allow {
			t.Errorf("allowed %t: %q", allow, got)
		}
	}
	h.saw("the no", func(s sandbox.Sighting) bool { return s.Kind == sandbox.SawDenied && s.Why == "you denied it" })
	t.Run("who has gone is not waited for", func(t *testing.T) {
		h.run("{ /usr/bin/uname -x & } ; sleep 0.3; kill -9 $!")
		asked := h.saw("the question", func(s sandbox.Sighting) bool { return s.Kind == sandbox.SawAsked && slices.Contains(s.Argv, "-x") })
		h.saw("its end", func(s sandbox.Sighting) bool { return s.Kind == sandbox.SawGone && s.Ask == asked.Ask })
	})
}

// racing executes a program again and again while another process changes its path in memory that both
// share: it is "true" for a moment, and "touch" for the next. A touch that runs leaves a mark.
const racing = `
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
marks = os.path.expanduser("~/marks")
os.mkdir(marks)
m = mmap.mmap(-1, 4096)
base = ctypes.addressof(ctypes.c_char.from_buffer(m))
good, bad = b"/usr/bin/true\0", b"/usr/bin/touch\0"
m[64:69] = b"true\0"
m[0:len(good)] = good
flipper = os.fork()
if flipper == 0:
    while True:
        m[0:len(bad)] = bad
        m[0:len(good)] = good
ran = 0
for n in range(100):
    pid = os.fork()
    if pid == 0:
        mark = ("%s/%d" % (marks, n)).encode() + b"\0"
        m[128:128+len(mark)] = mark
        libc.execve(ctypes.c_void_p(base), (ctypes.c_void_p * 3)(base + 64, base + 128, None), None)
        os._exit(99)
    _, status = os.waitpid(pid, 0)
    ran += status == 0
os.kill(flipper, 9)
print("ran %d, marks %d" % (ran, len(os.listdir(marks))))
`

// What is decided about is what is executed, however fast a program changes its words: of the program that
// is denied, not one instruction is. Where it is not denied, it leaves its marks.
func TestACommandThatChangesWhileItIsDecidedAbout(t *testing.T) {
	dir := folderWith(t, map[string]string{"race.py": racing})
	race := func(t *testing.T, rules sandbox.ExecRules) (h *ruled, ran, marks int) {
		h = underRules(t, rules, func(l *sandbox.Launch) { l.Mounts = []sandbox.Mount{{Host: dir, At: "/data"}} })
		got := h.run("/usr/bin/python3 /data/race.py")
		if _, err := fmt.Sscanf(got, "ran %d, marks %d [0]", &ran, &marks); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		t.Log(got)
		return h, ran, marks
	}
	t.Run("denied", func(t *testing.T) {
		h, _, marks := race(t, sandbox.ExecRules{Allow: []string{"/usr/bin/python3*", "/usr/bin/true *"}, Deny: []string{"touch*"}})
		if marks > 0 {
			t.Errorf("what is denied left %d marks", marks)
		}
		h.saw("the other program", func(s sandbox.Sighting) bool { return s.Kind == sandbox.SawDenied })
	})
	t.Run("allowed", func(t *testing.T) {
		if _, ran, marks := race(t, sandbox.ExecRules{Allow: []string{"*"}}); marks == 0 || ran == 0 {
			t.Errorf("%d ran, and left %d marks", ran, marks)
		}
	})
}

func TestFilesInMemoryAreNotExecuted(t *testing.T) {
	const script = `
import os, sys
fd = os.memfd_create("git")
os.write(fd, open("/usr/bin/id", "rb").read())
pid = os.fork()
if pid == 0:
    try:
        os.execve(fd if sys.argv[1] == "fd" else "/proc/self/fd/%d" % fd, ["git"], {})
    except OSError as e:
        print(e); sys.stdout.flush(); os._exit(1)
print("PASSED" if os.waitpid(pid, 0)[1] == 0 else "refused")
`
	dir := folderWith(t, map[string]string{"memory.py": script})
	mount := func(l *sandbox.Launch) { l.Mounts = []sandbox.Mount{{Host: dir, At: "/data"}} }
	for name, c := range map[string]struct {
		rules sandbox.ExecRules
		want  string
	}{
		"by name":              {sandbox.ExecRules{Allow: []string{"python3 *", "git *"}}, "refused"},
		"anything":             {sandbox.ExecRules{Allow: []string{"*"}}, "PASSED"},
		"anything but by name": {sandbox.ExecRules{Allow: []string{"*"}, Deny: []string{"memfd:*"}}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			h := underRules(t, c.rules, mount)
			for _, how := range []string{"fd", "proc"} {
				if got := h.run("/usr/bin/python3 /data/memory.py " + how); !strings.Contains(got, c.want) {
					t.Errorf("%s: %q, want %s", how, got, c.want)
				}
			}
		})
	}
}

// Threads execute programs, too, and programs that are traced are not.
func TestThreadsExecute(t *testing.T) {
	const script = `
import os, sys, threading
def run(words):
    os.execv(words[0], words)
if sys.argv[1] == "thread":
    t = threading.Thread(target=run, args=(sys.argv[2:],))
    t.start(); t.join()
`
	dir := folderWith(t, map[string]string{"thread.py": script})
	h := underRules(t, sandbox.ExecRules{Allow: []string{"python3 *", "uname -s"}}, func(l *sandbox.Launch) {
		l.Mounts = []sandbox.Mount{{Host: dir, At: "/data"}}
	})
	h.allowed("python3 /data/thread.py thread /usr/bin/uname -s", "Linux")
	got := h.run("python3 /data/thread.py thread /usr/bin/uname -r")
	if !strings.Contains(got, "Permission") {
		t.Errorf("got %q", got)
	}
}

// Many programs at a time are all let run, and the sandbox ends with some under way.
func TestManyProgramsAtATime(t *testing.T) {
	h := underRules(t, sandbox.ExecRules{Allow: []string{"true", "sh *", "uname"}}, nil)
	h.allowed(`for n in 1 2 3 4 5 6 7 8; do sh -c 'n=0; while [ $n -lt 20 ]; do /bin/true; n=$((n+1)); done' & done; wait; uname`, "Linux")
	_, _ = h.p.In.WriteString("for n in 1 2 3 4; do sh -c 'while :; do /bin/true; done' & done; wait\n")
	h.saw("the last", func(s sandbox.Sighting) bool { return s.Kind == sandbox.SawCommand && s.Count > 170 })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.i.Stop(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if s, err := h.e.Sweep(ctx); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}
