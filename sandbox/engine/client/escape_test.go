package client_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

const precious = "precious-secret"

// prison is the hostile server behind the walls, with a workspace, and things of the host's that
// it wants.
type prison struct {
	t      *testing.T
	engine *client.Engine
	folder string // its own, in snapshot mode
	id     sandbox.WorkspaceID
	i      sandbox.Instance
	p      *sandboxtest.Pipes
}

func imprison(t *testing.T, change func(l *sandbox.Launch)) *prison {
	t.Helper()
	e := startEngine(t)
	x := &prison{t: t, engine: e, folder: realDir(t), id: sandboxtest.WorkspaceID()}
	x.put(filepath.Join(x.folder, "a.txt"), "hello")
	l := sandboxtest.Hostile(t)
	l.Folders = []sandbox.Folder{{Host: x.folder, Mode: sandbox.Snapshot, Workspace: x.id}}
	if change != nil {
		change(&l)
	}
	x.i, x.p = sandboxtest.Start(t, e, l)
	return x
}

func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (x *prison) put(path, text string) {
	x.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		x.t.Fatal(err)
	}
}

func (x *prison) tool(name string, arguments map[string]any) (string, bool) {
	x.t.Helper()
	return sandboxtest.Tool(x.t, x.p, name, arguments)
}

// denied fails the test when the attempt was permitted, or gave the secret away in any case.
func (x *prison) denied(name string, arguments map[string]any) {
	x.t.Helper()
	text, refused := x.tool(name, arguments)
	if !refused || strings.Contains(text, precious) {
		x.t.Errorf("%s %v was permitted: %.300q", name, arguments, text)
	}
}

func (x *prison) allowed(name string, arguments map[string]any) string {
	x.t.Helper()
	text, refused := x.tool(name, arguments)
	if refused {
		x.t.Errorf("%s %v was refused: %s", name, arguments, text)
	}
	return text
}

func TestEscapeByReading(t *testing.T) { t.Run("attack_H41", escapeByReading) }

func escapeByReading(t *testing.T) {
	outside := realDir(t)
	t.Setenv("GARITA_TEST_PRECIOUS", precious)
	x := imprison(t, nil)
	x.put(filepath.Join(outside, "secret"), precious)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	inHome := filepath.Join(home, ".garita-escape-test")
	x.put(inHome, precious)
	t.Cleanup(func() { _ = os.Remove(inHome) })

	if got := x.allowed("read_path", map[string]any{"path": x.folder + "/a.txt"}); got != "hello" {
		t.Errorf("its own file reads %q", got)
	}
	self := fmt.Sprint(os.Getpid())
	for _, path := range []string{
		outside + "/secret", inHome, home + "/.ssh", home + "/.ssh/id_rsa", home + "/.bash_history",
		x.folder + "/../" + filepath.Base(outside) + "/secret",
		"/proc/1/root" + outside + "/secret", "/proc/self/root" + outside + "/secret",
		"/proc/1/environ", "/proc/1/cwd", "/proc/1/fd", "/proc/1/mem", "/proc/1/maps",
		"/proc/" + self + "/environ", "/proc/" + self + "/root", "/proc/kcore", "/proc/keys",
		"/run/garita", "/run/garita/ws", "/run/containerd", "/run/user", "/var/run/docker.sock", "/var/lib", "/root",
		"/etc/shadow", "/etc/ssh/moduli", "/etc/ssh/sshd_config", "/etc/ssh/ssh_config.d", "/etc/ssh/ssh_host_ed25519_key", "/etc/machine-id", "/sys/kernel/security", "/sys/firmware", "/boot", "/mnt", "/media",
	} {
		// Some are covered by an empty file or directory instead.
		if text, refused := x.tool("proc", map[string]any{"path": path}); !refused && strings.TrimSpace(text) != "" {
			t.Errorf("%s can be read: %.300q", path, text)
		}
	}
	for name, text := range map[string]string{
		"environ":            x.allowed("environ", nil),
		"/proc/self/environ": x.allowed("read_path", map[string]any{"path": "/proc/self/environ"}),
	} {
		if strings.Contains(text, precious) || strings.Contains(text, "GARITA") {
			t.Errorf("%s has the host's variables: %q", name, text)
		}
	}
	for dir, want := range map[string]string{
		"/home": "d user", "/home/user": "", "/run": "", "/srv": "- hostile", "/workspace": "d project", "/.garita": "- init\n- socket",
		"/dev": "L fd\n- full\n- null\nL ptmx\nd pts\n- random\nd shm\nL stderr\nL stdin\nL stdout\n- tty\n- urandom\n- zero",
	} {
		if got := x.allowed("list_dir", map[string]any{"path": dir}); got != want {
			t.Errorf("%s holds %q, want %q", dir, got, want)
		}
	}
	mounts := x.allowed("read_path", map[string]any{"path": "/proc/self/mountinfo"})
	if strings.Contains(mounts, "/workspaces/") || strings.Contains(mounts, "upperdir=/home") {
		t.Errorf("mountinfo tells where workspaces lie:\n%s", mounts)
	}
}

// What one agent wrote is not another's to read, nor is where Garita keeps it.
func TestEscapeIntoAnotherWorkspace(t *testing.T) {
	x := imprison(t, nil)
	other := realDir(t)
	l := sandboxtest.Hostile(t)
	l.Group, l.Folders = "other", []sandbox.Folder{{Host: other, Mode: sandbox.Snapshot, Workspace: sandboxtest.WorkspaceID()}}
	_, p := sandboxtest.Start(t, x.engine, l)
	if text, refused := sandboxtest.Tool(t, p, "write_path", map[string]any{"path": other + "/secret", "content": precious}); refused {
		t.Fatal(text)
	}
	for _, path := range []string{
		other + "/secret", other,
		"/run/garita/ws/" + string(l.Folders[0].Workspace) + "/0/secret",
		"/workspace/project/../../" + other + "/secret",
	} {
		x.denied("proc", map[string]any{"path": path})
	}
	pids := x.allowed("list_dir", map[string]any{"path": "/proc"})
	count := 0
	for _, line := range strings.Split(pids, "\n") {
		if name := strings.TrimPrefix(line, "d "); name != "" && strings.Trim(name, "0123456789") == "" {
			count++
		}
	}
	if count != 2 {
		t.Errorf("%d processes are visible, want garita-init and itself", count)
	}
}

func TestEscapeByLinks(t *testing.T) {
	outside := realDir(t)
	x := imprison(t, func(l *sandbox.Launch) {
		l.Folders = append(l.Folders, sandbox.Folder{Host: outsideReadOnly(t), Mode: sandbox.ReadOnly})
	})
	x.put(outside+"/secret", precious)
	for i, target := range []string{
		outside + "/secret", "../" + filepath.Base(outside) + "/secret", "/proc/1/root" + outside + "/secret",
		"/proc/self/cwd/../../../.." + outside + "/secret",
	} {
		link := fmt.Sprintf("%s/link%d", x.folder, i)
		x.allowed("symlink", map[string]any{"target": target, "link": link})
		x.denied("read_path", map[string]any{"path": link})
		x.tool("write_path", map[string]any{"path": link, "content": "overwritten"})
	}
	if got, _ := os.ReadFile(outside + "/secret"); string(got) != precious {
		t.Errorf("the host's file became %q", got)
	}
	for _, target := range []string{"/usr/bin/env", "/etc/passwd", "/.garita/init", "/srv/hostile", "/proc/self/exe"} {
		x.denied("hardlink", map[string]any{"target": target, "link": x.folder + "/hard"})
	}
	x.allowed("hardlink", map[string]any{"target": x.folder + "/a.txt", "link": x.folder + "/inside"})

	// Nothing of it reaches the host by itself, and applied, no link that leads out does.
	entries, _ := os.ReadDir(x.folder)
	if len(entries) != 1 {
		t.Errorf("the host's folder holds %v", entries)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, left, err := x.engine.ApplyWorkspace(ctx, x.id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) < 4 {
		t.Errorf("only %v were left out", left)
	}
	entries, _ = os.ReadDir(x.folder)
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			t.Errorf("%s reached the host", e.Name())
		}
	}
}

func outsideReadOnly(t *testing.T) string { return realDir(t) }

func TestExistingHardLinksAndSocketsAreNamed(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	folder := realDir(t)
	outside := realDir(t)
	if err := os.WriteFile(outside+"/elsewhere", []byte(precious), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(outside+"/elsewhere", folder+"/linked"); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", folder+"/agent.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	x := imprison(t, func(l *sandbox.Launch) {
		l.Folders = append(l.Folders, sandbox.Folder{Host: folder, Mode: sandbox.ReadOnly})
	})
	var told string
	eventually(t, 5*time.Second, "the notices name the hard link and the socket", func() bool {
		told = strings.Join(x.i.Info().Notices, "\n")
		return strings.Contains(told, "linked") && strings.Contains(told, "agent.sock")
	})
}

func TestEscapeByNetwork(t *testing.T) {
	x := imprison(t, nil)
	var addresses []string
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0"} {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			continue // no IPv6 here
		}
		defer l.Close()
		go answer(l)
		_, port, _ := net.SplitHostPort(l.Addr().String())
		addresses = append(addresses, l.Addr().String(), "127.0.0.1:"+port)
		for _, ip := range hostIPs(t) {
			addresses = append(addresses, net.JoinHostPort(ip, port))
		}
	}
	for _, a := range append(addresses, "1.1.1.1:443", "8.8.8.8:53", "169.254.169.254:80", "example.com:80") {
		x.denied("connect", map[string]any{"network": "tcp", "address": a})
	}
	for _, a := range []string{"8.8.8.8:53", "169.254.169.254:123"} {
		x.denied("connect", map[string]any{"network": "udp", "address": a})
	}
}

func answer(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Write([]byte(precious))
		_ = c.Close()
	}
}

func hostIPs(t *testing.T) []string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var ips []string
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
			ips = append(ips, n.IP.String())
		}
	}
	return ips
}

func TestEscapeByUnixSockets(t *testing.T) {
	run := realDir(t)
	abstract := fmt.Sprintf("@garita-escape-%d", os.Getpid())
	x := imprison(t, nil)
	inFolder := x.folder + "/late.sock"
	for _, address := range []string{run + "/garita.sock", abstract, inFolder} {
		l, err := net.Listen("unix", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go answer(l)
		x.denied("connect", map[string]any{"network": "unix", "address": address})
	}
	for _, address := range []string{
		"/.garita/socket", "/run/containerd/containerd.sock", "/run/garita/i", "/run/dbus/system_bus_socket",
		fmt.Sprintf("/run/user/%d/bus", os.Getuid()), "/var/run/docker.sock", "@/tmp/.X11-unix/X0", "/tmp/.X11-unix/X0",
	} {
		x.denied("connect", map[string]any{"network": "unix", "address": address})
	}
}

// harmless are attempts that the kernel permits and that lead nowhere; each says why.
var harmless = map[string]string{}

func TestEscapeByTheKernel(t *testing.T) {
	x := imprison(t, nil)
	list := x.attempts()
	if len(list) < 40 {
		t.Fatalf("only %d attempts are known", len(list))
	}
	for _, what := range list {
		t.Run(what, func(t *testing.T) {
			x.t = t
			text, refused := x.tool("try", map[string]any{"what": what})
			if !refused && harmless[what] == "" {
				t.Errorf("permitted: %s", text)
			}
			t.Log(text)
		})
	}
	x.t = t
	for name, arguments := range map[string]map[string]any{
		"setuid": nil,
		"mount":  {"path": "/tmp"},
		"mknod":  {"path": x.folder + "/disk"},
		"ptrace": {"pid": 1},
	} {
		x.denied(name, arguments)
	}
	inside := x.allowed("inside", nil)
	for _, want := range []string{"uid 1000 euid 1000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(inside, want) {
			t.Errorf("inside there is no %q:\n%s", want, inside)
		}
	}
}

// attempts reads the names from the tool's own description.
func (x *prison) attempts() []string {
	x.t.Helper()
	line := x.p.Line(x.t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	_, names, found := strings.Cut(line, "Try a named way out: ")
	if !found {
		x.t.Fatal("no attempts in the list of tools")
	}
	names, _, _ = strings.Cut(names, `"`)
	return strings.Fields(names)
}

// Whatever a server leaves behind ends with it.
func TestEscapeByStaying(t *testing.T) {
	x := imprison(t, nil)
	x.allowed("ignore_term", nil)
	for range 3 {
		x.allowed("spawn_orphan", nil)
	}
	pids := descendants(t, hostPID(t, x.engine, x.i.Info().PID))
	if len(pids) < 5 {
		t.Fatalf("only %d processes: %v", len(pids), pids)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := x.i.Stop(ctx, 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if left := alive(pids); len(left) > 0 {
		t.Errorf("still alive: %v", left)
	}
	sweepsToZero(t, x.engine)
}

// A bomb is stopped where the limit is in force, and the engine goes on in any case.
func TestEscapeByUsingUp(t *testing.T) { t.Run("attack_H45", escapeByUsingUp) }

func escapeByUsingUp(t *testing.T) {
	x := imprison(t, func(l *sandbox.Launch) { l.Limits = sandbox.Limits{PIDs: 64, Memory: 256 << 20} })
	inForce := map[string]bool{}
	for _, l := range x.i.Info().Limits {
		inForce[l.Name] = true
	}
	text, refused := x.tool("fork_bomb", map[string]any{"n": 200})
	if inForce["pids"] && !refused {
		t.Errorf("the fork bomb went off: %s", text)
	}
	// A second sandbox answers as if nothing had happened.
	l := sandboxtest.Hostile(t)
	_, p := sandboxtest.Start(t, x.engine, l)
	if got, _ := sandboxtest.Tool(t, p, "get_sum", map[string]any{"a": 1, "b": 2}); got != "3" {
		t.Errorf("got %q", got)
	}
}

// A tool that writes although it says that it reads is found out; an honest one is not.
func TestEscapeByAReportThatWrites(t *testing.T) {
	x := imprison(t, nil)
	changed := func(tool string, arguments map[string]any) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		mark, err := x.engine.MarkWorkspace(ctx, x.id)
		if err != nil {
			t.Fatal(err)
		}
		x.allowed(tool, arguments)
		changes, err := x.engine.WorkspaceSince(ctx, x.id, mark)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, c := range changes {
			all = append(all, string(c.Kind)+" "+c.Path)
		}
		return strings.Join(all, ", ")
	}
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"get_sum", map[string]any{"a": 1, "b": 2}, ""},
		{"read_path", map[string]any{"path": x.folder + "/a.txt"}, ""},
		{"list_dir", map[string]any{"path": x.folder}, ""},
		{"get_report", map[string]any{"path": x.folder}, "added .report"},
		{"get_report", map[string]any{"path": x.folder}, "modified .report"},
		{"write_path", map[string]any{"path": x.folder + "/a.txt", "content": "HELLO"}, "modified a.txt"},
		{"delete_path", map[string]any{"path": x.folder + "/.report"}, "deleted .report"},
	} {
		if got := changed(c.tool, c.arguments); got != c.want {
			t.Errorf("%s: changed %q, want %q", c.tool, got, c.want)
		}
	}
}

// A server that answers first and writes later is found out at the next look.
func TestEscapeByWritingAfterTheAnswer(t *testing.T) {
	x := imprison(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	start, err := x.engine.MarkWorkspace(ctx, x.id)
	if err != nil {
		t.Fatal(err)
	}
	x.allowed("get_late_report", map[string]any{"path": x.folder, "ms": 300})
	changes, end, err := x.engine.AdvanceWorkspace(ctx, x.id, start)
	if err != nil || len(changes) > 0 {
		t.Fatalf("right after the call: %v, %v", changes, err)
	}
	x.allowed("sleep", map[string]any{"ms": 600})
	changes, _, err = x.engine.AdvanceWorkspace(ctx, x.id, end)
	if err != nil || len(changes) != 1 || changes[0].Path != ".late-report" {
		t.Errorf("between the calls: %v, %v", changes, err)
	}
}

// The effects check of a call that touched nothing, as the daemon asks it.
func BenchmarkEffectsCheck(b *testing.B) {
	e := startEngine(b)
	folder := b.TempDir()
	l := sandboxtest.Shell("exec cat")
	id := sandboxtest.WorkspaceID()
	l.Folders = []sandbox.Folder{{Host: folder, Mode: sandbox.Snapshot, Workspace: id}}
	sandboxtest.Start(b, e, l)
	ctx := context.Background()
	for b.Loop() {
		mark, err := e.MarkWorkspace(ctx, id)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := e.WorkspaceSince(ctx, id, mark); err != nil {
			b.Fatal(err)
		}
	}
}

// Output without end or measure neither blocks nor swells anything of ours.
func TestEscapeByOutput(t *testing.T) {
	x := imprison(t, nil)
	x.allowed("flood_stderr", map[string]any{"bytes": 8 << 20})
	if got := x.allowed("huge_output", map[string]any{"bytes": 4 << 20}); len(got) != 4<<20 {
		t.Errorf("got %d bytes", len(got))
	}
}
