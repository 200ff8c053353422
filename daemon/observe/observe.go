// Package observe turns what a server did while a person watched it into the least that it needs.
//
// It is pure: a Log is told what happened, Propose says what the server's definition would be if it
// were to allow just that, and why. What was denied is never proposed, what would give the server
// more than it has is a suggestion that a person picks or not, and every text that comes from the
// server is bounded and made visible.
package observe

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// Kind is what was done.
type Kind string

// The kinds of Thing.
const (
	Tool    Kind = "tool"    // was called
	Host    Kind = "host"    // "api.github.com:443" was reached
	Command Kind = "command" // was executed: its program, then its arguments
	Path    Kind = "path"    // was looked for and is not there inside
	Secret  Kind = "secret"  // was used
	Change  Kind = "change"  // a file of the workspace was changed
	Mount   Kind = "mount"   // something in it was looked for; What is where it is inside
)

// Thing is something that the server did, as often as it did it. Its texts are visible.
type Thing struct {
	Kind    Kind
	What    string
	Program string            // of a command
	Exec    sandbox.Execution // of a command
	Raw     string            // as the server wrote it; "" where that is not fit to be proposed, for some of it is hidden
	Write   bool              // of a path: it was to be written
	Count   int               // how often it was done
	Denied  int               // how often it was refused
	// In are the tools of the calls during which it was done, and Alone says that it was also done while
	// no call was under way.
	In    []string
	Alone bool
	First time.Time
	Last  time.Time
}

const (
	// maxThings bounds what is kept; more is counted.
	maxThings = 3000
	// maxIn bounds Thing.In.
	maxIn = 20
	// maxText bounds a text of the server's, in bytes.
	maxText = 300
	// maxSpans is how many calls that have ended are remembered, to tell what was done in them.
	maxSpans = 200
)

// Log is what a server has done so far. The zero Log is empty. Its methods may not overlap.
type Log struct {
	things []*Thing
	index  map[string]*Thing
	spans  []span
	Lost   int // things that were not kept
}

// span is one call under way, or one that has ended.
type span struct {
	call  approvals.CallID
	tool  string
	begin time.Time
	end   time.Time // zero while it is under way
}

// Begin and End say that a call of a tool was under way.
func (l *Log) Begin(call approvals.CallID, tool string, at time.Time) {
	if len(l.spans) >= maxSpans {
		l.spans = slices.Delete(l.spans, 0, 1)
	}
	l.spans = append(l.spans, span{call: call, tool: Visible(tool), begin: at})
}

// End says that a call is over.
func (l *Log) End(call approvals.CallID, at time.Time) {
	for i := range l.spans {
		if l.spans[i].call == call {
			l.spans[i].end = at
		}
	}
}

// Event is something to be noted.
type Event struct {
	Kind   Kind
	What   string            // hostile
	Exec   sandbox.Execution // of a command; hostile
	Write  bool
	Denied bool
	Count  int // 0 means once
	At     time.Time
	In     string // the tool of the call it was done in, where that is known; else the calls then under way
}

// Note takes up one event.
func (l *Log) Note(e Event) {
	t := l.thing(e)
	if t == nil {
		l.Lost++
		return
	}
	n := max(e.Count, 1)
	if e.Denied {
		t.Denied += n
	} else {
		t.Count += n
	}
	t.Write, t.Last = t.Write || e.Write, e.At
	l.attribute(t, e)
}

func (l *Log) thing(e Event) *Thing {
	what := Visible(e.What)
	if e.Kind == Command {
		what = commandLine(e.What, e.Exec.Argv)
	}
	key := string(e.Kind) + " " + e.What + " " + what
	if t := l.index[key]; t != nil || len(l.things) >= maxThings {
		return t
	}
	t := &Thing{Kind: e.Kind, What: what, First: e.At}
	if plain(e.What) {
		t.Raw = e.What
	}
	if e.Kind == Command {
		t.Program, t.Exec = Visible(e.What), e.Exec
		if slices.ContainsFunc(e.Exec.Argv, func(w string) bool { return !plain(w) }) {
			t.Raw = ""
		}
	}
	if l.index == nil {
		l.index = map[string]*Thing{}
	}
	l.index[key] = t
	l.things = append(l.things, t)
	return t
}

// attribute says in which calls it was done.
func (l *Log) attribute(t *Thing, e Event) {
	tools := []string{Visible(e.In)}
	if e.In == "" {
		tools = l.underWay(e.At)
	}
	t.Alone = t.Alone || len(tools) == 0
	for _, tool := range tools {
		if len(t.In) < maxIn && !slices.Contains(t.In, tool) {
			t.In = append(t.In, tool)
		}
	}
}

func (l *Log) underWay(at time.Time) []string {
	var tools []string
	for _, s := range l.spans {
		if !at.Before(s.begin) && (s.end.IsZero() || !at.After(s.end)) {
			tools = append(tools, s.tool)
		}
	}
	return tools
}

// Things are copies of what was done, the first first.
func (l *Log) Things() []Thing {
	out := make([]Thing, 0, len(l.things))
	for _, t := range l.things {
		one := *t
		one.In = slices.Clone(t.In)
		out = append(out, one)
	}
	return out
}

// of is what was done of one kind.
func of(kind Kind, things []Thing) []Thing {
	return slices.DeleteFunc(slices.Clone(things), func(t Thing) bool { return t.Kind != kind })
}

// commandLine is a command as a person would read it.
func commandLine(program string, argv []string) string {
	words := []string{program}
	if len(argv) > 0 {
		words = append(words, argv[1:]...)
	}
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " '\"\\$&|;<>()`*?[]{}~#!") {
			words[i] = strconv.Quote(w)
		}
	}
	return Visible(strings.Join(words, " "))
}

// Visible is a text with what a person cannot see written out, and cut where it is too long.
func Visible(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	if plain(s) {
		return s
	}
	quoted := strconv.QuoteToASCII(s)
	return quoted[1 : len(quoted)-1]
}

// plain says whether a text shows as what it is: nothing in it is hidden, or turns text around.
func plain(s string) bool {
	return len(s) <= maxText+len("…") && !strings.ContainsFunc(s, func(r rune) bool { return !sandbox.Seen(r) })
}
