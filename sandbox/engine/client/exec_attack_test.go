package client_test

import (
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox"
)

// escapes are ways by which a program could be executed that no rule allows, each for python3.
var escapes = map[string]string{
	"the loader":             `os.execv("/lib64/ld-linux-x86-64.so.2", ["/lib64/ld-linux-x86-64.so.2", "/usr/bin/id"])`,
	"the loader as python":   `os.execv("/lib64/ld-linux-x86-64.so.2", ["python3", "/usr/bin/id"])`,
	"env -S":                 `os.execv("/usr/bin/env", ["env", "-S", "id"])`,
	"another argv[0]":        `os.execv("/usr/bin/id", ["python3", "x"])`,
	"a file that is open":    `os.execve(os.open("/usr/bin/id", os.O_RDONLY), ["python3"], {})`,
	"a path of one's own":    `fd = os.open("/usr/bin/id", os.O_RDONLY); os.execv("/proc/self/fd/%d" % fd, ["python3"])`,
	"a path of one's number": `fd = os.open("/usr/bin/id", os.O_RDONLY); os.execv("/proc/%d/fd/%d" % (os.getpid(), fd), ["python3"])`,
	"a path of the thread":   `fd = os.open("/usr/bin/id", os.O_RDONLY); os.execv("/proc/thread-self/fd/%d" % fd, ["python3"])`,
	"a root of one's own":    `os.execv("/proc/self/root/usr/bin/id", ["id"])`,
	"a folder that is open":  `os.chdir("/usr/bin"); os.execv("id", ["python3"])`,
	"a folder of one's own":  `os.chdir("/usr/bin"); os.execv("/proc/self/cwd/id", ["id"])`,
	"dots":                   `os.execv("/usr/bin/../bin/./id", ["id"])`,
	"blanks in a name":       `os.symlink("/usr/bin/id", "/tmp/python3 x"); os.execv("/tmp/python3 x", ["python3 x"])`,
	"a script of a script":   `open("/tmp/a","w").write("#!/tmp/b\n"); open("/tmp/b","w").write("#!/usr/bin/id\n"); os.chmod("/tmp/a",0o755); os.chmod("/tmp/b",0o755); os.execv("/tmp/a", ["python3"])`,
	"a script at python's":   `open("/tmp/python3","w").write("#!/usr/bin/id\n"); os.chmod("/tmp/python3",0o755); os.execv("/tmp/python3", ["python3"])`,
	"a long line":            `os.execv("/usr/bin/id", ["python3"] + ["-u"] * 9000)`,
	"long words":             `os.execv("/usr/bin/id", ["python3"] + ["u" * 100000] * 8)`,
	"vfork":                  `import subprocess; subprocess.run(["/usr/bin/id"], close_fds=False, check=True)`,
	"spawn":                  `p = os.posix_spawn("/usr/bin/id", ["python3"], {}); sys.exit(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))`,
	"a thread":               `import threading; threading.Thread(target=lambda: os.execv("/usr/bin/id", ["python3"])).start()`,
	"another root": `import ctypes, shutil
l = ctypes.CDLL(None)
l.unshare(0x10000000)
os.makedirs("/tmp/r/usr/bin", exist_ok=True)
shutil.copy("/usr/bin/id", "/tmp/r/usr/bin/python3")
os.chroot("/tmp/r")
os.execv("/usr/bin/python3", ["python3"])`,
	"a mount of one's own": `import ctypes
l = ctypes.CDLL(None)
if l.unshare(0x10020000) or l.mount(b"/usr/bin/id", b"/usr/bin/python3", None, 4096, None): sys.exit(8)
os.execv("/usr/bin/python3", ["python3"])`,
	"a chain of the loader":   `os.execve("/usr/bin/python3", ["id"], {"LD_PRELOAD": "/x"})`,
	"execveat by another way": `import ctypes; l = ctypes.CDLL(None); a = (ctypes.c_char_p * 2)(b"python3", None); e = (ctypes.c_char_p * 1)(None); d = os.open("/usr/bin", os.O_PATH); l.syscall(322, d, b"id", a, e, 0)`,
	"execveat, empty path":    `import ctypes; l = ctypes.CDLL(None); a = (ctypes.c_char_p * 2)(b"python3", None); e = (ctypes.c_char_p * 1)(None); d = os.open("/usr/bin/id", os.O_PATH); l.syscall(322, d, b"", a, e, 0x1000)`,
	"execveat, null path":     `import ctypes; l = ctypes.CDLL(None); a = (ctypes.c_char_p * 2)(b"python3", None); e = (ctypes.c_char_p * 1)(None); d = os.open("/usr/bin/id", os.O_PATH); l.syscall(322, d, None, a, e, 0x1000)`,
	"x32":                     `import ctypes; l = ctypes.CDLL(None); a = (ctypes.c_char_p * 2)(b"python3", None); e = (ctypes.c_char_p * 1)(None); l.syscall(0x40000000 + 520, b"/usr/bin/id", a, e)`,
	"no arguments at all":     `import ctypes; l = ctypes.CDLL(None); l.syscall(59, b"/usr/bin/id", None, None)`,
	"a tracer of a child": `import ctypes
l = ctypes.CDLL(None)
p = os.fork()
if p == 0:
    l.ptrace(0, 0, 0, 0)
    os.execv("/usr/bin/id", ["python3"])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) & 0xff)`,
}

func TestAttacksOnRulesForCommands(t *testing.T) {
	files := map[string]string{}
	for name, code := range escapes {
		files[fileOf(name)] = "import os, sys\ntry:\n    " + strings.ReplaceAll(code, "\n", "\n    ") + "\nexcept OSError as e:\n    print(e)\nsys.exit(9)\n"
	}
	dir := folderWith(t, files)
	h := underRules(t, sandbox.ExecRules{Allow: []string{"python3 *"}}, func(l *sandbox.Launch) {
		l.Mounts = append(l.Mounts, sandbox.Mount{Host: dir, At: "/data"})
	})
	h.allowed("python3 -c 'print(1)'", "1")
	for name := range escapes {
		t.Run(name, func(t *testing.T) {
			got := h.run("python3 /data/" + fileOf(name))
			t.Log(got)
			if strings.Contains(got, "uid=") || strings.HasSuffix(got, "[0]") {
				t.Errorf("executed: %s", got)
			}
		})
	}
}

func fileOf(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name) + ".py"
}
