// Package classify says what a tool and a call of it do to the world: read, write, destroy or
// execute. It is pure, and it is one-sided: only what surely reads is called a read, because a read
// passes without a question. All it has to go by are the server's own words, so a read that passes
// is still checked by its effects.
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

// Tool says what calls of d do, and why that is thought, in one sentence. Depends means that Call
// decides by the arguments.
func Tool(d Definition) (approvals.Class, string) {
	p := Prepare(d)
	return p.Class, p.Why
}

// Call says what one call of d does and why that is thought, and tells the call as a person would:
// "change src/a.ts (2.1 kB)". arguments is the JSON text as sent, nil for none. The class is never
// Depends.
func Call(d Definition, arguments []byte) (class approvals.Class, why, sentence string) {
	return Prepare(d).Call(arguments)
}

// Prepared is a definition that has been judged: what Call needs, worked out once per listing.
type Prepared struct {
	Class approvals.Class
	Why   string // one sentence

	words    []string   // of the name
	declared []property // of the schema
	watched  []property // arguments that make a read a write, when Class is Depends
}

// Prepare judges d.
func Prepare(d Definition) Prepared {
	var p Prepared
	words, plain := split(d.Name)
	p.words = words
	declared, readable := properties(d.InputSchema)
	p.declared = declared

	switch {
	case !plain:
		p.Class, p.Why = approvals.Write, "Its name is not made of plain letters and digits."
	case !readable:
		p.Class, p.Why = approvals.Write, "Its input schema cannot be read."
	default:
		p.judge(d)
	}
	p.heed(readHints(d.Annotations))
	return p
}

// judge classifies by name, then looks for anything that speaks against a read.
func (p *Prepared) judge(d Definition) {
	p.Class, p.Why = byName(p.words, d.Description)
	if p.Class != approvals.Read {
		if name := runsCode(p.declared); name != "" && p.Class == approvals.Write {
			p.Class, p.Why = approvals.Execute, fmt.Sprintf("Its argument %q holds something to run.", name)
		}
		return
	}
	if word := contradiction(d.Title, d.Description); word != "" {
		p.Class, p.Why = approvals.Write, fmt.Sprintf("Its name reads, but its description says %q.", word)
		return
	}
	p.weigh(d)
}

// weigh lets the declared arguments speak against a read.
func (p *Prepared) weigh(d Definition) {
	last := p.words[len(p.words)-1]
	sql := speaksSQL(d.Name+" "+d.Description) || last == "query" || last == "queries"
	for _, a := range p.declared {
		switch class, why := a.against(sql); class {
		case "":
		case approvals.Depends:
			p.Class, p.Why = class, why
			p.watched = append(p.watched, a)
		default:
			p.Class, p.Why = class, why
			return
		}
	}
}

// heed raises the class by the author's own hints. They never lower it.
func (p *Prepared) heed(h hints) {
	switch {
	case h.destructive && p.Class != approvals.Execute:
		p.Class, p.Why = approvals.Destroy, "Its author says it is destructive."
	case h.unreadable && p.mayRead():
		p.Class, p.Why = approvals.Write, "Its annotations cannot be read."
	case h.writes && p.mayRead():
		// One that only some arguments make a write is rightly said to be no pure read.
		if p.Class == approvals.Read {
			p.Class, p.Why = approvals.Write, "Its name reads, but its author says it is not read-only."
		}
	}
}

func (p *Prepared) mayRead() bool { return p.Class == approvals.Read || p.Class == approvals.Depends }

// Call is the function Call, for a definition that has been prepared.
func (p Prepared) Call(arguments []byte) (class approvals.Class, why, sentence string) {
	args, readable := parseArguments(arguments)
	class, why = p.Class, p.Why
	switch {
	case !p.mayRead():
	case !readable:
		class, why = approvals.Write, "Its arguments cannot be read."
	default:
		class, why = p.settle(args)
	}
	return class, why, p.sentence(class, args)
}

// settle decides what may be a read by the arguments of one call.
func (p Prepared) settle(args []argument) (approvals.Class, string) {
	for _, a := range args {
		if p.declares(a.name) {
			continue
		}
		if class, _ := (property{name: a.name}).against(false); class != "" {
			return approvals.Write, fmt.Sprintf("It was given %q, which its schema does not declare.", a.name)
		}
	}
	if p.Class == approvals.Read {
		return p.Class, p.Why
	}
	for _, w := range p.watched {
		if reason := w.writes(args); reason != "" {
			return approvals.Write, reason
		}
	}
	return approvals.Read, "Its name reads, and none of its arguments writes."
}

func (p Prepared) declares(name string) bool {
	for _, d := range p.declared {
		if d.name == name && d.depth == 0 {
			return true
		}
	}
	return false
}
