package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be a daemon, which is what it is when its first argument says so.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "daemon" {
		os.Exit(beDaemon())
	}
	os.Exit(m.Run())
}

// beDaemon listens, writes down what it was given, and ends on a signal.
func beDaemon() int {
	dir := os.Getenv("GARITA_HOME")
	if text, err := os.ReadFile(filepath.Join(dir, "fail")); err == nil {
		fmt.Fprint(os.Stderr, string(text))
		return 3
	}
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer l.Close()
	sid, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	cwd, _ := os.Getwd()
	facts := fmt.Sprintf("%d %d %s\n%s", os.Getpid(), sid, cwd, strings.Join(os.Environ(), "\n"))
	if err := os.WriteFile(filepath.Join(dir, "facts"), []byte(facts), 0o600); err != nil {
		return 1
	}
	if err := os.Rename(filepath.Join(dir, "facts"), filepath.Join(dir, "up")); err != nil {
		return 1
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	return 0
}

func options(t *testing.T) (Options, string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("GARITA_HOME", dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Program: self, Log: filepath.Join(dir, "state", "daemon.log"),
		Knock: func(context.Context) error {
			_, err := os.Stat(filepath.Join(dir, "up"))
			return err
		},
		Starting: func() bool { return false },
	}, dir
}

func TestEnsureStartsOne(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "hunter2")
	o, dir := options(t)
	if err := Ensure(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "up"))
	if err != nil {
		t.Fatal(err)
	}
	first, env, _ := strings.Cut(string(text), "\n")
	facts := strings.Fields(first)
	pid, err := strconv.Atoi(facts[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	})
	if facts[0] != facts[1] || facts[2] != "/" {
		t.Errorf("pid, session and folder are %v; want a session of its own in /", facts)
	}
	if strings.Contains(env, "hunter2") || !strings.Contains(env, "GARITA_HOME="+dir) {
		t.Errorf("its environment is\n%s", env)
	}
	if info, err := os.Stat(o.Log); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("log: %v %v", info, err)
	}
	if err := Ensure(t.Context(), o); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestEnsureSaysWhatTheDaemonSaid(t *testing.T) {
	o, dir := options(t)
	if err := os.WriteFile(filepath.Join(dir, "fail"), []byte("old news\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Ensure(t.Context(), o); err == nil || !strings.Contains(err.Error(), "old news") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "fail"), []byte("no newuidmap here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Ensure(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "no newuidmap here") || !strings.Contains(err.Error(), "exit status 3") || strings.Contains(err.Error(), "old news") {
		t.Errorf("got %v, want its last words and its exit status", err)
	}
	o.Program = filepath.Join(dir, "gone")
	if err := Ensure(t.Context(), o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a program: %v", err)
	}
}

func TestEnsureWaitsForOneThatStarts(t *testing.T) {
	o, dir := options(t)
	o.Program = filepath.Join(dir, "must not be started")
	o.Starting = func() bool { return true }
	go func() {
		<-time.After(100 * time.Millisecond)
		_ = os.WriteFile(filepath.Join(dir, "up"), nil, 0o600)
	}()
	if err := Ensure(t.Context(), o); err != nil {
		t.Error(err)
	}
}

func TestEnsureGivesUpWithItsCaller(t *testing.T) {
	o, _ := options(t)
	o.Starting = func() bool { return true }
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if err := Ensure(ctx, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	got := environment([]string{
		"HOME=/h", "GITHUB_TOKEN=x", "XDG_RUNTIME_DIR=/r", "LC_ALL=C", "NPM_CONFIG__AUTH=x", "LD_PRELOAD=x", "GARITA_HOME=/g", "NODE_OPTIONS=x", "odd",
		"UV_DEFAULT_INDEX=https://ana:hunter2@i/simple", "UV_PUBLISH_TOKEN=x",
	})
	if want := []string{"HOME=/h", "XDG_RUNTIME_DIR=/r", "LC_ALL=C", "GARITA_HOME=/g", "UV_DEFAULT_INDEX=https://i/simple"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLogIsPutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.log")
	if err := os.WriteFile(path, make([]byte, maxLog+1), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	now, err := os.Stat(path)
	if err != nil || now.Size() != 0 {
		t.Errorf("the log has %d bytes, %v", now.Size(), err)
	}
	if _, err := os.Stat(path + ".old"); err != nil {
		t.Error(err)
	}
}

func TestUnits(t *testing.T) {
	dir := filepath.Join("..", "..", "build", "units")
	for file, wants := range map[string][]string{
		"garita.service":      {"ExecStart=/usr/bin/garita daemon", "Delegate=yes", "Restart=on-failure"},
		"garita-tray.desktop": {"Exec=/usr/bin/garita tray", "Type=Application"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q", file, want)
			}
		}
	}
	verifier, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze on this machine")
	}
	text, err := os.ReadFile(filepath.Join(dir, "garita.service"))
	if err != nil {
		t.Fatal(err)
	}
	// The program need not be installed where this runs.
	unit := filepath.Join(t.TempDir(), "garita.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), "/usr/bin/garita", "/bin/true")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), verifier, "--user", "verify", unit)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}
