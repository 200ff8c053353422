package client_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// world is an internet of a test's own: a name server and hosts, on addresses of loopback that count
// as public here. 127.0.0.1 is this machine's own as ever.
type world struct {
	t     testing.TB
	host  client.NetworkHost
	wall  *client.Wall
	mu    sync.Mutex // guards the fields below
	names map[string][]string
	asked []string
}

const publicBlock = "127.77.0.0/16"

func newWorld(t testing.TB) *world {
	t.Helper()
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	w := &world{t: t, names: map[string][]string{}}
	w.host = client.NetworkHost{Resolver: w.nameServer(), Public: []netip.Prefix{netip.MustParsePrefix(publicBlock)}, Ports: map[uint16]uint16{}}
	w.wall = w.startWall()
	return w
}

func (w *world) startWall() *client.Wall {
	wall, err := client.StartWall(w.t.Context(), client.Config{Program: filepath.Join(sandboxtest.Bin(), "garita-engine"), Log: os.Stderr})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = wall.Close() })
	return wall
}

// nameServer answers for the world's names and writes down what it was asked.
func (w *world) nameServer() string {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer := w.answer(buf[:n]); answer != nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

func (w *world) answer(message []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(message) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.asked, name) {
		w.asked = append(w.asked, name)
	}
	out := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	addresses, known := w.names[name]
	if !known {
		out.RCode = dnsmessage.RCodeNameError
	} else if q.Type == dnsmessage.TypeA && len(addresses) > 0 {
		ip := netip.MustParseAddr(addresses[0])
		if len(addresses) > 1 { // one after the other, the last one for ever
			w.names[name] = addresses[1:]
		}
		out.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: ip.As4()},
		}}
	}
	packed, err := out.Pack()
	if err != nil {
		return nil
	}
	return packed
}

func (w *world) name(name string, addresses ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[name] = addresses
}

func (w *world) lookedUp() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

// listen opens a port at address that the world reaches as port.
func (w *world) listen(address string, port uint16) net.Listener {
	w.t.Helper()
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = l.Close() })
	at, _ := netip.ParseAddrPort(l.Addr().String())
	w.host.Ports[port] = at.Port()
	return l
}

// web serves h over TLS at port 443 and in the clear at port 80 of address.
func (w *world) web(address string, h http.Handler) {
	w.t.Helper()
	secure := httptest.NewUnstartedServer(h)
	_ = secure.Listener.Close()
	secure.Listener = w.listen(address, 443)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	w.t.Cleanup(secure.Close)
	w.clear(address, h)
}

// clear serves h without TLS at port 80 of address.
func (w *world) clear(address string, h http.Handler) {
	w.t.Helper()
	srv := httptest.NewUnstartedServer(h)
	_ = srv.Listener.Close()
	srv.Listener = w.listen(address, 80)
	srv.Start()
	w.t.Cleanup(srv.Close)
}

// inhabitant is a sandbox in the world.
type inhabitant struct {
	t        testing.TB
	instance sandbox.Instance
	pipes    *sandboxtest.Pipes
	out      *client.WayOut
	launch   sandbox.Launch

	mu   sync.Mutex // guards seen
	seen []client.NetworkEvent
	more chan struct{}
}

// settle starts a shell behind the wall, to which each line is a command.
func (w *world) settle(e *client.Engine, l sandbox.Allowlist) *inhabitant {
	w.t.Helper()
	return w.settleAs(e, sandboxtest.Shell(`while read -r line; do eval "$line" 2>&1 | tr '\n' ' '; echo; done`), client.Sandbox{Rules: l})
}

func (w *world) settleAs(e *client.Engine, launch sandbox.Launch, s client.Sandbox) *inhabitant {
	w.t.Helper()
	launch.Network = s.Rules
	launch.Env = map[string]string{"NODE_TLS_REJECT_UNAUTHORIZED": "0", "NODE_NO_WARNINGS": "1", "GIT_SSL_NO_VERIFY": "1", "NPM_CONFIG_STRICT_SSL": "false"}
	s.ID, s.Host = launch.ID, w.host
	in := &inhabitant{t: w.t, launch: launch, more: make(chan struct{})}
	var err error
	if in.out, err = w.wall.OpenWayOut(w.t.Context(), s, in.see); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = in.out.Close() })
	in.instance, in.pipes = sandboxtest.Start(w.t, networked{e, in.out}, launch)
	return in
}

// networked starts sandboxes with a way out.
type networked struct {
	*client.Engine
	out *client.WayOut
}

func (n networked) Start(ctx context.Context, l sandbox.Launch, io sandbox.Stdio) (sandbox.Instance, error) {
	return n.StartNetworked(ctx, l, io, n.out.File)
}

func (in *inhabitant) see(e client.NetworkEvent) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.seen = append(in.seen, e)
	close(in.more)
	in.more = make(chan struct{})
}

// run runs a line of shell inside.
func (in *inhabitant) run(line string) string {
	in.t.Helper()
	return strings.TrimSpace(in.pipes.Line(in.t, line))
}

// await waits until an event is as wanted.
func (in *inhabitant) await(what string, is func(client.NetworkEvent) bool) client.NetworkEvent {
	in.t.Helper()
	deadline := time.After(15 * time.Second)
	for from := 0; ; {
		in.mu.Lock()
		seen, more := in.seen, in.more
		in.mu.Unlock()
		for ; from < len(seen); from++ {
			if is(seen[from]) {
				return seen[from]
			}
		}
		select {
		case <-more:
		case <-deadline:
			in.t.Fatalf("not seen: %s; seen: %s", what, in.story())
		}
	}
}

func (in *inhabitant) story() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	var b strings.Builder
	for _, e := range in.seen {
		switch {
		case e.Denied != nil:
			fmt.Fprintf(&b, "\n  denied %s %s:%d %s %s", e.Denied.Kind, e.Denied.Host, e.Denied.Port, e.Denied.Address, e.Denied.Why)
		case e.Opened != nil:
			fmt.Fprintf(&b, "\n  opened %d %s:%d %s", e.Opened.ID, e.Opened.Host, e.Opened.Port, e.Opened.Address)
		case e.Ended != nil:
			fmt.Fprintf(&b, "\n  ended %d %d/%d %s", e.Ended.ID, e.Ended.Sent, e.Ended.Received, e.Ended.Why)
		case e.Failed != "":
			fmt.Fprintf(&b, "\n  failed %s", e.Failed)
		}
	}
	return b.String()
}

// denied waits for a denial of host at port.
func (in *inhabitant) denied(kind sandbox.DenialKind, host string, port uint16) sandbox.Denial {
	in.t.Helper()
	e := in.await(fmt.Sprintf("a denial (%s) of %s:%d", kind, host, port), func(e client.NetworkEvent) bool {
		return e.Denied != nil && e.Denied.Kind == kind && e.Denied.Host == host && e.Denied.Port == port
	})
	if e.Denied.Why == "" {
		in.t.Errorf("the denial of %s:%d does not say why", host, port)
	}
	return *e.Denied
}

func rules(t testing.TB, texts ...string) sandbox.Allowlist {
	t.Helper()
	var l sandbox.Allowlist
	for _, text := range texts {
		e, err := sandbox.ParseEndpoint(text)
		if err != nil {
			t.Fatal(err)
		}
		l.Endpoints = append(l.Endpoints, e)
	}
	return l
}
