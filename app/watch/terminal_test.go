package watch

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"github.com/garita-dev/garita/daemon/api"
)

// terminal is a real one, of which the test holds the other end.
type terminal struct {
	t        *testing.T
	far, tty *os.File
	done     chan error

	mu   sync.Mutex
	seen bytes.Buffer
}

func startTerminal(t *testing.T, run func(context.Context, Daemon, Options) error, d Daemon, environ ...string) *terminal {
	t.Helper()
	far, tty, err := pty.Open()
	if err != nil {
		t.Skip("no pseudo-terminals here:", err)
	}
	if err := pty.Setsize(far, &pty.Winsize{Rows: 40, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, far: far, tty: tty, done: make(chan error, 1)}
	go func() {
		s.done <- run(t.Context(), d, Options{In: tty, Out: tty, Environ: append([]string{"TERM=xterm-256color"}, environ...)})
	}()
	go s.read()
	t.Cleanup(func() { _ = far.Close(); _ = tty.Close() })
	return s
}

func (s *terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := s.far.Read(buf)
		s.mu.Lock()
		s.seen.Write(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *terminal) raw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// await waits until text stands on the screen.
func (s *terminal) await(text string) {
	s.t.Helper()
	s.until(text, func() bool { return strings.Contains(flat(s.raw()), flat(text)) })
}

// flat is text without what moves or colors it, and without blanks, which are skipped over on a screen.
func flat(text string) string { return strings.Join(strings.Fields(ansi.Strip(text)), "") }

func (s *terminal) until(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			s.t.Fatalf("no %q on\n%q", what, s.raw())
		}
		<-time.After(10 * time.Millisecond)
	}
}

func (s *terminal) typing(text string) {
	s.t.Helper()
	if _, err := s.far.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *terminal) ends() {
	s.t.Helper()
	select {
	case err := <-s.done:
		if err != nil {
			s.t.Error(err)
		}
	case <-time.After(20 * time.Second):
		s.t.Fatalf("it does not end:\n%q", s.raw())
	}
}

func TestApproveAtATerminal(t *testing.T) {
	before := runtime.NumGoroutine()
	f := newFake(call("r1", "git push origin main"))
	s := startTerminal(t, Run, f)
	s.await("wants to run git push origin main")
	<-time.After(armed)
	s.typing("a")
	s.await("type 1111")
	s.typing("1111\r")
	s.await("You approved it.")
	if got := f.given(); len(got) != 1 || !got[0].Approve || got[0].Code != "1111" {
		t.Errorf("got %+v", got)
	}
	s.typing("q")
	s.ends()
	_ = s.tty.Close()
	_ = s.far.Close()
	s.until("goroutines to end", func() bool { return runtime.NumGoroutine() <= before+1 })
}

func TestDenyAtATerminal(t *testing.T) {
	f := newFake(call("r1", "rm -rf \x1b]0;evil\a/"))
	s := startTerminal(t, Run, f, "NO_COLOR=1")
	s.await(`\x1b]0;evil\x07`)
	<-time.After(armed)
	s.typing("d")
	s.await("You denied it.")
	if got := f.given(); len(got) != 1 || got[0].Approve {
		t.Errorf("got %+v", got)
	}
	s.typing("\x03")
	s.ends()
	raw := s.raw()
	if strings.Contains(raw, "evil\a") {
		t.Error("hostile text reaches the terminal")
	}
	for _, color := range []string{"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m", ";33m"} {
		if strings.Contains(raw, color) {
			t.Errorf("a color in spite of NO_COLOR: %q", color)
		}
	}
}

func TestPlain(t *testing.T) {
	f := newFake(call("r1", "ls \x1b[2J"), call("r2", "git push"), call("r3", "late"))
	s := startTerminal(t, RunPlain, f)
	s.await("Your answer:")
	s.typing("a\n")
	s.await("type 1111:")
	s.typing("nope\n")
	s.await("Nothing was answered.")
	s.typing("d\n")
	s.await("You denied it.")
	s.await("wants to run git push")
	s.typing("a 2\n")
	s.await("This allows always")
	s.typing("2222\n")
	s.await("You approved it.")
	s.await("wants to run late")
	f.ended("r3", "expired")
	s.await("It has expired")
	s.typing("d\n") // meant for what is no more
	f.mu.Lock()
	f.list = append(f.list, call("r4", "last"))
	f.mu.Unlock()
	s.await("wants to run last")
	s.typing("q\n")
	s.ends()
	got := f.given()
	if len(got) != 2 || got[0].Approve || !got[1].Approve || got[1].Scope != "always" {
		t.Errorf("got %+v", got)
	}
	if strings.Contains(s.raw(), "\x1b[") {
		t.Errorf("plain is not plain: %q", s.raw())
	}
}

var _ Daemon = FromClient(api.New("/nowhere"))
