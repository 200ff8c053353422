package tray

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// deadline bounds every wait of these tests.
const deadline = 20 * time.Second

// TestMain lets the test binary be a tray, with a daemon and a bus that the test chooses.
func TestMain(m *testing.M) {
	if os.Getenv("TRAY_UNDER_TEST") != "" {
		os.Exit(beTray())
	}
	os.Exit(m.Run())
}

// beTray runs a tray whose daemon is the standard input: each line is what waits now, as
// ID=TITLE=OBJECT separated by "|". What is opened is written to the standard output.
func beTray() int {
	wait, err := time.ParseDuration(os.Getenv("TRAY_UNDER_TEST"))
	if err != nil {
		return 2
	}
	err = Run(context.Background(), stdioDaemon{}, Options{HostWait: wait})
	fmt.Println("ended:", err)
	if err != nil {
		return 4
	}
	return 0
}

type stdioDaemon struct{}

func (stdioDaemon) Watch(ctx context.Context, told func([]Question)) error {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- in.Text()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case line, ok := <-lines:
			if !ok {
				return io.EOF
			}
			var qs []Question
			for _, part := range strings.Split(line, "|") {
				if f := strings.Split(part, "="); len(f) == 3 {
					qs = append(qs, Question{f[0], f[1], f[2], "sha256:" + f[0]})
				}
			}
			told(qs)
		}
	}
}

func (stdioDaemon) Open(_ context.Context, path string) error {
	fmt.Println("open:", path)
	return nil
}

func (stdioDaemon) Deny(_ context.Context, q Question) error {
	fmt.Println("deny:", q.ID, q.Binding)
	return nil
}

// session is a session bus of the test's own.
type session struct {
	t       *testing.T
	daemon  *exec.Cmd
	address string
	conn    *dbus.Conn
}

func newSession(t *testing.T) *session {
	t.Helper()
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("no dbus-daemon on this machine (Debian: dbus)")
	}
	cmd := exec.CommandContext(t.Context(), daemon, "--session", "--nofork", "--nopidfile", "--print-address")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, daemon: cmd, address: strings.TrimSpace(line)}
	s.conn = s.connect()
	return s
}

func (s *session) connect() *dbus.Conn {
	s.t.Helper()
	conn, err := dbus.Connect(s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// panel is a fake host for icons.
type panel struct{ items chan string }

func (p *panel) RegisterStatusNotifierItem(service string) *dbus.Error {
	p.items <- service
	return nil
}

func (s *session) startPanel(conn *dbus.Conn) *panel {
	s.t.Helper()
	p := &panel{items: make(chan string, 8)}
	if err := conn.Export(p, "/StatusNotifierWatcher", watcherName); err != nil {
		s.t.Fatal(err)
	}
	s.own(conn, watcherName)
	return p
}

func (s *session) own(conn *dbus.Conn, name string) {
	s.t.Helper()
	if reply, err := conn.RequestName(name, dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		s.t.Fatalf("own %s: %v %v", name, reply, err)
	}
}

// notes is a fake notification service.
type notes struct {
	next   uint32
	shown  chan note
	closed chan uint32
}

type note struct {
	number, replaces uint32
	title, body      string
	actions          []string
}

func (n *notes) GetCapabilities() ([]string, *dbus.Error) {
	return []string{"body", "body-markup", "actions"}, nil
}

func (n *notes) Notify(_ string, replaces uint32, _, title, body string, actions []string, _ map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	number := replaces
	if number == 0 {
		n.next++
		number = n.next
	}
	n.shown <- note{number, replaces, title, body, actions}
	return number, nil
}

func (n *notes) CloseNotification(number uint32) *dbus.Error {
	n.closed <- number
	return nil
}

func (s *session) startNotes() *notes {
	s.t.Helper()
	n := &notes{shown: make(chan note, 16), closed: make(chan uint32, 16)}
	if err := s.conn.Export(n, notifyPath, notifyName); err != nil {
		s.t.Fatal(err)
	}
	s.own(s.conn, notifyName)
	return n
}

// running is a tray in a process of its own.
type running struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
}

func (s *session) startTray(wait string) *running {
	s.t.Helper()
	return startTray(s.t, wait, "DBUS_SESSION_BUS_ADDRESS="+s.address)
}

func startTray(t *testing.T, wait string, env ...string) *running {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append([]string{"TRAY_UNDER_TEST=" + wait, "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, cmd: cmd, in: in, lines: make(chan string, 64)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			r.lines <- sc.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
	})
	return r
}

func (r *running) say(line string) {
	r.t.Helper()
	if _, err := fmt.Fprintln(r.in, line); err != nil {
		r.t.Fatal(err)
	}
}

func (r *running) expect(want string) {
	r.t.Helper()
	got := await(r.t, r.lines, want)
	if got != want && !(strings.HasPrefix(want, "ended") && strings.HasPrefix(got, want)) {
		r.t.Fatalf("got %q, want %q", got, want)
	}
}

func await[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(deadline):
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}
