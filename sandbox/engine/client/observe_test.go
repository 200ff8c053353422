package client_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// everything is what an observed sandbox was seen to do until it ended.
func everything(t *testing.T, e *client.Engine, id sandbox.InstanceID) sandbox.Sightings {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var all sandbox.Sightings
	for after := int64(0); ; {
		now, err := e.Sightings(ctx, id, after, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range now.List {
			after = max(after, s.Seq)
		}
		all.List = append(all.List, now.List...)
		all.Lost, all.Blind, all.Over = now.Lost, now.Blind, now.Over
		if now.Over {
			return all
		}
	}
}

// lines are sightings as a person would write them.
func lines(s sandbox.Sightings) string {
	var b strings.Builder
	for _, one := range s.List {
		b.WriteString(string(one.Kind) + " " + one.Path)
		if len(one.Argv) > 0 {
			b.WriteString(": " + strings.Join(one.Argv, " "))
		}
		if one.Write {
			b.WriteString(" (to write)")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestWhatAnObservedSandboxDoesIsSeen(t *testing.T) {
	e := shared(t)
	folder := realDir(t)
	if err := os.WriteFile(folder+"/there", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := sandboxtest.Shell(`
read go
true; cat /home/x/.config/y; cat "$1"/there "$1"/none > /dev/null; ls --color=never /opt/data
env nice true; echo > /srv/out; cd /usr/lib && cat ../../data/relative
printf 'done\n'`)
	l.Argv = append(l.Argv, "sh", folder)
	l.Folders, l.Observe = []sandbox.Folder{{Host: folder, Mode: sandbox.ReadOnly}}, true
	i, p := sandboxtest.Start(t, e, l)
	if got := p.Line(t, "go"); got != "done" {
		t.Fatalf("got %q, stderr %s", got, p.Stderr())
	}
	_ = p.In.Close()
	seen := everything(t, e, i.Info().ID)
	got := lines(seen)
	if seen.Blind != "" || seen.Lost > 0 {
		t.Errorf("blind: %q, lost %d", seen.Blind, seen.Lost)
	}
	for _, want := range []string{
		"command /bin/sh: /bin/sh -c",
		"/cat: cat /home/x/.config/y\n", "missing /home/x/.config/y\n", "/ls: ls --color=never /opt/data\n", "missing /opt/data\n",
		"/env: env nice true\n", "/true: true\n", "missing /srv/out (to write)\n", "missing /data/relative\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q was not seen", want)
		}
	}
	for _, unwanted := range []string{"missing " + folder, "missing /1/", "missing /usr", "missing /etc", ".garita", "command /usr/local"} {
		if strings.Contains(got, unwanted) {
			t.Errorf("%q was seen", unwanted)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}

// Strings of a hostile server arrive bounded, and do not end the observation.
func TestHostileNamesAreBounded(t *testing.T) {
	e := shared(t)
	long := strings.Repeat("A", 3000)
	l := sandboxtest.Shell(`
read go
cat /data/` + long + `
cat "$(printf '/data/\033]0;evil\007\377\nnext')"
n=0; while [ $n -lt 200 ]; do set -- "$@" ` + strings.Repeat("b", 300) + `; n=$((n+1)); done; /usr/bin/env true "$@"
printf 'done\n'`)
	l.Observe = true
	i, p := sandboxtest.Start(t, e, l)
	if got := p.Line(t, "go"); got != "done" {
		t.Fatalf("got %q, stderr %s", got, p.Stderr())
	}
	_ = p.In.Close()
	seen := everything(t, e, i.Info().ID)
	hostile := false
	for _, s := range seen.List {
		size := len(s.Path)
		for _, a := range s.Argv {
			size += len(a)
		}
		if size > 8<<10 || len(s.Argv) > 64 || len(s.Path) > 1024 {
			t.Errorf("%d bytes, %d words of %.40q", size, len(s.Argv), s.Path)
		}
		if !utf8.ValidString(s.Path) {
			t.Errorf("%q is no UTF-8", s.Path)
		}
		hostile = hostile || strings.HasPrefix(s.Path, "/data/\x1b]0;evil")
	}
	if !hostile {
		t.Errorf("the hostile path was not seen: %s", lines(seen))
	}
}

// A server that runs as many programs as it can is slowed, not stopped, and what is kept is bounded.
func TestAFloodOfCommandsIsBounded(t *testing.T) {
	e := shared(t)
	l := sandboxtest.Shell(`read go; n=0; while [ $n -lt 3000 ]; do [ -e /data/$n ]; n=$((n+1)); done; printf 'done\n'`)
	l.Observe = true
	i, p := sandboxtest.Start(t, e, l)
	if got := p.Line(t, "go"); got != "done" {
		t.Fatalf("got %q, stderr %s", got, p.Stderr())
	}
	_ = p.In.Close()
	seen := everything(t, e, i.Info().ID)
	if len(seen.List) > 2000 || len(seen.List)+seen.Lost < 3000 {
		t.Errorf("%d kept, %d lost", len(seen.List), seen.Lost)
	}
}

// Nothing waits for a sandbox that is killed in the middle of being asked about.
func TestAnObservedSandboxEndsAtOnce(t *testing.T) {
	e := shared(t)
	l := sandboxtest.Shell(`echo ready; while :; do /bin/true; [ -e /data/x ]; done`)
	l.Observe = true
	i, p := sandboxtest.Start(t, e, l)
	if got := p.Next(t); got != "ready" {
		t.Fatal(got)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := i.Stop(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if seen := everything(t, e, i.Info().ID); !seen.Over || seen.Blind != "" {
		t.Errorf("over %t, blind %q", seen.Over, seen.Blind)
	}
	if s, err := e.Sweep(ctx); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}

// What is not observed is not told of.
func TestASandboxThatIsNotObserved(t *testing.T) {
	e := shared(t)
	i, _ := sandboxtest.Start(t, e, sandboxtest.Shell("exec cat"))
	if _, err := e.Sightings(t.Context(), i.Info().ID, 0, 0); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("got %v", err)
	}
}
