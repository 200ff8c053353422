// Package question lays out what is asked of a person, for a terminal: who wants what, where its effect
// stays, why it is asked, what was found, what exactly would be done, and how far a yes can reach. It is
// pure, and what it returns is harmless: control characters and what cannot be seen are written out.
package question

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/app/safe"
	"github.com/garita-dev/garita/daemon/api"
)

// Look is how a line is painted. No look says what the words do not.
type Look int

// The looks.
const (
	Normal Look = iota
	Bold
	Dim
	Warn
	Added
	Removed
	Place // in a file, or of a section
)

// Line is one line, harmless and no wider than was asked for.
type Line struct {
	Text string
	Look Look
}

// Page is a question, or several, laid out for a width in cells; 0 does not wrap.
type Page struct {
	width int
	lines []Line
}

// On is an empty page of a width in cells; 0 does not wrap.
func On(width int) *Page { return &Page{width: width} }

// Lines are what stands on it.
func (p *Page) Lines() []Line { return p.lines }

func (p *Page) add(l Look, text string) { p.lines = append(p.lines, Line{text, l}) }

func (p *Page) blank() {
	if n := len(p.lines); n > 0 && p.lines[n-1].Text != "" {
		p.add(Normal, "")
	}
}

// Say adds foreign or own text as a paragraph, behind an indent.
func (p *Page) Say(l Look, indent, text string) {
	text = safe.Line(text)
	if text == "" {
		return
	}
	rest := strings.Repeat(" ", ansi.StringWidth(indent))
	for i, part := range p.wrapped(text, len(rest)) {
		if i > 0 {
			indent = rest
		}
		p.add(l, indent+part)
	}
}

func (p *Page) wrapped(text string, taken int) []string {
	if p.width == 0 {
		return []string{text}
	}
	return strings.Split(ansi.Wrap(text, max(8, p.width-taken), ""), "\n")
}

// name is the width of the column of names.
const name = 9

// fact adds a named value; nothing when it has none.
func (p *Page) fact(what, value string) {
	if value != "" {
		p.Say(Normal, fmt.Sprintf("%-*s", name, what), value)
	}
}

// Code stands between bars: what begins a line has a whole one, what goes on a broken one.
const (
	bar     = "│ "
	goesOn  = "┊ "
	tabSize = 4
)

// code adds text whose every blank counts.
func (p *Page) code(look func(string) Look, text string) {
	for l := range strings.SplitSeq(strings.TrimSuffix(safe.Lines(text), "\n"), "\n") {
		l = strings.ReplaceAll(l, "\t", strings.Repeat(" ", tabSize))
		mark := bar
		parts := []string{l}
		if p.width > 0 {
			parts = strings.Split(ansi.Hardwrap(l, max(8, p.width-len([]rune(bar))), true), "\n")
		}
		for _, part := range parts {
			p.add(look(l), mark+part)
			mark = goesOn
		}
	}
}

func plainly(string) Look { return Normal }

// change paints a line of a diff.
func change(l string) Look {
	switch {
	case strings.HasPrefix(l, "@@"), strings.HasPrefix(l, "---"), strings.HasPrefix(l, "+++"):
		return Place
	case strings.HasPrefix(l, "+"):
		return Added
	case strings.HasPrefix(l, "-"):
		return Removed
	}
	return Normal
}

func (p *Page) section(title string) {
	p.blank()
	p.Say(Place, "", title)
}

// Of lays out all that matters about a: who wants what, where its effect stays, why it is asked,
// what was found, what exactly would be done, and how far a yes can reach.
func Of(a api.Approval, width int) []Line {
	p := On(width)
	p.Say(Bold, "", a.Title)
	if a.Object != "" && a.Object != a.Call.Tool && !strings.HasSuffix(a.Title, a.Object) {
		p.code(plainly, a.Object)
	}
	p.Say(Normal, "", a.Stays)
	p.findings(a)
	p.blank()
	p.facts(a)
	p.subject(a)
	if a.Diff != nil {
		p.diff(*a.Diff)
	}
	if a.Kind == "call" || a.Kind == "command" && a.Exec == nil || a.Kind == "" {
		p.arguments(a.Call.Arguments)
		p.input(a.Call.Input)
	}
	p.reaches(a.Offers)
	return p.lines
}

func (p *Page) findings(a api.Approval) {
	p.blank()
	for _, f := range a.Findings {
		p.Say(Warn, "! ", f.Text)
	}
	if a.Tool != nil {
		for _, f := range a.Tool.Findings {
			p.Say(Warn, "! ", f)
		}
	}
}

func (p *Page) facts(a api.Approval) {
	if a.Exec != nil {
		p.fact("kind", "a program to be executed")
	} else {
		p.fact("kind", kindWords(a.Kind))
	}
	call := a.Call.Server
	if a.Call.Tool != "" {
		call = fmt.Sprintf("%s of %s (%s)", a.Call.Tool, a.Call.Server, a.Call.Class)
	}
	p.fact("what", call)
	p.fact("agent", a.Call.Agent)
	p.fact("why", strings.TrimSpace(a.Call.Reason+" "+bracketed(a.Call.Rule)))
	if a.Call.Tool != "" && !strings.Contains(a.Call.Reason, strings.TrimSuffix(a.Call.ClassWhy, ".")) {
		p.fact("", a.Call.ClassWhy)
	}
	p.fact("before", a.Before)
	p.fact("reaches", a.Reaches)
}

func bracketed(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

func kindWords(kind string) string {
	switch kind {
	case "command":
		return "a tool call that runs commands or code"
	case "tool":
		return "a tool that is new or has changed"
	case "apply":
		return "changes of a workspace, to your files"
	case "network":
		return "hosts to be reached"
	case "install":
		return "a package to be installed"
	case "secret":
		return "the use of a secret"
	}
	return "a tool call"
}

// subject lays out what a question that is not about a call is about.
func (p *Page) subject(a api.Approval) {
	switch {
	case a.Tool != nil:
		p.section("What the server shows now, against what you accepted")
		if a.Tool.Before == "" {
			p.Say(Normal, "", "It is new: nothing of it has been accepted before.")
		}
		p.code(change, a.Tool.Diff)
	case a.Apply != nil:
		p.section("What would be copied to your files")
		if len(a.Apply.Paths) == 0 {
			p.Say(Normal, "", "Everything that differs and is not held back; see garita workspace diff "+a.Call.Server)
		}
		p.each(a.Apply.Paths)
	case a.Network != nil:
		title := "Hosts it wants to reach"
		if a.Network.After {
			title = "Hosts it has reached: may what came back be used?"
		}
		p.section(title)
		p.each(a.Network.Hosts)
	case a.Install != nil:
		p.section("Package")
		p.code(plainly, strings.TrimSpace(safe.Line(a.Install.Package)+"\n"+safe.Line(a.Install.Integrity)))
		if a.Install.Script != "" {
			p.section("Its install script, which would run, whole")
			p.code(plainly, a.Install.Script)
		}
	case a.Exec != nil:
		p.section("The program it wants to execute")
		p.code(plainly, safe.Line(a.Exec.Line))
		p.fact("file", safe.Line(a.Exec.Path))
		p.fact("run by", safe.Line(a.Exec.Script))
		p.fact("folder", safe.Line(a.Exec.Dir))
	case a.Secret != nil:
		p.section("The secret " + a.Secret.Secret + ", towards")
		p.each(a.Secret.Hosts)
	}
}

// each adds values one a line.
func (p *Page) each(values []string) {
	for _, v := range values {
		p.code(plainly, safe.Line(v))
	}
}

func (p *Page) diff(d api.FileDiff) {
	p.section("What would change in " + d.Path)
	p.Say(Normal, "", d.Note)
	if d.Unified != "" {
		p.code(change, d.Unified)
	}
}

// arguments adds what will be sent: every member by its name, texts as they read, with nothing left out.
func (p *Page) arguments(raw []byte) {
	if len(raw) == 0 || string(raw) == "{}" {
		p.section("No arguments")
		return
	}
	p.section(fmt.Sprintf("Arguments, as they will be sent (%d bytes)", len(raw)))
	p.object(raw)
}

// input adds the answers to what the server asked in the middle of the call.
func (p *Page) input(raw []byte) {
	if len(raw) == 0 {
		return
	}
	p.section(fmt.Sprintf("Answers to what the server asked, as they will be sent (%d bytes)", len(raw)))
	p.object(raw)
}

// object lays out a JSON object member by member.
func (p *Page) object(raw []byte) {
	members, ok := members(raw)
	if !ok {
		p.code(plainly, string(raw))
		return
	}
	for _, m := range members {
		if m.lines {
			p.Say(Dim, "", m.name+":")
			p.code(plainly, m.value)
			p.blank() // or what comes next would pass for its last line
			continue
		}
		p.code(plainly, safe.Line(m.name)+": "+safe.Line(m.value))
	}
}

// member is one argument.
type member struct {
	name, value string
	lines       bool // a text of several lines
}

// members takes a JSON object apart, in its order; ok is false for what is none.
func members(raw []byte) (out []member, ok bool) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		m := member{name: t.String()}
		v, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		out = append(out, m.with(v))
	}
	return out, true
}

// with is m with a value: a text as it reads, all else as JSON.
func (m member) with(v jsontext.Value) member {
	if v.Kind() == '"' {
		text, err := jsontext.AppendUnquote(nil, v)
		if m.value = string(text); err == nil && strings.ContainsAny(m.value, "\n\t") {
			m.lines = true
			return m
		}
		m.value = string(safe.JSON(v)) // quotes show where it begins and ends
		return m
	}
	if v.Kind() == '{' || v.Kind() == '[' {
		v = v.Clone()
		if v.Indent(jsontext.WithIndent("  ")) == nil {
			m.value, m.lines = string(safe.JSON(v)), true
			return m
		}
	}
	m.value = string(v)
	return m
}

// meaning is the title of the last section.
const meaning = "What a yes means"

// Must is how many of a question's lines a person has to have seen before a yes: all but what a longer
// one would mean, which is told again when it is chosen.
func Must(lines []Line) int {
	for i, l := range slices.Backward(lines) {
		if l.Look == Place && l.Text == meaning {
			return i
		}
	}
	return len(lines)
}

// reaches says what a yes means, and what a longer one would.
func (p *Page) reaches(offers []api.Offer) {
	if len(offers) == 0 {
		return
	}
	p.section(meaning)
	for i, o := range offers {
		p.Say(Normal, fmt.Sprintf("%d. ", i+1), ScopeWords(o.Permit)+": "+o.Words)
	}
}

// ScopeWords says how long a permission holds, in a few words.
func ScopeWords(p api.Permit) string {
	switch p.Scope {
	case "", "once":
		return "once"
	case "session":
		return "for this session"
	case "until":
		if p.Until != nil {
			return "until " + p.Until.Local().Format("15:04")
		}
		return "for a while"
	case "collect":
		return "collect"
	}
	return p.Scope
}

// Choices lays out the offers, to choose one of; chosen is the one the arrow stands at.
func Choices(offers []api.Offer, chosen, width int) (lines []Line, at int) {
	p := On(width)
	p.Say(Bold, "", "How far may a yes reach?")
	p.blank()
	for i, o := range offers {
		arrow, l := "  ", Normal
		if i == chosen {
			arrow, l, at = "> ", Bold, len(p.lines)
		}
		p.Say(l, fmt.Sprintf("%s%d. ", arrow, i+1), ScopeWords(o.Permit)+": "+o.Words)
		p.covered(o.Matches)
	}
	return p.lines, at
}

// maxCovered is how many of the calls that a permission would have covered are told.
const maxCovered = 5

func (p *Page) covered(calls []api.Matched) {
	if len(calls) == 0 {
		return
	}
	p.Say(Dim, "     ", fmt.Sprintf("of what was asked about lately it would cover %d:", len(calls)))
	for _, c := range calls[:min(len(calls), maxCovered)] {
		p.Say(Dim, "     - ", c.Sentence)
	}
}

// Together lays out a group: each question of it, none left out.
func Together(g api.ApprovalGroup, width int) []Line {
	p := On(width)
	p.Say(Bold, "", g.Title)
	p.Say(Normal, "", "One answer for all of these, as they stand here, and for no other:")
	p.blank()
	for i, m := range g.Members {
		p.Say(Normal, fmt.Sprintf("%2d. ", i+1), m.Sentence)
		if m.Object != "" && !strings.Contains(m.Sentence, m.Object) {
			p.Say(Dim, "    ", m.Object)
		}
		p.Say(Dim, "    ", m.Tool)
	}
	return p.lines
}

// Ending says how a question ended, to the person who looks at it.
func Ending(a api.Approval, own bool) string {
	by := ""
	if a.By != "" {
		by = " (" + safe.Line(a.By) + ")"
	}
	switch {
	case a.State == "approved" && own:
		return "You approved it."
	case a.State == "denied" && own:
		return "You denied it."
	case a.State == "approved", a.State == "denied":
		return "It was " + a.State + " elsewhere" + by + "."
	case a.State == "expired":
		return "It has expired: nobody answered in time. The call did not run."
	case a.State == "withdrawn":
		return "It was withdrawn: the agent cancelled it or went away. The call did not run."
	case a.State == "covered":
		return "It was allowed meanwhile by " + safe.Line(a.Rule) + "."
	case a.State == "overruled":
		return "It was refused meanwhile by " + safe.Line(a.Rule) + "."
	}
	return "It is " + safe.Line(a.State) + "."
}

// Left tells how long is left, roughly.
func Left(now, until time.Time) string {
	switch d := until.Sub(now); {
	case d <= 0:
		return "over"
	case d < time.Minute:
		return fmt.Sprintf("%ds left", int(d.Seconds()))
	default:
		return fmt.Sprintf("%dm left", int(d.Minutes()))
	}
}
