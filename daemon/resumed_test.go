package daemon

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
)

// attachedTest is a client's session with a server that is a copy of this program.
type attachedTest struct {
	t      *testing.T
	d      *Daemon
	client protocol.Lines
}

func attachTest(t *testing.T) *attachedTest {
	t.Helper()
	d := newListeningTest(t)
	server := sandbox.Server{
		Name:   "slept",
		Source: sandbox.Source{Command: []string{os.Args[0]}},
		Spec:   sandbox.Spec{Env: map[string]string{listenAt: "stdio"}},
	}
	open := func(ctx context.Context) (gateway.Upstream, error) {
		i, err := d.supervisor.Start(ctx, server, supervisor.NewInstanceID(), supervisor.Owner{Group: "g", Session: "s1"})
		if err != nil {
			return nil, err
		}
		return sandboxed{life{i}, protocol.NewLines(i)}, nil
	}
	session := gateway.New(gateway.Options{
		ID: "s1", Principal: approvals.Principal{UID: 1}, Server: server, Open: open, Logger: d.log,
		Describe: d.describes(server), Tools: func([]protocol.ToolDefinition) {}, Trouble: func() string { return d.trouble("slept", nil) },
	})
	remove := d.live.add("s1", session)
	near, far := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- session.Run(context.Background(), newConnClient(far)) }()
	t.Cleanup(func() {
		_ = near.Close()
		if err := <-ended; err != nil {
			t.Errorf("the session ended with %v", err)
		}
		remove()
	})
	_ = near.SetDeadline(time.Now().Add(time.Minute))
	a := &attachedTest{t, d, protocol.NewLines(near)}
	a.ask(1, "initialize", hello)
	a.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	a.list(2)
	return a
}

func (a *attachedTest) write(raw string) {
	a.t.Helper()
	if err := a.client.Write([]byte(raw)); err != nil {
		a.t.Fatal(err)
	}
}

func (a *attachedTest) ask(id int, method, params string) protocol.Message {
	a.t.Helper()
	a.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	for {
		m, err := a.client.Read()
		if err != nil {
			a.t.Fatalf("%s: %v", method, err)
		}
		if m.Kind == protocol.Response && string(m.ID) == fmt.Sprint(id) {
			return m
		}
	}
}

// list checks that the server answers.
func (a *attachedTest) list(id int) {
	a.t.Helper()
	if m := a.ask(id, "tools/list", `{}`); m.Result == nil {
		a.t.Errorf("tools/list: %s", m.Raw)
	}
}

// pid is the one server's.
func (a *attachedTest) pid() int {
	a.t.Helper()
	all := a.d.supervisor.Instances("slept")
	if len(all) != 1 {
		a.t.Fatalf("%d instances, want one", len(all))
	}
	return all[0].Info.PID
}

func TestAfterTheMachineHasSlept(t *testing.T) {
	t.Run("report_L18", func(t *testing.T) {
		t.Run("a server that is well goes on", func(t *testing.T) {
			a := attachTest(t)
			before := a.pid()
			a.d.awake(t.Context())
			if a.list(3); a.pid() != before {
				t.Error("it was started anew")
			}
		})
		t.Run("a deaf one is stopped and started at the next request", func(t *testing.T) {
			a := attachTest(t)
			before := a.pid()
			if err := unix.Kill(before, unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			a.d.awake(t.Context())
			if state, reason := a.d.supervisor.State("slept"); state != sandbox.Stopped {
				t.Errorf("state %s (%s), want stopped", state, reason)
			}
			if a.list(3); a.pid() == before {
				t.Error("it was not started anew")
			}
			if state, _ := a.d.supervisor.State("slept"); state != sandbox.Ready {
				t.Errorf("state %s, want ready", state)
			}
		})
		t.Run("one that is gone is not called ready, and started at the next request", func(t *testing.T) {
			a := attachTest(t)
			before := a.pid()
			if err := unix.Kill(before, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			a.d.awake(t.Context())
			for deadline := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
				if state, _ := a.d.supervisor.State("slept"); state != sandbox.Ready {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("it is still called ready")
				}
			}
			if a.list(3); a.pid() == before {
				t.Error("it was not started anew")
			}
		})
	})
}
