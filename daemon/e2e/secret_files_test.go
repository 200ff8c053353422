package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// secretHome is a Garita whose secrets are looked for everywhere they must not be.
type secretHome struct {
	t      *testing.T
	dir    string
	garita string
	env    []string
	values []string // that must be nowhere
}

func newSecretHome(t *testing.T) *secretHome {
	t.Helper()
	sandboxtest.Need(t, "rootless-containerd")
	bin, err := filepath.Abs(sandboxtest.Bin())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	h := &secretHome{t: t, dir: dir, garita: filepath.Join(bin, "garita")}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "DBUS_SESSION_BUS_ADDRESS=") && !strings.HasPrefix(v, "GARITA_HOME=") {
			h.env = append(h.env, v)
		}
	}
	h.env = append(h.env, "GARITA_HOME="+dir, "DBUS_SESSION_BUS_ADDRESS=unix:path="+filepath.Join(dir, "no-bus"), "GOTRACEBACK=all")
	return h
}

// daemon starts one, and returns what ends it by a signal and waits for that.
func (h *secretHome) daemon() (end func(syscall.Signal)) {
	h.t.Helper()
	log, err := os.OpenFile(filepath.Join(h.dir, "daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.CommandContext(h.t.Context(), h.garita, "daemon")
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, log, log
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		if _, err := h.run("", "status"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			h.t.Fatal("the daemon does not come")
		}
	}
	return func(s syscall.Signal) {
		_ = cmd.Process.Signal(s)
		_ = cmd.Wait()
	}
}

func (h *secretHome) run(input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.garita, args...)
	cmd.Env, cmd.Stdin = h.env, strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (h *secretHome) must(input string, args ...string) string {
	h.t.Helper()
	out, err := h.run(input, args...)
	if err != nil {
		h.t.Fatalf("garita %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	h.clean("garita "+strings.Join(args, " "), []byte(out))
	return out
}

// clean says that no value is in some bytes, in any usual writing.
func (h *secretHome) clean(where string, b []byte) {
	h.t.Helper()
	for _, v := range h.values {
		for _, form := range []string{v, hex.EncodeToString([]byte(v)), base64.StdEncoding.EncodeToString([]byte(v)), fmt.Sprintf("%v", []byte(v)), fmt.Sprintf("%q", v)} {
			if bytes.Contains(b, []byte(form)) {
				h.t.Errorf("%s holds a value", where)
			}
		}
	}
}

// files looks through everything that Garita has written.
func (h *secretHome) files() {
	h.t.Helper()
	seen := 0
	err := filepath.WalkDir(h.dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return nil // a sandbox's own, or gone meanwhile
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		seen++
		h.clean(strings.TrimPrefix(path, h.dir), b)
		return err
	})
	if err != nil || seen < 5 {
		h.t.Errorf("%d files, %v", seen, err)
	}
}

// processes looks through what every process shows of itself to the user's others.
func (h *secretHome) processes() {
	h.t.Helper()
	for _, what := range []string{"cmdline", "environ"} {
		paths, err := filepath.Glob("/proc/[0-9]*/" + what)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, path := range paths {
			if b, err := os.ReadFile(path); err == nil {
				h.clean(path, b)
			}
		}
	}
}

func TestNoSecretIsLeftAnywhere(t *testing.T) {
	h := newSecretHome(t)
	const passphrase, first, second = "correct horse battery", "ghp_0000firstfirstfirstfirst00000000", "ghp_0000secondsecondsecondsecond0000"
	h.values = []string{passphrase, first, second}
	kill := h.daemon()
	h.must(passphrase+"\n", "secret", "unlock", "--create")
	h.must(first+"\n", "secret", "set", "gh-token", "--expires", "30d")

	// While it is being set, the value is on nobody's command line.
	set := exec.CommandContext(t.Context(), h.garita, "secret", "set", "gh-token")
	set.Env = h.env
	in, err := set.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = in.Write([]byte(second))
	h.processes()
	_ = in.Close()
	if err := set.Wait(); err != nil {
		t.Fatal(err)
	}

	// What is refused is not shown either.
	for _, args := range [][]string{{"secret", "set", "NOT A NAME"}, {"secret", "set", "x", "--expires", "never"}, {"secret", "set", "x", "--from-command"}} {
		out, err := h.run(second, args...)
		if err == nil {
			t.Errorf("%v: taken", args)
		}
		h.clean(strings.Join(args, " "), []byte(out))
	}
	h.must("", "secret", "list", "--json")
	h.must("", "audit", "tail", "-n", "100")
	h.must("", "status", "--json")
	h.processes()
	h.files()
	kill(syscall.SIGKILL)
	h.files()

	// Another life, which holds the key and the value in its memory, and crashes.
	kill = h.daemon()
	if out, err := h.run("wrong "+passphrase, "secret", "unlock"); err == nil || !strings.Contains(out, "passphrase is wrong") {
		t.Errorf("a wrong passphrase: %v\n%s", err, out)
	}
	h.must(passphrase+"\n", "secret", "unlock")
	h.must(second+"\n", "secret", "set", "another")
	kill(syscall.SIGQUIT)
	log, err := os.ReadFile(filepath.Join(h.dir, "daemon.log"))
	if err != nil || !bytes.Contains(log, []byte("goroutine ")) {
		t.Errorf("it did not crash (%v)", err)
	}
	h.files()
}
