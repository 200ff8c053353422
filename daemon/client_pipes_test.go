package daemon

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/gateway"
)

// doorway is a socket that takes clients whose stdio is handed over.
func doorway(t *testing.T) (client *api.Client, taken <-chan *pipeClient, refused <-chan error) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	clients, errs := make(chan *pipeClient, 1), make(chan error, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			errs <- err
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n")
		c, err := newPipeClient(api.NewStdio(conn.(*net.UnixConn), rw.Reader))
		if err != nil {
			_ = conn.Close()
			errs <- err
			return
		}
		clients <- c
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	client = api.New(socket)
	t.Cleanup(func() {
		client.Close()
		_ = server.Close()
		<-done
	})
	return client, clients, errs
}

// stdio is a pair of streams and the client's ends of them.
type stdio struct{ in, out, say, hear *os.File }

func pipes(t *testing.T) (s stdio) {
	t.Helper()
	var err [2]error
	s.in, s.say, err[0] = os.Pipe()
	s.hear, s.out, err[1] = os.Pipe()
	return s.cleanUp(t, err[:])
}

// sockets is the stdio that Node gives its children.
func sockets(t *testing.T) (s stdio) {
	t.Helper()
	var err [2]error
	pair := func(e *error) (*os.File, *os.File) {
		var fds [2]int
		fds, *e = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return os.NewFile(uintptr(fds[0]), "near"), os.NewFile(uintptr(fds[1]), "far")
	}
	s.in, s.say = pair(&err[0])
	s.out, s.hear = pair(&err[1])
	return s.cleanUp(t, err[:])
}

func (s stdio) cleanUp(t *testing.T, errs []error) stdio {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range []*os.File{s.in, s.out, s.say, s.hear} {
			_ = f.Close()
		}
	})
	return s
}

// attach hands s over, and lets go of it as connect's end would.
func attach(t *testing.T, client *api.Client, taken <-chan *pipeClient, s stdio) (net.Conn, *pipeClient) {
	t.Helper()
	conn, err := client.AttachStdio(t.Context(), api.Attach{Server: "files"}, s.in, s.out)
	if err != nil {
		t.Fatal(err)
	}
	c := <-taken
	t.Cleanup(func() { _ = conn.Close(); _ = c.Close() })
	return conn, c
}

func TestAClientsStdioIsHandedOver(t *testing.T) {
	for name, make := range map[string]func(*testing.T) stdio{"pipes": pipes, "sockets": sockets} {
		t.Run(name, func(t *testing.T) {
			client, taken, _ := doorway(t)
			s := make(t)
			_, c := attach(t, client, taken, s)
			var _ gateway.Client = c
			if _, err := io.WriteString(s.say, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
				t.Fatal(err)
			}
			if m, err := c.Read(); err != nil || m.Method != "ping" {
				t.Fatal(m, err)
			}
			if err := c.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(s.hear).ReadString('\n'); err != nil || line != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
				t.Fatal(line, err)
			}
			_ = s.say.Close()
			if _, err := c.Read(); !errors.Is(err, io.EOF) {
				t.Errorf("after the end of its input: %v", err)
			}
			select {
			case <-c.Gone():
				t.Error("a client whose input has ended is taken to be gone")
			default:
			}
		})
	}
}

func TestConnectsEndIsTheClients(t *testing.T) {
	client, taken, _ := doorway(t)
	s := pipes(t)
	conn, c := attach(t, client, taken, s)
	_ = s.out.Close() // as connect's, which ends
	_ = conn.Close()
	<-c.Gone()
	if rest, err := io.ReadAll(s.hear); err != nil || len(rest) > 0 { // the client hears of the end at once
		t.Error(rest, err)
	}
}

func TestTheSessionsEndIsConnects(t *testing.T) {
	client, taken, _ := doorway(t)
	conn, c := attach(t, client, taken, pipes(t))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
		t.Error(rest, err)
	}
}

func TestStreamsBlockAgainAfterwards(t *testing.T) {
	s := pipes(t)
	blocks := func(f *os.File) bool {
		raw, err := f.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		flags := 0
		_ = raw.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) })
		return err == nil && flags&unix.O_NONBLOCK == 0
	}
	for _, f := range []*os.File{s.in, s.out} {
		_ = f.Fd() // os.Pipe made them not block
	}
	client, taken, _ := doorway(t)
	again := api.Blocking(s.in, s.out)
	conn, c := attach(t, client, taken, s)
	if blocks(s.in) || blocks(s.out) {
		t.Error("the daemon's ends block")
	}
	_ = c.Close()
	_, _ = io.ReadAll(conn)
	if again(); !blocks(s.in) || !blocks(s.out) {
		t.Error("they do not block again")
	}
}

func TestAClientThatHearsNothingIsGone(t *testing.T) {
	client, taken, _ := doorway(t)
	s := pipes(t)
	_, c := attach(t, client, taken, s)
	_ = s.hear.Close()
	for c.Write([]byte(`{}`)) == nil { // until connect's own end of the pipe is no reader either
		continue
	}
	<-c.Gone()
}

func TestOnlyStreamsAreTakenOver(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := pipes(t)
	if api.CanHandOver(file, s.out, os.Stderr) || api.CanHandOver(s.in, file, os.Stderr) || api.CanHandOver(s.in, s.out, s.out) {
		t.Error("a file, or a stream that is standard error too, would be handed over")
	}
	if !api.CanHandOver(s.in, s.out, file) {
		t.Error("pipes would not be handed over")
	}
	client, _, refused := doorway(t)
	conn, err := client.AttachStdio(context.Background(), api.Attach{Server: "files"}, file, s.out)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := <-refused; err == nil {
		t.Error("a file was taken over")
	}
}

func TestNothingHandedOverIsRefused(t *testing.T) {
	client, _, refused := doorway(t)
	conn, err := client.Attach(t.Context(), api.Attach{Server: "files"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	if err := <-refused; err == nil {
		t.Error("a client without stdio was taken")
	}
}
