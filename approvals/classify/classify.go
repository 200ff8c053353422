// Package classify says what a tool and a call of it do to the world: read, write, destroy or
// execute, and whether what a read returns is sensitive. It is pure, and it is one-sided: only what
// surely reads is called a read, because a read passes without a question. All it has to go by are
// the server's own words and, for servers that are known, a profile; so a read that passes is still
// checked by its effects.
package classify

import (
	"fmt"

	"github.com/garita-dev/garita/approvals"
)

// Definition is a tool as its server lists it. The last two are raw JSON, nil when missing.
type Definition struct {
	Name        string
	Title       string
	Description string
	InputSchema []byte
	Annotations []byte
}

// Verdict is what one call does.
type Verdict struct {
	Class     approvals.Class // never Depends
	Why       string          // why that is thought, one sentence
	Sensitive string          // why a read shows what is not for everybody, one clause: "it returns environment variables"; "" when it does not
	Sentence  string          // the call as a person would tell it: "change src/a.ts (2.1 kB)"; hidden characters are visible
	Profile   string          // the name of the profile that knows this tool; "" for none
}

// Call says what one call of d does. arguments is the JSON text as sent, nil for none.
func Call(d Definition, arguments []byte) Verdict { return Prepare(d).Call(arguments) }

// Prepared is a definition that has been judged: what Call needs, worked out once per listing. It
// is not changed by calls, which may overlap.
type Prepared struct {
	Class     approvals.Class // Depends means that Call decides by the arguments
	Why       string          // one sentence
	Sensitive string          // as in Verdict; of every call that reads
	Profile   string          // the name of the profile that knows this tool; "" for none

	words    []string        // of the name
	declared []property      // of the schema
	names    map[string]bool // of declared, at its top
	folded   map[string]bool // the same without regard to case
	watched  []property      // arguments that make a read a write, when Class is Depends
	query    queried         // the argument that is a query, when Class is Depends
	known    *Tool           // what the profile says
}

// Prepare judges d by its own words alone.
func Prepare(d Definition) Prepared {
	var p Prepared
	words, plain := split(d.Name)
	p.words = words
	declared, readable := properties(d.InputSchema)
	p.declared = declared
	p.noteNames()

	switch {
	case !plain:
		p.Class, p.Why = approvals.Write, "Its name is not made of plain letters and digits."
	case !readable:
		p.Class, p.Why = approvals.Write, "Its input schema cannot be read."
	default:
		p.judge(d)
	}
	p.heed(readHints(d.Annotations))
	if p.mayRead() {
		p.Sensitive = sensitive(d, words)
	}
	return p
}

// judge classifies by name, then looks for anything that speaks against a read.
func (p *Prepared) judge(d Definition) {
	if q, ok := findQuery(d, p.words, p.declared); ok {
		p.query = q
		p.Class, p.Why = approvals.Depends, fmt.Sprintf("What it does depends on the query in its argument %q.", q.argument)
		return
	}
	p.Class, p.Why = byName(p.words, d.Description)
	if p.Class != approvals.Read {
		if name := runsCode(p.declared); name != "" && p.Class == approvals.Write {
			p.Class, p.Why = approvals.Execute, fmt.Sprintf("Its argument %q holds something to run.", name)
		}
		return
	}
	if part := foreign(d.Description); part != "" {
		p.Class, p.Why = approvals.Write, fmt.Sprintf("What its description says is not understood: %q.", limit(part, 40))
		return
	}
	if word := contradiction(d.Title, d.Description); word != "" {
		p.Class, p.Why = approvals.Write, fmt.Sprintf("Its name reads, but its description says %q.", word)
		return
	}
	p.weigh(d)
}

// weigh lets the declared arguments speak against a read. A tool that is a read only by its
// description is no read at all where an argument does.
func (p *Prepared) weigh(d Definition) {
	last := p.words[len(p.words)-1]
	sql := speaksSQL(d.Name+" "+d.Description) || last == "query" || last == "queries"
	sure := readsSurely(p.words) != ""
	for _, a := range p.declared {
		switch class, why := a.against(sql); {
		case class == "" && a.isPage() && telling(d.Description) == "":
			p.Class, p.Why = approvals.Write, fmt.Sprintf("Its argument %q leads to a place of the caller's choice, and its description does not say what for.", a.name)
			return
		case class == "" && !sure && a.depth == 0 && targets[plainName(a.name)]:
			p.Class, p.Why = approvals.Write, fmt.Sprintf("Its argument %q may be where something is put.", a.name)
			return
		case class == "":
		case class == approvals.Depends && sure:
			p.Class, p.Why = class, why
			p.watched = append(p.watched, a)
		case class == approvals.Depends:
			p.Class, p.Why = approvals.Write, why
			return
		default:
			p.Class, p.Why = class, why
			return
		}
	}
}

// heed raises the class by the author's own hints. They never lower it.
func (p *Prepared) heed(h hints) {
	switch {
	case p.query.argument != "": // of a tool that runs queries the hints are about the worst of them
	case h.destructive && p.Class != approvals.Execute:
		p.Class, p.Why = approvals.Destroy, "Its author says it is destructive."
	case h.writes && p.Class == approvals.Read:
		// One that only some arguments make a write is rightly said to be no pure read.
		p.Class, p.Why = approvals.Write, "Its name reads, but its author says it is not read-only."
	}
}

func (p *Prepared) mayRead() bool { return p.Class == approvals.Read || p.Class == approvals.Depends }

// Call is the function Call, for a definition that has been prepared.
func (p Prepared) Call(arguments []byte) Verdict {
	args, readable := parseArguments(arguments)
	v := Verdict{Class: p.Class, Why: p.Why}
	switch {
	case !readable && p.mayRead():
		v = Verdict{Class: approvals.Write, Why: "Its arguments cannot be read."}
	case p.known != nil && readable:
		v = p.known.settle(args)
	case p.mayRead():
		v = p.settle(args)
	}
	if v.Class == approvals.Read {
		v = p.suspect(v, args)
	}
	if name := p.lookalike(args); name != "" && v.Class == approvals.Read {
		v = Verdict{Class: approvals.Write, Why: fmt.Sprintf("It was given %q, which some servers take for another of its arguments.", name)}
	}
	if v.Class == approvals.Depends { // nobody decided
		v.Class = approvals.Write
	}
	if v.Class == approvals.Read {
		v.Sensitive = firstOf(v.Sensitive, p.Sensitive, sensitiveArguments(args))
	} else {
		v.Sensitive = ""
	}
	summary := v.Sentence
	v.Sentence, v.Profile = p.sentence(v.Class, args, summary), p.Profile
	return v
}

// suspect looks whether a read was given anything that no read needs: an argument that its schema
// does not declare and that says it writes, or JavaScript inside a filter.
func (p Prepared) suspect(v Verdict, args []argument) Verdict {
	for _, a := range args {
		if q := filter(a.raw); q.Class != approvals.Read {
			return Verdict{Class: q.Class, Why: q.Why}
		}
		if why := leadsInside(a); why != "" {
			return Verdict{Class: approvals.Write, Why: why}
		}
		if p.names[a.name] || p.known != nil && p.known.expects(a.name) {
			continue
		}
		if class, _ := (property{name: a.name}).against(false); class != "" {
			return Verdict{Class: approvals.Write, Why: fmt.Sprintf("It was given %q, which its schema does not declare.", a.name)}
		}
	}
	return v
}

// settle decides what may be a read by the arguments of one call.
func (p Prepared) settle(args []argument) Verdict {
	switch {
	case p.Class == approvals.Read:
		return Verdict{Class: p.Class, Why: p.Why}
	case p.query.argument != "":
		return p.query.settle(args)
	}
	for _, w := range p.watched {
		if class, reason := w.writes(args); reason != "" {
			return Verdict{Class: class, Why: reason}
		}
	}
	return Verdict{Class: approvals.Read, Why: "Its name reads, and none of its arguments writes."}
}

// lookalike is the first argument that differs only in case from another one, given or declared: a
// server that looks at names without regard to case obeys one, and what was judged is the other.
func (p Prepared) lookalike(args []argument) string {
	given := make(map[string]bool, len(args))
	for _, a := range args {
		same := approvals.FoldedName(a.name)
		known := p.names[a.name] || p.known != nil && p.known.expects(a.name)
		if !known && (given[same] || p.folded[same] || p.known != nil && p.known.folded[same]) {
			return a.name
		}
		given[same] = true
	}
	return ""
}

func (p *Prepared) noteNames() {
	p.names, p.folded = map[string]bool{}, map[string]bool{}
	for _, d := range p.declared {
		if d.depth == 0 {
			p.names[d.name] = true
			p.folded[approvals.FoldedName(d.name)] = true
		}
	}
}

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}
