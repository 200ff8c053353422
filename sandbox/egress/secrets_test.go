package egress_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
)

const secretValue = "ghp_v41u3000111222333444"

func secretFor(host string) client.Placeholder {
	return client.Placeholder{
		Secret: "github", Version: 1, Sentinel: "ghp_S3nt1neL000000000abc", Value: client.Hide(secretValue),
		Places: []sandbox.SecretPlace{{In: sandbox.InHeader, Name: "Authorization"}}, Hosts: []sandbox.Endpoint{{Host: host, Port: 443}},
	}
}

func wayOut(t *testing.T, w *client.Wall, seen func(client.NetworkEvent), all ...client.Placeholder) (*client.WayOut, error) {
	t.Helper()
	a, err := client.NewAuthority([]sandbox.Endpoint{{Host: "api.example.org", Port: 443}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := w.OpenWayOut(t.Context(), client.Sandbox{ID: "one", Authority: a, Placeholders: all}, seen)
	if err == nil {
		t.Cleanup(func() { _ = o.Close() })
	}
	return o, err
}

func TestPlaceholdersAreTakenOrRefused(t *testing.T) {
	w, log := startWall(t)
	o, err := wayOut(t, w, nil, secretFor("api.example.org"))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.SetSecrets(t.Context(), []client.Placeholder{secretFor("api.example.org")}); err != nil {
		t.Error(err)
	}
	if err := o.Leave(t.Context(), 7, true); err != nil {
		t.Errorf("a leave that nobody waits for: %v", err)
	}
	broken := secretFor("api.example.org")
	broken.Places = nil
	for name, bad := range map[string]client.Placeholder{"no place": broken, "a host that its authority is not for": secretFor("api.example.net")} {
		if err := o.SetSecrets(t.Context(), []client.Placeholder{bad}); !errdefs.IsInvalidArgument(err) || !strings.Contains(err.Error(), "github") || strings.Contains(err.Error(), secretValue) {
			t.Errorf("%s: %v", name, err)
		}
		_ = o.Close()
		// At the start, and after a crash of the wall, the sandbox keeps its network, and the rest is told.
		told := make(chan client.SecretSeen, 8)
		if o, err = wayOut(t, w, func(e client.NetworkEvent) {
			if e.Secret != nil {
				told <- *e.Secret
			}
		}, bad); err != nil {
			t.Fatalf("%s, at the start: %v", name, err)
		}
		if got := <-told; got.Secret != "github" || got.Sent || got.Why == "" || strings.Contains(got.Why, secretValue) {
			t.Errorf("%s, at the start: %+v", name, got)
		}
	}
	_ = o.Close()
	if err := o.SetSecrets(t.Context(), nil); !errdefs.IsNotFound(err) {
		t.Errorf("after its end: %v", err)
	}
	if strings.Contains(log.String(), secretValue) {
		t.Error("the log holds the value")
	}
}

// TestWhatTheWallIsToldMayBeLarge: as much as one server may have is taken; what is more is refused with the reason.
func TestWhatTheWallIsToldMayBeLarge(t *testing.T) {
	w, _ := startWall(t)
	o, err := wayOut(t, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.SetRules(t.Context(), sandbox.Unsaid(), client.Outside{NoProxy: strings.Repeat("x", 10<<20)}); err != nil {
		t.Errorf("10 MiB: %v", err)
	}
	if err := o.SetRules(t.Context(), sandbox.Unsaid(), client.Outside{NoProxy: strings.Repeat("x", 65<<20)}); !errdefs.IsInvalidArgument(err) || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("65 MiB: %v", err)
	}
}

func TestACrashPrintsNoSecret(t *testing.T) {
	w, log := startWall(t)
	if _, err := wayOut(t, w, nil, secretFor("api.example.org")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child(t), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-w.Done()
	if text := log.String(); !strings.Contains(text, "goroutine ") || strings.Contains(text, secretValue) {
		t.Errorf("what the crash says: %.2000s", text)
	}
}

// child is the process of this one that is the wall.
func child(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(status), fmt.Sprintf("PPid:\t%d\n", os.Getpid())) && strings.HasSuffix(string(line), "\x00egress\x00") {
			return pid
		}
	}
	t.Fatal("no wall runs")
	return 0
}
