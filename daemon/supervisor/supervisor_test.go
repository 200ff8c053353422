package supervisor

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

type lockFile struct {
	mu     sync.Mutex
	locked map[sandbox.ServerName]sandbox.Package
}

func (l *lockFile) Locked(s sandbox.ServerName, _ sandbox.PackageRef) (sandbox.Package, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.locked[s]
	return p, ok
}

func (l *lockFile) SetLocked(s sandbox.ServerName, _ sandbox.PackageRef, p sandbox.Package) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.locked[s] = p
	return nil
}

// registry installs whatever is asked for as a shell, and counts.
type registry struct {
	wants []*sandbox.Package
	err   error
}

func (r *registry) Install(_ context.Context, ref sandbox.PackageRef, want *sandbox.Package, progress func(sandbox.Progress)) (sandbox.Package, error) {
	progress(sandbox.Progress{Step: "resolve"})
	r.wants = append(r.wants, want)
	return sandbox.Package{Name: ref.Name, Version: "1.0.0", Entry: []string{"/bin/sh", "-c", "echo $0 $@; exec cat"}}, r.err
}

// machineHost finds programs in a made-up file system.
type machineHost map[string]string // program or path to real path

func (m machineHost) LookPath(p string) (string, error) {
	if _, ok := m[p]; !ok {
		return "", errors.New("not there")
	}
	if filepath.IsAbs(p) {
		return p, nil
	}
	return "/usr/bin/" + p, nil
}

func (m machineHost) EvalSymlinks(p string) (string, error) {
	if real, ok := m[p]; ok {
		return real, nil
	}
	return p, nil
}

func (machineHost) Image(context.Context, sandbox.ServerName, string) (sandbox.Digest, error) {
	return "sha256:1", nil
}

func newTest(t *testing.T) (*Supervisor, *registry, *lockFile, <-chan sandbox.Exit) {
	r, l := &registry{}, &lockFile{locked: map[sandbox.ServerName]sandbox.Package{}}
	ended := make(chan sandbox.Exit, 10)
	s := New(Options{
		Runtime: sandboxtest.NewFake(), Installer: r, Lock: l, Consent: &person{}, Host: machineHost{"sh": "/usr/bin/dash", "/bin/sh": "/usr/bin/dash"},
		Changed: func(sandbox.ServerName) {}, Progress: func(sandbox.ServerName, sandbox.Progress) {},
		Ended: func(_ Status, e sandbox.Exit) { ended <- e }, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s, r, l, ended
}

func shell(script string) sandbox.Server {
	return sandbox.Server{Name: "srv", Source: sandbox.Source{Command: []string{"sh", "-c", script}}}
}

func TestAnInstanceLivesFromStartToStop(t *testing.T) {
	s, _, _, ended := newTest(t)
	i, err := s.Start(t.Context(), shell("echo words >&2; exec cat"), NewInstanceID(), Owner{Session: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	if got, _ := bufio.NewReader(i).ReadString('\n'); got != "hello\n" {
		t.Errorf("got %q back", got)
	}
	if state, _ := s.State("srv"); state != sandbox.Starting {
		t.Errorf("state %s before the handshake", state)
	}
	i.Ready()
	if state, _ := s.State("srv"); state != sandbox.Ready || len(s.Instances("srv")) != 1 {
		t.Errorf("state %s with %d instances", state, len(s.Instances("srv")))
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-ended
	if state, _ := s.State("srv"); state != sandbox.Stopped || len(s.Instances("")) != 0 {
		t.Errorf("after the stop: state %s, %d instances", state, len(s.Instances("")))
	}
	if got := s.Log("srv"); !cmp.Equal(got, []string{"words"}) {
		t.Errorf("log %q", got)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

func TestAServerThatIgnoresEndOfFileIsEnded(t *testing.T) {
	s, _, _, ended := newTest(t)
	i, err := s.Start(t.Context(), shell("trap '' TERM; while :; do sleep 1; done"), NewInstanceID(), Owner{})
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := <-ended; e.Code != 137 {
		t.Errorf("ended with %+v, want killed", e)
	}
}

func TestAPackageIsLockedAtItsFirstStart(t *testing.T) {
	s, r, l, _ := newTest(t)
	server := sandbox.Server{Name: "srv", Source: sandbox.Source{Command: []string{"npx", "-y", "pkg", "--flag", "x y"}}}
	for range 2 {
		i, err := s.Start(t.Context(), server, NewInstanceID(), Owner{})
		if err != nil {
			t.Fatal(err)
		}
		if state, _ := s.State("srv"); state != sandbox.Starting {
			t.Errorf("state %s", state)
		}
		if got, _ := bufio.NewReader(i).ReadString('\n'); got != "--flag x y\n" {
			t.Errorf("the server got %q", got)
		}
		_ = i.Stop(t.Context())
	}
	if len(r.wants) != 2 || r.wants[0] != nil || r.wants[1] == nil || r.wants[1].Version != "1.0.0" {
		t.Errorf("asked the installer for %v; want anything first, then the lock's", r.wants)
	}
	if l.locked["srv"].Name != "pkg" {
		t.Errorf("locked %+v", l.locked)
	}
}

func TestAFailedStartSaysWhy(t *testing.T) {
	s, r, _, _ := newTest(t)
	r.err = errdefs.ErrUnavailable
	for name, server := range map[string]sandbox.Server{
		"install":    {Name: "srv", Source: sandbox.Source{Command: []string{"npx", "pkg"}}},
		"no program": {Name: "srv", Source: sandbox.Source{Command: []string{"nowhere"}}},
		"nothing":    {Name: "srv"},
	} {
		if _, err := s.Start(t.Context(), server, NewInstanceID(), Owner{}); err == nil {
			t.Errorf("%s: it started", name)
		}
		if state, reason := s.State("srv"); state != sandbox.Failed || reason == "" {
			t.Errorf("%s: state %s, reason %q", name, state, reason)
		}
	}
}

func TestLower(t *testing.T) {
	host := machineHost{
		"node": "/usr/bin/node", "/home/u/.nvm/versions/node/v20.1.0/bin/node": "/home/u/.nvm/versions/node/v20.1.0/bin/node",
		"/home/u/.local/bin/tool": "/home/u/.local/bin/tool",
	}
	for name, tt := range map[string]struct {
		command []string
		spec    sandbox.Spec
		want    sandbox.Launch
	}{
		"a program of /usr needs nothing": {
			[]string{"node", "x.js"},
			sandbox.Spec{},
			sandbox.Launch{Argv: []string{"/usr/bin/node", "x.js"}},
		},
		"one version of a toolchain": {
			[]string{"/home/u/.nvm/versions/node/v20.1.0/bin/node"},
			sandbox.Spec{},
			sandbox.Launch{
				Argv: []string{"/home/u/.nvm/versions/node/v20.1.0/bin/node"},
				Root: sandbox.Root{Toolchain: "/home/u/.nvm/versions/node/v20.1.0"},
			},
		},
		"a program in ~/.local/bin shows itself alone": {
			[]string{"/home/u/.local/bin/tool"},
			sandbox.Spec{},
			sandbox.Launch{
				Argv:   []string{"/home/u/.local/bin/tool"},
				Mounts: []sandbox.Mount{{Host: "/home/u/.local/bin/tool", At: "/home/u/.local/bin/tool"}},
			},
		},
		"folders are a snapshot unless said otherwise": {
			[]string{"node"},
			sandbox.Spec{Folders: []string{"/p"}},
			sandbox.Launch{
				Argv: []string{"/usr/bin/node"}, Dir: "/p",
				Folders: []sandbox.Folder{{Host: "/p", Mode: sandbox.Snapshot, Workspace: "w1"}},
			},
		},
		"no folder in mode none": {
			[]string{"node"},
			sandbox.Spec{Folders: []string{"/p"}, Workspace: sandbox.None},
			sandbox.Launch{Argv: []string{"/usr/bin/node"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := sandbox.Server{Name: "srv", Source: sandbox.Source{Command: tt.command}, Spec: tt.spec}
			got, err := lower(t.Context(), server, "i1", Owner{Group: "g", Workspace: "w1", Volume: "v"}, installed{}, host)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.ID, tt.want.Server, tt.want.Group, tt.want.Volume, tt.want.Limits = "i1", "srv", "g", "v", sandbox.DefaultLimits
			if d := cmp.Diff(tt.want, got, cmp.Transformer("empty", func(s []sandbox.Folder) []sandbox.Folder { return append([]sandbox.Folder{}, s...) })); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTheLogKeepsTheLastLines(t *testing.T) {
	r := newRing(serverLines)
	text := different(2*serverLines) + strings.Repeat("x", 3*lineBytes) + "\r\nlast"
	drain(strings.NewReader(text), nil, func(line string) { r.add("i1", line, time.Unix(1, 0)) })
	got, _ := r.after(0)
	if len(got) != serverLines || got[len(got)-1].Text != "last" || !strings.HasSuffix(got[len(got)-2].Text, "xx … [cut]") || len(got[len(got)-2].Text) > lineBytes {
		t.Errorf("%d lines, the last %q, the one before of %d bytes", len(got), got[len(got)-1].Text, len(got[len(got)-2].Text))
	}
	if later, _ := r.after(got[len(got)-3].Seq); len(later) != 2 {
		t.Errorf("%d lines behind the last but two", len(later))
	}
}

// different is n lines that do not differ in their digits alone.
func different(n int) string {
	var b strings.Builder
	for i := range n {
		for ; i > 0; i /= 26 {
			b.WriteByte('a' + byte(i%26))
		}
		b.WriteString("-\n")
	}
	return b.String()
}

func TestAServerThatRepeatsItself(t *testing.T) {
	t.Run("report_Y03", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRing(serverLines)
			r.add("i1", "starting", time.Now())
			for range 48_000 {
				r.add("i1", "Error: connect ECONNREFUSED 127.0.0.1:5432", time.Now())
				<-time.After(75 * time.Millisecond)
			}
			lines := r.last(serverLines)
			if len(lines) > 10 || lines[len(lines)-1] != "Error: connect ECONNREFUSED 127.0.0.1:5432 (x 48,000)" {
				t.Errorf("kept as %q", lines)
			}
			if loop := r.loop(time.Now()); !strings.Contains(loop, "(x 48,000)") {
				t.Errorf("the loop is %q", loop)
			}
		})
	})
}

func TestSecretsAreTakenOutBeforeALineIsCut(t *testing.T) {
	t.Run("report_K07", func(t *testing.T) {
		const secret = "s3cr3t-of-some-length"
		redact := func(s string, _ bool) string { return strings.ReplaceAll(s, secret, "[redacted]") }
		at := strings.Repeat("x", 4090) + secret + "\n" + `{"accessToken":"` + secret + `"}` + "\n"
		var got []string
		drain(strings.NewReader(at), redact, func(line string) { got = append(got, line) })
		for _, line := range got {
			if strings.Contains(line, "s3c") {
				t.Errorf("kept %.40q…%q", line, line[max(0, len(line)-40):])
			}
		}
	})
}

func TestAFloodOfLinesIsCounted(t *testing.T) {
	r, now := newRing(serverLines), time.Unix(1, 0)
	for _, line := range strings.Fields(different(3 * lineBurst)) {
		r.add("i1", line, now)
	}
	r.add("i1", "after a pause", now.Add(time.Second))
	got, _ := r.after(0)
	if last := got[len(got)-1]; last.Text != "after a pause" || last.Skipped != 2*lineBurst || last.Seq != lineBurst+1 {
		t.Errorf("the last line is %+v", last)
	}
}

func TestALogIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(serverLines)
		got := make(chan []Line)
		go func() { got <- r.await(t.Context(), 1) }()
		r.add("i1", "old", time.Now())
		synctest.Wait()
		r.add("i1", "new", time.Now())
		if lines := <-got; len(lines) != 1 || lines[0].Text != "new" {
			t.Errorf("got %v", lines)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { got <- r.await(ctx, 2) }()
		cancel()
		if lines := <-got; lines != nil {
			t.Errorf("got %v from nothing", lines)
		}
	})
}

func TestTheStatesOfAnInstance(t *testing.T) {
	all := []sandbox.State{sandbox.Starting, sandbox.Ready, sandbox.Frozen, sandbox.Stopping, sandbox.Stopped, sandbox.Failed}
	want := map[sandbox.State][]sandbox.State{
		sandbox.Starting: {sandbox.Ready, sandbox.Stopping, sandbox.Failed},
		sandbox.Ready:    {sandbox.Frozen, sandbox.Stopping, sandbox.Failed},
		sandbox.Frozen:   {sandbox.Ready, sandbox.Stopping, sandbox.Failed},
		sandbox.Stopping: {sandbox.Stopped},
	}
	for _, from := range all {
		var got []sandbox.State
		for _, to := range all {
			if m := (machine{state: from}); m.to(to, "x") {
				got = append(got, to)
			}
		}
		if !cmp.Equal(got, want[from]) {
			t.Errorf("from %s: %v, want %v", from, got, want[from])
		}
	}
}

// TestALineIsSaidToBeCut: what takes secrets out has to know that one may begin at the end.
func TestALineIsSaidToBeCut(t *testing.T) {
	var cuts []bool
	redact := func(s string, cut bool) string {
		cuts = append(cuts, cut)
		return s
	}
	drain(strings.NewReader(strings.Repeat("x", lineBytes+1)+"\nshort\nthe last"), redact, func(string) {})
	if diff := cmp.Diff([]bool{true, false, false}, cuts); diff != "" {
		t.Error(diff)
	}
}
