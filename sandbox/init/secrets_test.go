package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox/init/handoff"
)

// lifeline is a pair like the daemon's and init's.
func lifeline(t *testing.T) (daemon, init *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	daemon, init = os.NewFile(uintptr(fds[0]), "daemon"), os.NewFile(uintptr(fds[1]), "init")
	t.Cleanup(func() { _ = daemon.Close(); _ = init.Close() })
	return daemon, init
}

func TestSecretsComeByTheLifeline(t *testing.T) {
	daemon, init := lifeline(t)
	dir := t.TempDir()
	frame := handoff.Frame(handoff.Secret, handoff.EncodeSecrets(handoff.Secrets{
		Env:   []string{"TOKEN=value"},
		Files: []handoff.SecretFile{{Path: dir + "/a", Content: "one"}, {Path: dir + "/sub/b", Content: "two"}},
	}))
	if _, err := daemon.Write(append(frame, handoff.Frame('?', nil)...)); err != nil {
		t.Fatal(err)
	}
	env, err := await(init, []string{"PATH=/usr/bin", "TOKEN=old", "TOKENS=other"}, dir)
	if diff := cmp.Diff(env, []string{"TOKEN=value", "PATH=/usr/bin", "TOKENS=other"}); err != nil || diff != "" {
		t.Fatalf("%v\n%s", err, diff)
	}
	for file, want := range map[string]string{"a": "one", "sub/b": "two"} {
		got, err := os.ReadFile(filepath.Join(dir, file))
		info, statErr := os.Stat(filepath.Join(dir, file))
		if err != nil || statErr != nil || string(got) != want || info.Mode().Perm() != 0o400 {
			t.Errorf("%s: %q, %v, %v", file, got, err, info)
		}
	}
	for _, folder := range []string{dir, dir + "/sub"} {
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o500 {
			t.Errorf("%s: %v, %v", folder, info.Mode(), err)
		}
		_ = os.Chmod(folder, 0o700) // else the test cannot clean up
	}
	if kind, _, err := handoff.ReadFrame(init); err != nil || kind != '?' {
		t.Errorf("what comes after it: %q, %v", kind, err)
	}
}

func TestWithoutSecretsNothingStarts(t *testing.T) {
	secret := func(files ...handoff.SecretFile) []byte {
		return handoff.Frame(handoff.Secret, handoff.EncodeSecrets(handoff.Secrets{Env: []string{"T=hunter2"}, Files: files}))
	}
	dir := t.TempDir()
	for name, frame := range map[string][]byte{
		"the daemon is gone": {},
		"another frame":      handoff.Frame('?', []byte("hunter2")),
		"half a frame":       secret()[:7],
		"nonsense":           handoff.Frame(handoff.Secret, []byte("hunter2")),
		"a file elsewhere":   secret(handoff.SecretFile{Path: dir + "x/hunter2", Content: "hunter2"}),
		"a file that climbs": secret(handoff.SecretFile{Path: dir + "/../x", Content: "hunter2"}),
		"a file twice":       secret(handoff.SecretFile{Path: dir + "/x", Content: "hunter2"}, handoff.SecretFile{Path: dir + "/x", Content: "hunter2"}),
	} {
		t.Run(name, func(t *testing.T) {
			daemon, init := lifeline(t)
			if _, err := daemon.Write(frame); err != nil {
				t.Fatal(err)
			}
			_ = daemon.Close()
			env, err := await(init, nil, dir)
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, %v", env, err)
			}
		})
	}
}
