package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// commander is a daemon with a server whose tool runs a command, and a person.
type commander struct {
	*walled
	*searcher
	mu    sync.Mutex // guards the field below
	say   func(approvals.Request) *approvals.Answer
	asked chan approvals.Request // about programs
}

// newCommander declares the server, held to rules, and attaches to it. Calls are permitted; say answers
// what is asked about programs, or says nothing.
func newCommander(t *testing.T, rules sandbox.ExecRules) *commander {
	t.Helper()
	c := &commander{walled: raiseWalled(t), asked: make(chan approvals.Request, 100)}
	c.commands.wait = 15 * time.Second
	c.supervisor.Runtime = observing{c.engine, c.observed, c.commands}
	script := filepath.Join(c.config.Paths().Home, "shell.mjs")
	if err := os.MkdirAll(filepath.Dir(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(shellScript), 0o600); err != nil {
		t.Fatal(err)
	}
	s := sandbox.Server{Name: "shell", Source: sandbox.Source{Command: []string{"node", script}}, Spec: sandbox.Spec{
		Workspace: sandbox.None, Mounts: []sandbox.Mount{{Host: script, At: script}}, Exec: &rules,
	}}
	if err := c.config.Put(s); err != nil {
		t.Fatal(err)
	}
	c.answering()
	c.searcher = c.attach(s)
	return c
}

func (c *commander) answers(say func(approvals.Request) *approvals.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.say = say
}

func (c *commander) answering() {
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	told := map[approvals.RequestID]bool{}
	one := func(r approvals.Request) {
		answer := &approvals.Answer{Approve: true}
		if r.Subject.Exec != nil {
			c.mu.Lock()
			answer = nil
			if c.say != nil {
				answer = c.say(r)
			}
			c.mu.Unlock()
			if !told[r.ID] {
				told[r.ID] = true
				c.asked <- r
			}
		}
		if answer != nil {
			answer.By, answer.Binding = "test", r.Binding
			if _, err := c.gate.Answer(ctx, r.ID, *answer); err != nil {
				c.walled.t.Logf("answer %s: %v", r.Call.Sentence, err)
			}
		}
	}
	over.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			for _, r := range c.gate.Pending() {
				one(r)
			}
		}
	})
	c.walled.t.Cleanup(func() { cancel(); over.Wait() })
}

// bodies are what is on record of a kind.
func (c *commander) bodies(kind store.Kind) (all []string) {
	c.walled.t.Helper()
	events, err := c.db.Events(context.Background(), 0, 1000, "")
	if err != nil {
		c.walled.t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == kind {
			all = append(all, string(e.Body))
		}
	}
	return all
}

// onRecord waits for an event that has all of these words.
func (c *commander) onRecord(t *testing.T, kind store.Kind, words ...string) {
	t.Helper()
	poll(t, fmt.Sprintf("%s with %q on record", kind, words), func() bool {
		for _, body := range c.bodies(kind) {
			has := true
			for _, w := range words {
				has = has && strings.Contains(body, w)
			}
			if has {
				return true
			}
		}
		return false
	})
}

func (c *commander) question(t *testing.T) approvals.Request {
	t.Helper()
	select {
	case r := <-c.asked:
		return r
	case <-time.After(time.Minute):
		t.Fatal("nobody was asked")
		panic("unreachable")
	}
}

func (c *commander) silent(t *testing.T) {
	t.Helper()
	select {
	case r := <-c.asked:
		t.Errorf("asked: %s", r.Call.Sentence)
	default:
	}
}

// TestCommandsOfAServerAreHeldToItsRules: what a tool executes is allowed, denied or asked about, and on
// record, through the whole daemon.
func TestCommandsOfAServerAreHeldToItsRules(t *testing.T) {
	c := newCommander(t, sandbox.ExecRules{Allow: []string{"sh *", "uname -s"}, Ask: []string{"id *", "date *"}, Deny: []string{"uname -m"}})
	t.Run("allowed", func(t *testing.T) {
		if got := c.run("/bin/uname -s"); !strings.Contains(got, "done Linux") {
			t.Errorf("got %s", got)
		}
		records, err := c.db.Calls(t.Context(), "", 1, "shell")
		if err != nil || len(records) != 1 || !strings.Contains(fmt.Sprint(records[0].Commands), "uname -s") {
			t.Errorf("on record: %+v, %v", records, err)
		}
	})
	t.Run("denied", func(t *testing.T) {
		for line, why := range map[string]string{"uname -m": "exec.deny has uname -m", "uname -n": "exec.allow does not have it"} {
			if got := c.run("/bin/" + line); !strings.Contains(got, "Permission denied") {
				t.Errorf("%s: %s", line, got)
			}
			c.onRecord(t, execDenied, line, why)
		}
		c.silent(t)
	})
	t.Run("asked, and denied", func(t *testing.T) {
		c.answers(func(approvals.Request) *approvals.Answer { return &approvals.Answer{} })
		if got := c.run("/usr/bin/id -g"); !strings.Contains(got, "Permission denied") {
			t.Errorf("got %s", got)
		}
		r := c.question(t)
		if x := r.Subject.Exec; r.Kind != approvals.KindCommand || !strings.Contains(x.Line(), "id -g") || x.Call == "" || r.Call.Server != "shell" {
			t.Errorf("asked %+v", r)
		}
		if got := c.run("/usr/bin/id -g"); !strings.Contains(got, "Permission denied") {
			t.Errorf("again: %s", got)
		}
		c.silent(t) // a no holds
	})
	t.Run("asked, and approved always", func(t *testing.T) {
		c.answers(func(r approvals.Request) *approvals.Answer {
			for _, o := range grants.Offers(r, nil, time.Now()) {
				if o.Permission.Scope == approvals.ScopeAlways {
					return &approvals.Answer{Approve: true, Permit: &o.Permission}
				}
			}
			t.Error("always is not offered")
			return &approvals.Answer{}
		})
		if got := c.run("/usr/bin/id -u"); !strings.Contains(got, "done ") {
			t.Errorf("got %s", got)
		}
		c.question(t)
		c.onRecord(t, execAsked, "id -u", "approved by test")
		c.answers(nil)
		if got := c.run("/usr/bin/id -u"); !strings.Contains(got, "done ") {
			t.Errorf("the next time: %s", got)
		}
		c.silent(t)
		c.onRecord(t, execAsked, "id -u", "permitted before")
	})
	t.Run("cancelled with the call", func(t *testing.T) {
		c.next++
		id := c.next
		for _, m := range []string{
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_run","arguments":{"line":"/bin/date -u"}}}`, id),
			"",
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id),
		} {
			if m == "" {
				c.question(t)
				continue
			}
			if _, err := io.WriteString(c.searcher.conn, m+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		c.onRecord(t, execAsked, "date -u", `"allowed":false`, errCallOver.Error())
		poll(t, "the question is withdrawn", func() bool { return len(c.gate.Pending()) == 0 })
		c.ask(protocol.MethodPing, "{}")
	})
	t.Run("asked, and unanswered", func(t *testing.T) {
		if got := c.run("/bin/date +%j"); !strings.Contains(got, "Permission denied") {
			t.Errorf("got %s", got)
		}
		c.question(t)
		c.onRecord(t, execAsked, "date +%j", "nobody answered in time")
	})
}
