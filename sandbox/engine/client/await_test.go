package client_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/init/handoff"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// sending starts sandboxes to which the daemon's end of the lifeline sends a frame.
type sending struct {
	sandbox.Runtime
	t     testing.TB
	frame []byte // nil lets go of the lifeline instead
}

func (s sending) Start(ctx context.Context, l sandbox.Launch, io sandbox.Stdio) (sandbox.Instance, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	near, far := os.NewFile(uintptr(fds[0]), "lifeline"), os.NewFile(uintptr(fds[1]), "lifeline")
	defer far.Close()
	if s.frame == nil {
		_ = near.Close()
	} else {
		s.t.Cleanup(func() { _ = near.Close() })
		go func() { _, _ = near.Write(s.frame) }()
	}
	io.Lifeline = far
	return s.Runtime.Start(ctx, l, io)
}

func secretFrame(s handoff.Secrets) []byte {
	return handoff.Frame(handoff.Secret, handoff.EncodeSecrets(s))
}

// TestSecretsPassTheEngineBy: the server has them from its first instruction, and nobody else does.
func TestSecretsPassTheEngineBy(t *testing.T) {
	e := shared(t)
	const value = "v4lu3-that-nobody-else-has"
	l := sandboxtest.Shell(`while read -r line; do eval "$line" 2>&1 | tr '\n' ' '; echo; done`)
	l.Await, l.Env = true, map[string]string{"PLAIN": "plain"}
	large := strings.Repeat("x", 1<<20) + value // more than a socket takes at once
	_, pipes := sandboxtest.Start(t, sending{e, t, secretFrame(handoff.Secrets{
		Env:   []string{"TOKEN=" + value},
		Files: []handoff.SecretFile{{Path: "/run/secrets/sub/key", Content: value}, {Path: "/run/secrets/large", Content: large}},
	})}, l)
	run := func(line string) string { return strings.TrimSpace(pipes.Line(t, line)) }

	for line, want := range map[string]string{
		`echo "$TOKEN $PLAIN"`:      value + " plain",
		`cat /run/secrets/sub/key`:  value,
		`wc -c </run/secrets/large`: fmt.Sprint(len(large)),
		`stat -c '%a %u' /run/secrets /run/secrets/sub /run/secrets/sub/key`:                      "500 1000 500 1000 400 1000",
		`echo x 2>/dev/null >/run/secrets/new || echo refused`:                                    "refused",
		`mkdir /run/secrets/sub/new 2>/dev/null || echo refused`:                                  "refused",
		`grep -c secrets /proc/self/mountinfo; grep secrets /proc/self/mountinfo | grep -c tmpfs`: "1 1",
		`tr '\0' ' ' </proc/1/environ 2>/dev/null || echo refused`:                                "refused",
		`tr '\0' ' ' </proc/1/cmdline`:                                                            "/.garita/init",
	} {
		if got := run(line); got != want && !(strings.Contains(line, "environ") && !strings.Contains(got, value)) {
			t.Errorf("%s: got %.100q, want %q", line, got, want)
		}
	}
	if where := held(t, e, value); len(where) > 0 {
		t.Errorf("somebody else has it: %v", where)
	}
}

// held says where somebody who is not the server has a value: a command line of this machine, or a file
// that the engine keeps, the sandboxes' specs among them.
func held(t *testing.T, e *client.Engine, value string) (where []string) {
	t.Helper()
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range lines {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), value) {
			where = append(where, f)
		}
	}
	run := fmt.Sprintf("/proc/%d/root/run/garita", e.PID())
	if specs, _ := filepath.Glob(run + "/*"); len(specs) == 0 {
		t.Errorf("nothing can be seen of what is in %s", run)
	}
	for _, dir := range append([]string{run}, dataOf(t)...) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // what cannot be read holds nothing of ours
			}
			if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), value) {
				where = append(where, path)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	return where
}

func dataOf(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), "garita-engine-test*"))
	if err != nil || len(dirs) == 0 {
		t.Errorf("no data to look at: %v", err)
	}
	return dirs
}

func TestWithoutItsSecretsNothingRuns(t *testing.T) {
	e := shared(t)
	for name, frame := range map[string][]byte{
		"the daemon lets go": nil,
		"something else":     handoff.Frame('?', nil),
		"nonsense":           handoff.Frame(handoff.Secret, []byte{0xff, 0xff}),
		"a file elsewhere":   secretFrame(handoff.Secrets{Files: []handoff.SecretFile{{Path: "/tmp/x", Content: "x"}}}),
	} {
		t.Run(name, func(t *testing.T) {
			l := sandboxtest.Shell("echo runs; cat")
			l.Await = true
			if _, _, err := sandboxtest.TryStart(t, sending{e, t, frame}, l); err == nil {
				t.Error("it was started")
			}
		})
	}
	sweepsToZero(t, e)
}

// TestASandboxTrustsItsAuthority besides whom the host trusts; the server's own variables win.
func TestASandboxTrustsItsAuthority(t *testing.T) {
	e := shared(t)
	ca, err := client.NewAuthority([]sandbox.Endpoint{{Host: "api.example.com", Port: 443}})
	if err != nil {
		t.Fatal(err)
	}
	l := sandboxtest.Shell(`while read -r line; do eval "$line" 2>&1 | tr '\n' ' '; echo; done`)
	l.Trust, l.Env = ca.Cert, map[string]string{"CURL_CA_BUNDLE": "/its/own"}
	_, pipes := sandboxtest.Start(t, e, l)
	for line, want := range map[string]string{
		`sed -n 2p "$NODE_EXTRA_CA_CERTS" >/tmp/a; grep -cFf /tmp/a "$SSL_CERT_FILE"`:             "1",
		`grep -c BEGIN "$NODE_EXTRA_CA_CERTS"`:                                                    "1",
		`test $(grep -c BEGIN "$SSL_CERT_FILE") -gt 1 && echo more`:                               "more",
		`echo x 2>/dev/null >>"$SSL_CERT_FILE" || echo refused`:                                   "refused",
		`echo "$REQUESTS_CA_BUNDLE $PIP_CERT $GIT_SSL_CAINFO $DENO_TLS_CA_STORE $CURL_CA_BUNDLE"`: strings.Repeat("/etc/ssl/certs/ca-certificates.crt ", 3) + "system /its/own",
	} {
		if got := strings.TrimSpace(pipes.Line(t, line)); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

func TestOnlyACertificateIsTrusted(t *testing.T) {
	e := shared(t)
	for _, text := range []string{"x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		l := sandboxtest.Shell("cat")
		l.Trust = text
		if _, _, err := sandboxtest.TryStart(t, e, l); !errdefs.IsInvalidArgument(err) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
