package daemon

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/handover"
)

// standInWall is the variable that makes a copy of this program a wall that is told things and does
// nothing: in the folder it names, it writes down what it was told last, and reads how it is to behave.
const standInWall = "GARITA_TEST_WALL"

func init() {
	if dir := os.Getenv(standInWall); dir != "" {
		runStandIn(dir)
		os.Exit(0)
	}
}

func runStandIn(dir string) {
	listener, err := handover.Listen(os.NewFile(3, "control"))
	if err != nil {
		panic(err)
	}
	var told atomic.Int64 // how often it was
	over := make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	note := func(w http.ResponseWriter, what string) {
		if _, err := os.Stat(filepath.Join(dir, "fail")); err == nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"kind":"internal","message":"it is out of order"}`))
			return
		}
		n := told.Add(1)
		_ = os.WriteFile(filepath.Join(dir, fmt.Sprint("heard", n)), []byte(what), 0o600)
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprint("slow", n))); err == nil { // until the next one, or none comes
			for end := time.Now().Add(time.Second); told.Load() == n && time.Now().Before(end); {
				<-time.After(time.Millisecond)
			}
		}
		_ = os.WriteFile(filepath.Join(dir, "last"), []byte(what), 0o600)
	}
	count := func(all []wire.Placeholder) string { return fmt.Sprint(len(all), " placeholders") }
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+wire.SandboxesPath, func(w http.ResponseWriter, r *http.Request) {
		var s wire.Sandbox
		_ = json.UnmarshalRead(r.Body, &s)
		note(w, count(s.Placeholders))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST "+wire.EndPath, func(http.ResponseWriter, *http.Request) { end() })
	mux.HandleFunc("POST "+wire.SecretsPath, func(w http.ResponseWriter, r *http.Request) {
		var s wire.Secrets
		_ = json.UnmarshalRead(r.Body, &s)
		note(w, count(s.Placeholders))
	})
	for _, path := range []string{wire.RulesPath, wire.AnswersPath, wire.LeavesPath} {
		mux.HandleFunc("POST "+path, func(http.ResponseWriter, *http.Request) {})
	}
	_ = (&http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}).Serve(listener)
}

// standIn starts such a wall, which behaves as files of those names say.
func standIn(t *testing.T, behavior ...string) (*client.Wall, string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range behavior {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "wall")
	script := fmt.Sprintf("#!/bin/sh\n%s=%s exec %s \"$@\"\n", standInWall, dir, os.Args[0])
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	wall, err := client.StartWall(t.Context(), client.Config{Program: program, Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wall.Close() })
	return wall, dir
}

// heard waits until something was told for the n-th time.
func heard(t *testing.T, dir string, n int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; <-time.After(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprint("heard", n))); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the wall was not told")
		}
	}
}

func toldLast(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "last"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const standInID = sandbox.InstanceID("i0123456789abcdef")

// behind is a sandbox with two placeholders behind a wall. It does not run.
func (h *secretHome) behind(wall *client.Wall) *way {
	h.t.Helper()
	h.purse.set("first", "value-0001-abcdef", time.Time{})
	h.purse.set("second", "value-0002-abcdef", time.Time{})
	s := h.declare(toward("first", "FIRST", "Authorization"), toward("second", "SECOND", "Authorization"))
	l := sandbox.Launch{ID: standInID, Server: s.Name}
	if _, err := h.secrets.Equip(h.t.Context(), s, &l); err != nil {
		h.t.Fatal(err)
	}
	o, err := h.ways.begin(context.WithoutCancel(h.t.Context()), wall, l)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(o.close)
	return o
}

func (h *secretHome) revoke(name string) error {
	_, err := h.RevokeSecret(h.t.Context(), httpapi.Peer{UID: h.uid, Page: true}, name, "search")
	return err
}

// TestTheWallKnowsTheNewest: of two changes at once it is told the last one last, and so is a wall that
// comes meanwhile.
func TestTheWallKnowsTheNewest(t *testing.T) {
	t.Run("two revocations", func(t *testing.T) {
		h := newSecretHome(t)
		wall, dir := standIn(t, "slow2")
		o := h.behind(wall)
		first := make(chan error, 1)
		go func() { first <- o.swap(t.Context()) }()
		heard(t, dir, 2)
		if err := h.revoke("first"); err != nil {
			t.Error(err)
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
		if got := toldLast(t, dir); got != "1 placeholders" {
			t.Errorf("the wall has %s", got)
		}
	})
	t.Run("a wall that comes meanwhile", func(t *testing.T) {
		h := newSecretHome(t)
		wall, _ := standIn(t)
		o := h.behind(wall)
		if err := wall.Kill(); err != nil {
			t.Fatal(err)
		}
		<-wall.Done()
		next, dir := standIn(t, "slow1")
		joined := make(chan error, 1)
		go func() {
			o.wiring.Lock()
			defer o.wiring.Unlock()
			joined <- o.connect(context.WithoutCancel(t.Context()), next)
		}()
		heard(t, dir, 1)
		if err := h.revoke("first"); err != nil {
			t.Error(err)
		}
		if err := <-joined; err != nil {
			t.Error(err)
		}
		if got := toldLast(t, dir); got != "1 placeholders" {
			t.Errorf("the wall has %s", got)
		}
	})
}

// TestAWallThatCannotBeTold lets nothing through, and whoever revoked hears of it; one that is gone has
// forgotten everything.
func TestAWallThatCannotBeTold(t *testing.T) {
	for name, revoke := range map[string]func(*secretHome) error{
		"a secret is revoked": func(h *secretHome) error { return h.revoke("first") },
		"a secret is removed": func(h *secretHome) error {
			return h.RemoveSecret(h.t.Context(), httpapi.Peer{UID: h.uid, Page: true}, "first")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newSecretHome(t)
			wall, dir := standIn(t)
			o := h.behind(wall)
			if err := os.WriteFile(filepath.Join(dir, "fail"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := revoke(h); err == nil || !strings.Contains(err.Error(), "garita server restart search") {
				t.Errorf("got %v", err)
			}
			if o.current().File.Close() == nil {
				t.Error("it still has its network")
			}
			if h.secrets.of(standInID).stale == "" {
				t.Error("it stays without a network for good")
			}
		})
	}
	t.Run("it is gone", func(t *testing.T) {
		h := newSecretHome(t)
		wall, _ := standIn(t)
		h.behind(wall)
		if err := wall.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := h.revoke("first"); err != nil {
			t.Error(err)
		}
		if _, err := h.ChangeNetwork(t.Context(), httpapi.Peer{UID: h.uid, Page: true}, "search", api.NetworkChange{Host: "x.example.com"}); err != nil {
			t.Error(err)
		}
	})
}
