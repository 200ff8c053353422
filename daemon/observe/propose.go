package observe

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

// Facts are what Propose asks of this machine, and what it is told besides the Log.
type Facts struct {
	// Look says what is at a path of this machine. It opens nothing.
	Look func(path string) Place
	Home string // the person's
	// Mounts are the suggested host paths that the person wants.
	Mounts []string
	// Blind is why commands and files could not be seen; "" when they were.
	Blind string
	Lost  int // what was seen in sandboxes and not kept
	// Log are the last lines that the server wrote to its log; hostile.
	Log []string
	// Tools are the names of those that the server lists, as far as that is known.
	Tools []string
	// Profile is what is known of the server's tools by their names: "read", "write" …; nil for nothing.
	Profile map[string]string
}

// Place is a path of this machine.
type Place struct {
	Exists     bool
	Real       string // without symlinks; absolute
	Refused    string // why it may never be given, in a clause; "" when it may
	Credential bool   // keys and passwords are kept there
}

// Proposal is a server's definition as it would be, and why.
type Proposal struct {
	Server sandbox.Server
	Lines  []Line
	Notes  []string // sentences
}

// Verb is what a Line does to the definition.
type Verb string

// The verbs of a Line.
const (
	Keep    Verb = "keep"
	Add     Verb = "add"
	Remove  Verb = "remove"
	Suggest Verb = "suggest" // it is added if the person picks it
	Refuse  Verb = "refuse"  // it was wanted and is not proposed
	Tell    Verb = "tell"    // it changes nothing
)

// Line is one thing of a definition. Its texts are visible.
type Line struct {
	Part  string // network | tools | workspace | mounts | secrets | commands | variables
	Verb  Verb
	What  string
	Why   string // a clause
	Count int
	In    []string
	Mount string // of a suggestion: the host path to name when it is wanted
}

// Propose is the least that s would need to do again what things say it did.
func Propose(s sandbox.Server, things []Thing, f Facts) Proposal {
	p := &Proposal{Server: s}
	p.Server.Spec.Mounts = slices.Clone(s.Spec.Mounts)
	p.secrets(of(Secret, things)) // first: they have hosts of their own
	p.network(of(Host, things))
	p.tools(of(Tool, things), f.Tools)
	p.workspace(of(Tool, things), of(Change, things))
	called := slices.ContainsFunc(of(Tool, things), func(t Thing) bool { return t.Count > 0 })
	p.unused(of(Mount, things), f, called)
	p.mounts(of(Path, things), f)
	p.commands(of(Command, things), f, called)
	p.variables(f.Log)
	p.notes(of(Tool, things), f)
	return *p
}

func (p *Proposal) add(part string, verb Verb, what, why string, t Thing) {
	p.Lines = append(p.Lines, Line{Part: part, Verb: verb, What: what, Why: why, Count: t.Count, In: t.In})
}

// tools leaves those that were called. Where none was, nobody knows which are needed, and just those that
// may not be are left out of what the server lists.
func (p *Proposal) tools(called []Thing, listed []string) {
	var allow []string
	var refused []Thing
	for _, t := range called {
		if t.Denied > 0 || t.Raw == "" {
			refused = append(refused, t)
			continue
		}
		allow = append(allow, pattern(t.Raw))
		p.add("tools", Keep, t.What, happened("called", t), t)
	}
	instead := "the tools that were called are named instead"
	if len(allow) == 0 && len(refused) > 0 {
		if allow = others(listed, p.Server.Spec.Tools.Allow, refused); len(allow) > 0 {
			instead = "the tools that are left are named instead"
			p.add("tools", Add, counted(len(allow), "other tool", "other tools"), "all that it lists but for those that are refused", Thing{})
		}
	}
	for _, t := range refused {
		p.refused(t, len(allow) > 0)
	}
	if len(allow) == 0 {
		return
	}
	slices.Sort(allow)
	for _, old := range p.Server.Spec.Tools.Allow {
		if !slices.Contains(allow, old) {
			p.add("tools", Remove, Visible(old), instead, Thing{})
		}
	}
	p.Server.Spec.Tools.Allow = allow
}

// refused tells of a tool that may not be called, and whether it is so then.
func (p *Proposal) refused(t Thing, left bool) {
	why := "you denied it"
	if t.Denied == 0 {
		why = "its name holds what cannot be seen"
	}
	if left {
		p.add("tools", Refuse, t.What, why, t)
		return
	}
	p.add("tools", Tell, t.What, why+", and it stays allowed: no other tool is known that could be named instead", t)
}

// others are patterns of the listed tools that were allowed, without those that are refused.
func others(listed, old []string, refused []Thing) (out []string) {
	for _, name := range listed {
		covers := func(pattern string) bool { ok, err := path.Match(pattern, name); return ok && err == nil }
		if !plain(name) || len(old) > 0 && !slices.ContainsFunc(old, covers) {
			continue
		}
		if !slices.ContainsFunc(refused, func(t Thing) bool { return t.Raw == name || t.What == name }) {
			out = append(out, pattern(name))
		}
	}
	return out
}

// pattern matches a tool's name and nothing else.
func pattern(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// workspace becomes read-only where calls were made and nothing was changed. In direct mode nobody
// sees what is.
func (p *Proposal) workspace(called, changed []Thing) {
	spec := &p.Server.Spec
	mode := spec.Workspace
	if mode == "" {
		mode = sandbox.Snapshot
	}
	ran := slices.ContainsFunc(called, func(t Thing) bool { return t.Count > 0 })
	switch {
	case len(spec.Folders) == 0 || mode == sandbox.None || mode == sandbox.ReadOnly:
	case mode == sandbox.Direct:
		p.add("workspace", Tell, string(mode), "what is written there directly cannot be seen", Thing{})
	case len(changed) > 0:
		p.add("workspace", Keep, string(mode), fmt.Sprintf("%s changed, such as %s", counted(len(changed), "file was", "files were"), changed[0].What), changed[0])
	case ran:
		p.add("workspace", Remove, string(mode), "nothing was written", Thing{})
		p.add("workspace", Add, string(sandbox.ReadOnly), "nothing was written", Thing{})
		spec.Workspace = sandbox.ReadOnly
	}
}

// secrets that were not used are taken away. What the server holds itself, it may have used unseen.
func (p *Proposal) secrets(used []Thing) {
	grants := p.Server.Spec.Secrets
	var left []sandbox.SecretGrant
	for _, g := range grants {
		i := slices.IndexFunc(used, func(t Thing) bool { return t.What == g.Secret && t.Count > 0 })
		switch {
		case g.Weaker():
			p.add("secrets", Keep, g.Secret, "the server holds the value itself, so nobody sees whether it uses it", Thing{})
		case i < 0:
			p.add("secrets", Remove, g.Secret, "it was never used", Thing{})
			continue
		default:
			p.add("secrets", Keep, g.Secret, happened("used", used[i]), used[i])
		}
		left = append(left, g)
	}
	p.Server.Spec.Secrets = left
}

func (p *Proposal) notes(called []Thing, f Facts) {
	if f.Blind != "" {
		p.Notes = append(p.Notes, "Which commands it ran and which files it wanted could not be seen. "+f.Blind)
	}
	if f.Lost > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("It did more than could be kept: %s not told of here.", counted(f.Lost, "thing is", "things are")))
	}
	if len(called) == 0 {
		p.Notes = append(p.Notes, "No tool was called, so nothing is said about which are needed.")
	}
	if f.Profile != nil {
		p.Notes = append(p.Notes, compared(called, f.Profile))
	}
}

// compared says how what was called compares with what is known of the server.
func compared(called []Thing, known map[string]string) string {
	var reads, others, strange []string
	for _, t := range called {
		switch class, ok := known[t.What]; {
		case !ok:
			strange = append(strange, t.What)
		case class == "read":
			reads = append(reads, t.What)
		default:
			others = append(others, t.What+" ("+class+")")
		}
	}
	var parts []string
	for _, one := range []struct {
		list []string
		what string
	}{{reads, "known to read only: "}, {others, "known to do more: "}, {strange, "not in it: "}} {
		if len(one.list) > 0 {
			parts = append(parts, one.what+strings.Join(one.list, ", "))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("Garita ships a profile of this server, with %s; none was called.", counted(len(known), "tool", "tools"))
	}
	return fmt.Sprintf("Garita ships a profile of this server. Of the tools that were called, %s. Of the profile's %d tools, %d were not called.",
		strings.Join(parts, "; "), len(known), len(known)-len(reads)-len(others))
}

// happened says how often something was done, and in which calls.
func happened(verb string, t Thing) string {
	out := verb + " " + times(t.Count)
	switch {
	case t.Kind == Tool:
		return out
	case len(t.In) > 0 && t.Alone:
		return out + ", in " + listed(t.In) + " and between calls"
	case len(t.In) > 0:
		return out + ", in " + listed(t.In)
	}
	return out + ", while no call was under way"
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

func listed(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
