package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// model is a stub server in Go: what it does with each request. It reads its stdin to the end.
type model func(s *stub, m protocol.Message)

// stub is one life of a model.
type stub struct {
	*side
	life int
	done chan struct{} // closed at the end of its stdin
}

func (s *stub) reply(m protocol.Message, result string) {
	s.print(string(protocol.NewResult(m.ID, jsontext.Value(result))))
}
func (s *stub) print(line string) { _, _ = io.WriteString(s.side, line+"\n") }

func (s *stub) run(do model) {
	defer close(s.done)
	r := protocol.NewReader(s.side, protocol.MaxMessage)
	for {
		m, err := r.Read()
		var bad *protocol.LineError
		switch {
		case errors.As(err, &bad):
		case err != nil:
			return
		default:
			do(s, m)
		}
	}
}

// newModelWorld is a session before a server that a model plays.
func newModelWorld(do model, answers string, more func(*Options)) *world {
	w := newSessionWorld(answers, func(o *Options, w *world) {
		o.Open = func(context.Context) (Upstream, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			side := newSide()
			w.lives = append(w.lives, side)
			s := &stub{side: side, life: len(w.lives), done: make(chan struct{})}
			go s.run(do)
			return &upstream{farEnd: side.far()}, nil
		}
		if more != nil {
			more(o)
		}
	})
	return w
}

// tools is the result of tools/list with tools of these names.
func tools(names ...string) string {
	var all []string
	for _, n := range names {
		all = append(all, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{}}}`, n))
	}
	return `{"tools":[` + strings.Join(all, ",") + `]}`
}

const agreed = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"demo","version":"1"}}`

// legacyModel answers what every legacy server does, and the rest by do.
func legacyModel(list string, do model) model {
	return func(s *stub, m protocol.Message) {
		switch m.Method {
		case protocol.MethodInitialize:
			s.reply(m, agreed)
		case protocol.MethodToolsList:
			s.reply(m, list)
		case protocol.MethodPing:
			s.reply(m, `{}`)
		default:
			if do != nil {
				do(s, m)
			}
		}
	}
}

// step is one line of a replay.
type step struct {
	AtMS int            `json:"at_ms"`
	From string         `json:"from"`
	Send jsontext.Value `json:"send"`
}

// replayOf reads a replay of the field reports.
func replayOf(t *testing.T, id string) (steps []step) {
	t.Helper()
	data := reportFile(t, id+".seq.jsonl")
	for line := range bytes.Lines(data) {
		var s step
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if s.Send != nil {
			steps = append(steps, s)
		}
	}
	return steps
}

func reportFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// play says what one of the replay's clients says, at its time.
func (w *world) play(steps []step, from string) {
	began := time.Now()
	for _, s := range steps {
		if s.From != from {
			continue
		}
		<-time.After(time.Until(began.Add(time.Duration(s.AtMS) * time.Millisecond)))
		w.say(string(s.Send) + "\n")
		synctest.Wait()
	}
}

// over waits an hour, hangs up, and returns what the client saw.
func (w *world) over(t *testing.T) string {
	t.Helper()
	<-time.After(time.Hour)
	w.hangUp()
	if err := <-w.ended; err != nil {
		t.Errorf("the session ended with %v", err)
	}
	return w.client.seen()
}

// answersTo are the messages a client saw for an id.
func answersTo(seen, id string) (all []string) {
	for line := range strings.Lines(seen) {
		m, err := protocol.Parse([]byte(strings.TrimSpace(line)))
		if err == nil && m.Kind == protocol.Response && string(m.ID) == id {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

// bubble runs a test in time that passes only when nobody works.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// recorded are the outcomes of the calls of a tool, in the record's order.
func (w *world) recorded(tool string) (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.records {
		if r.Call.Tool == tool {
			all = append(all, fmt.Sprintf("%s %s", r.Decision.Outcome, r.Outcome))
		}
	}
	return all
}

// askingGate lets reads pass and answers what asks when told to.
type askingGate struct {
	readsPass
	mu      sync.Mutex
	asked   []approvals.Call
	answers chan bool
}

func (g *askingGate) Authorize(ctx context.Context, c approvals.Call) (approvals.Decision, error) {
	d := approvals.Evaluate(c, approvals.Standing{}, approvals.Policy{}, nil, time.Now())
	if d.Effect != approvals.Ask {
		return d, nil
	}
	g.mu.Lock()
	g.asked = append(g.asked, c)
	g.mu.Unlock()
	d.Effect, d.Outcome = approvals.Deny, approvals.Withdrawn
	select {
	case yes := <-g.answers:
		d.Outcome = approvals.Denied
		if yes {
			d.Effect, d.Outcome = approvals.Allow, approvals.Approved
		}
	case <-ctx.Done():
	}
	return d, nil
}
