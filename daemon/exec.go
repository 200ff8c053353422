package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/observe"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/store"
)

// The kinds of event about programs that servers execute, where rules hold.
const (
	execDenied store.Kind = "exec.denied" // something was not executed
	execAsked  store.Kind = "exec.asked"  // a person, or an earlier answer, has decided about one
)

// execWait is how long a program waits for a person before it is denied.
const execWait = 2 * time.Minute

// commands are the sandboxes whose programs are held to rules. A nil one has none.
type commands struct {
	d       *Daemon
	running sync.WaitGroup // what follows the sandboxes, and asks
	wait    time.Duration  // execWait, but in tests

	mu   sync.Mutex // guards the field below
	open map[sandbox.InstanceID]*ruled
}

// ruled is one such sandbox.
type ruled struct {
	all     *commands
	engine  *client.Engine
	launch  sandbox.Launch
	session gateway.Options // whose it is

	mu      sync.Mutex // guards the fields below
	calls   map[approvals.CallID]time.Time
	refused map[string]time.Time // command lines that a person has denied
	asked   map[uint64]wish
}

// wish is a question that a person is asked.
type wish struct {
	call     approvals.CallID // the one call under way; "" for none, or several
	withdraw context.CancelCauseFunc
}

// errCallOver withdraws a question: who wanted the program waits for it no more.
var errCallOver = errors.New("the call that it was wanted in is over")

func newCommands(d *Daemon) *commands {
	return &commands{d: d, wait: execWait, open: map[sandbox.InstanceID]*ruled{}}
}

// follow takes up what the programs of a sandbox execute, and want to, until it ends.
func (c *commands) follow(running *client.Engine, l sandbox.Launch) {
	o := &ruled{
		all: c, engine: running, launch: l, session: c.d.ways.owner(l.ID),
		calls: map[approvals.CallID]time.Time{}, refused: map[string]time.Time{}, asked: map[uint64]wish{},
	}
	c.mu.Lock()
	c.open[l.ID] = o
	c.mu.Unlock()
	c.running.Go(o.followed)
}

func (c *commands) of(id sandbox.InstanceID) *ruled {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[id]
}

// owner is whose a sandbox is.
func (w *ways) owner(id sandbox.InstanceID) gateway.Options {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.whose[id]
}

func (o *ruled) followed() {
	defer o.end()
	counts := map[string]int{}
	for after := int64(0); ; {
		seen, err := o.engine.Sightings(context.Background(), o.launch.ID, after, sightingsWait) // it ends with the engine at the latest
		if err != nil {
			return
		}
		for _, s := range seen.List {
			after = max(after, s.Seq)
			o.see(s, counts)
		}
		if seen.Over {
			return
		}
	}
}

// end lets go of a sandbox that has ended. Nobody is asked about its programs any more.
func (o *ruled) end() {
	o.all.mu.Lock()
	delete(o.all.open, o.launch.ID)
	o.all.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range o.asked {
		w.withdraw(nil)
	}
}

// see takes up one thing that was seen; counts is how often each denial had been, by then.
func (o *ruled) see(s sandbox.Sighting, counts map[string]int) {
	switch s.Kind {
	case sandbox.SawDenied:
		key := s.Dir + "\x00" + s.Path + "\x00" + s.Pattern + s.Why + "\x00" + strings.Join(s.Argv, "\x00")
		n := s.Count - counts[key]
		if n <= 0 { // the engine had forgotten it
			n = s.Count
		}
		counts[key] = s.Count
		if len(counts) > maxDenials {
			clear(counts)
		}
		o.denied(s, n)
	case sandbox.SawAsked:
		o.ask(s)
	case sandbox.SawGone:
		o.mu.Lock()
		if w, there := o.asked[s.Ask]; there {
			w.withdraw(nil)
		}
		o.mu.Unlock()
	case sandbox.SawCommand, sandbox.SawMissing, sandbox.SawUsed:
	}
}

// maxDenials bounds how many kinds of denial are told apart in their counts.
const maxDenials = 4000

func (o *ruled) denied(s sandbox.Sighting, times int) {
	x := o.execution(s)
	why := s.Why
	switch {
	case s.Pattern != "":
		why = "exec.deny has " + s.Pattern
	case why == "":
		why = "exec.allow does not have it"
	}
	o.record(execDenied, map[string]any{
		"command": x.Line(), "path": x.Path, "dir": x.Dir, "why": why, "count": times, "cut": x.Cut, "calls": o.inFlight(),
	})
}

// execution is a program as a person is asked about it: cleaned, and without secrets.
func (o *ruled) execution(s sandbox.Sighting) approvals.Execution {
	redact := func(text string) string {
		clean := o.all.d.secrets.redactor(o.launch.Server).Log(text)
		s.Cut = s.Cut || clean != text
		return clean
	}
	x := approvals.Execution{
		Path: redact(s.Path), File: redact(s.File), Dir: redact(s.Dir), Script: redact(s.Script), Fixed: s.Fixed, Argv: []string{},
	}
	for _, w := range s.Argv {
		x.Argv = append(x.Argv, redact(w))
	}
	x.Cut = s.Cut
	return x
}

// inFlight are the calls under way, in order.
func (o *ruled) inFlight() []approvals.CallID {
	o.mu.Lock()
	defer o.mu.Unlock()
	ids := make([]approvals.CallID, 0, len(o.calls))
	for id := range o.calls {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// ask puts a program to a person, or to what was answered before. It does not wait.
func (o *ruled) ask(s sandbox.Sighting) {
	x := o.execution(s)
	limited, cancel := context.WithTimeout(o.all.d.running, o.all.wait)
	ctx, withdraw := context.WithCancelCause(limited)
	q := o.question(x, s.Pattern)
	o.mu.Lock()
	o.asked[s.Ask] = wish{q.Subject.Exec.Call, withdraw}
	refused := time.Since(o.refused[x.Dir+"\x00"+x.Line()]) < noAgain
	o.mu.Unlock()
	o.all.running.Go(func() {
		defer cancel()
		defer withdraw(nil)
		allow, why := !refused && o.permitted(s), "permitted before"
		switch {
		case refused:
			why = "you denied it a while ago"
		case !allow:
			allow, why = o.put(ctx, q)
		}
		o.record(execAsked, map[string]any{"command": x.Line(), "path": x.Path, "dir": x.Dir, "allowed": allow, "why": why, "calls": o.inFlight()})
		o.mu.Lock()
		delete(o.asked, s.Ask)
		o.mu.Unlock()
		if err := o.engine.AnswerExec(context.WithoutCancel(ctx), o.launch.ID, s.Ask, allow, why); err != nil && o.all.d.running.Err() == nil {
			o.all.d.log.Warn("a sandbox was not told of an answer", "server", o.launch.Server, "err", err)
		}
	})
}

// permitted says whether an earlier answer covers a program. Of a server that is watched, only that counts
// which came since.
func (o *ruled) permitted(s sandbox.Sighting) bool {
	now, since := time.Now(), o.all.d.observed.since(o.launch.Server)
	return slices.ContainsFunc(o.all.d.gate.Grants(), func(g approvals.Grant) bool {
		pattern := grants.Exec(g)
		switch {
		case pattern == "", ended(g, now), g.Created.Before(since), g.Server != o.launch.Server, g.Principal != o.session.Principal, g.Spec != o.session.Spec:
			return false
		case g.Scope == approvals.ScopeSession && g.Session != o.session.ID:
			return false
		}
		return s.Execution().Allows(pattern)
	})
}

// put asks a person and waits.
func (o *ruled) put(ctx context.Context, q approvals.Question) (allow bool, why string) {
	x := q.Subject.Exec
	d, err := o.all.d.gate.Ask(ctx, q)
	if err != nil && ctx.Err() == nil {
		o.all.d.log.Warn("nobody could be asked about a command", "server", o.launch.Server, "err", err)
	}
	switch {
	case err == nil && d.Allowed():
		return true, "approved by " + d.By
	case d.Outcome == approvals.Denied:
		o.mu.Lock()
		o.refused[x.Dir+"\x00"+x.Line()] = time.Now()
		o.mu.Unlock()
		o.all.d.observed.note(o.launch.Server, func(w *observation) {
			w.log.Note(observe.Event{Kind: observe.Command, What: x.Path, Exec: x.Seen(), Denied: true, At: time.Now().UTC()})
		})
		return false, "you denied it"
	case errors.Is(context.Cause(ctx), errCallOver):
		return false, errCallOver.Error()
	}
	return false, "nobody answered in time"
}

func (o *ruled) question(x approvals.Execution, pattern string) approvals.Question {
	calls, during := o.inFlight(), "while no call was under way"
	switch len(calls) {
	case 0:
	case 1:
		x.Call, during = calls[0], "in a call"
	default:
		during = fmt.Sprintf("while %d calls were under way", len(calls))
	}
	rule, why := "exec.ask of "+string(o.launch.Server), fmt.Sprintf("The pattern %q of exec.ask has it.", pattern)
	if pattern == "" {
		rule, why = "a server that is watched asks", "No pattern of exec has it, and the server is watched."
	}
	if x.Cut {
		why += " The command line is longer than it is shown, or holds what cannot be shown."
	}
	return approvals.Question{
		About: approvals.Call{
			Session: o.session.ID, Principal: o.session.Principal, Server: o.launch.Server, Spec: o.session.Spec, Instance: o.launch.ID,
			Class: approvals.Execute, Sentence: "execute " + x.Line(), At: time.Now().UTC(),
		},
		Subject: approvals.Subject{Exec: &x},
		Why: approvals.Decision{
			Effect: approvals.Ask, Class: approvals.Execute, Rule: rule,
			Reason: fmt.Sprintf("%s It is wanted %s, in the folder %s.", why, during, observe.Visible(x.Dir)),
		},
	}
}

func (o *ruled) record(kind store.Kind, body map[string]any) {
	body["sandbox"] = o.launch.ID
	e := event(kind, o.session.Principal, body)
	e.Session, e.Server = o.session.ID, o.launch.Server
	if ids, ok := body["calls"].([]approvals.CallID); ok && len(ids) == 1 {
		e.Call = ids[0]
	}
	if _, err := o.all.d.db.Append(context.Background(), e); err != nil {
		o.all.d.log.Error("cannot record what a sandbox executes", "server", o.launch.Server, "err", err)
	}
}

// commandWatch is one call under way in a sandbox with rules for commands.
type commandWatch struct {
	ruled *ruled
	call  approvals.CallID
	began time.Time
}

// watch begins to tell what a call executes; nil where no rules hold.
func (c *commands) watch(call approvals.Call) *commandWatch {
	o := c.of(call.Instance)
	if o == nil {
		return nil
	}
	w := &commandWatch{ruled: o, call: call.ID, began: time.Now()}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls[call.ID] = w.began
	return w
}

// over takes a call from those under way, with the questions that were asked in it alone.
func (o *ruled) over(call approvals.CallID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.calls, call)
	for _, w := range o.asked {
		if w.call == call {
			w.withdraw(errCallOver)
		}
	}
}

// stop ends the watching and lists what was executed meanwhile.
func (w *commandWatch) stop(ctx context.Context) (lines []string, err error) {
	if w == nil {
		return nil, nil
	}
	w.ruled.over(w.call)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catchUp)
	defer cancel()
	seen, err := w.ruled.engine.Sightings(ctx, w.ruled.launch.ID, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("see what was executed: %w", err)
	}
	for _, s := range seen.List {
		if s.Kind != sandbox.SawCommand || s.Last.Before(w.began) {
			continue
		}
		if line := w.ruled.execution(s).Line(); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines, nil
}
