package observe

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

const (
	// maxCommands bounds the lines about commands.
	maxCommands = 100
	// maxExact is how many command lines of one program are named one by one, where they cannot be told by
	// how they begin.
	maxExact = 10
)

// tells are programs that run whatever they are told: what their lines begin with says nothing.
var tells = regexp.MustCompile(`^(?:(?:ba|da|z|a|k|fi)?sh|busybox|toybox|env|xargs|find|nice|nohup|setsid|stdbuf|timeout|watch|sudo|doas|ssh|python[0-9.]*|node|deno|bun|perl|ruby|php|lua|awk|gawk|mawk|tclsh|ld-linux.*|make)$`)

// subcommand is a first argument that says what a program does.
var subcommand = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// commands proposes rules for just what was executed. What the server itself is needs none.
func (p *Proposal) commands(ran []Thing, f Facts, called bool) {
	if f.Blind != "" || !called || len(ran) == 0 {
		p.told(ran)
		return
	}
	if f.Lost > 0 {
		p.told(ran)
		p.Notes = append(p.Notes, "Not all that it executed is known, so no rules for commands are proposed.")
		return
	}
	old := p.Server.Spec.Exec
	next := sandbox.ExecRules{}
	if old != nil {
		next.Ask, next.Deny = slices.Clone(old.Ask), slices.Clone(old.Deny)
	}
	var denied, wanted []Thing
	for _, t := range ran[ownCommands(ran):] {
		switch {
		case t.Denied > 0:
			denied = append(denied, t)
			p.add("commands", Refuse, t.What, "you denied it", t)
		case t.Raw == "" || t.Exec.Cut || t.Exec.Path == "":
			p.add("commands", Refuse, t.What, "it holds what cannot be shown, or is a secret, or is in no file", t)
		case old != nil && old.Decide(t.Exec).Effect == sandbox.ExecAsk && !slices.Contains(old.Allow, "*"):
			p.add("commands", Keep, t.What, "it asks each time", t)
		default:
			wanted = append(wanted, t)
		}
	}
	for _, g := range grouped(wanted) {
		next.Allow = append(next.Allow, p.patterns(g, denied, old)...)
	}
	slices.Sort(next.Allow)
	next.Allow = slices.Compact(next.Allow)
	p.instead(old, next, len(wanted) > 0)
	p.Server.Spec.Exec = &next
}

// instead tells of the rules that are gone, or that there are some now.
func (p *Proposal) instead(old *sandbox.ExecRules, next sandbox.ExecRules, some bool) {
	why := "nothing like it was executed"
	if some {
		why = "what was executed is named instead"
	}
	switch {
	case old == nil && !some:
		p.add("commands", Add, "nothing", "it executed nothing but itself", Thing{})
	case old == nil:
		p.add("commands", Remove, "*", why, Thing{})
	default:
		for _, pattern := range old.Allow {
			if !slices.Contains(next.Allow, pattern) {
				p.add("commands", Remove, pattern, why, Thing{})
			}
		}
	}
}

// ownCommands is how many of the first things are the server itself: its own command, and what a script
// has for its interpreter.
func ownCommands(ran []Thing) int {
	if len(ran) == 0 || ran[0].Denied > 0 {
		return 0
	}
	if len(ran) > 1 && ran[1].Denied == 0 && slices.Contains(ran[1].Exec.Argv, ran[0].Exec.Path) && ran[0].Exec.Path != "" {
		return 2
	}
	return 1
}

// grouped are commands that do alike: of one program, and of one subcommand.
func grouped(ran []Thing) (groups [][]Thing) {
	index := map[string]int{}
	for _, t := range ran {
		key := programOf(t.Exec)
		if argv := t.Exec.Argv; len(argv) > 1 && !tells.MatchString(path.Base(key)) && subcommand.MatchString(argv[1]) {
			key += " " + argv[1]
		}
		i, known := index[key]
		if !known {
			i = len(groups)
			index[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], t)
	}
	return groups
}

// programOf is how a pattern names a program: by its name where the server could not have put it there.
func programOf(x sandbox.Execution) string {
	if x.Fixed {
		return path.Base(x.Path)
	}
	return x.Real
}

// patterns are those of a group's command lines: by how they begin, where they differ and no denied one
// begins so.
func (p *Proposal) patterns(group, denied []Thing, old *sandbox.ExecRules) []string {
	var exact []string
	for _, t := range group {
		if line := sandbox.ExecPattern(lineOf(t.Exec)); !slices.Contains(exact, line) {
			exact = append(exact, line)
		}
	}
	program := programOf(group[0].Exec)
	if len(exact) > 1 && !tells.MatchString(path.Base(program)) {
		if wide := beginning(group, program); !slices.ContainsFunc(denied, func(t Thing) bool { return t.Exec.Allows(wide) }) {
			p.pattern(wide, group, merged(group), old)
			return []string{wide}
		}
	}
	if len(exact) > maxExact {
		p.add("commands", Refuse, program, fmt.Sprintf("%d different command lines of it were run; to allow it, write a pattern yourself", len(exact)), merged(group))
		return nil
	}
	for _, line := range exact {
		same := slices.DeleteFunc(slices.Clone(group), func(t Thing) bool { return sandbox.ExecPattern(lineOf(t.Exec)) != line })
		p.pattern(line, same, merged(same), old)
	}
	return exact
}

func (p *Proposal) pattern(pattern string, group []Thing, all Thing, old *sandbox.ExecRules) {
	verb := Add
	if old != nil && slices.Contains(old.Allow, pattern) {
		verb = Keep
	}
	why := happened("run", all)
	if !group[0].Exec.Fixed {
		why += "; the server may have put it there itself"
	}
	p.add("commands", verb, pattern, why, all)
}

func lineOf(x sandbox.Execution) string {
	return sandbox.CommandLine(programOf(x), x.Argv[min(1, len(x.Argv)):])
}

// beginning is a pattern of what all of a group begin with.
func beginning(group []Thing, program string) string {
	words := group[0].Exec.Argv[min(1, len(group[0].Exec.Argv)):]
	for _, t := range group[1:] {
		argv := t.Exec.Argv[min(1, len(t.Exec.Argv)):]
		n := 0
		for n < len(words) && n < len(argv) && words[n] == argv[n] {
			n++
		}
		words = words[:n]
	}
	return sandbox.ExecPattern(sandbox.CommandLine(program, words)) + " *"
}

// merged is how often, and in which calls, all of a group was run.
func merged(group []Thing) Thing {
	one := Thing{Kind: Command}
	for _, t := range group {
		one.Count += t.Count
		one.Alone = one.Alone || t.Alone
		for _, in := range t.In {
			if !slices.Contains(one.In, in) {
				one.In = append(one.In, in)
			}
		}
	}
	return one
}

// told tells of commands by their programs, where nothing is proposed.
func (p *Proposal) told(ran []Thing) {
	var order []string
	by := map[string][]Thing{}
	for _, t := range ran {
		if by[t.Program] == nil {
			order = append(order, t.Program)
		}
		by[t.Program] = append(by[t.Program], t)
	}
	for i, program := range order {
		if i == maxCommands {
			p.Notes = append(p.Notes, fmt.Sprintf("It ran %d more programs.", len(order)-i))
			break
		}
		all := merged(by[program])
		p.add("commands", Tell, program, happened("run", all), all)
	}
}

// unused takes mounts away in which nothing was looked for.
func (p *Proposal) unused(used []Thing, f Facts, called bool) {
	if f.Blind != "" || !called {
		return
	}
	var left []sandbox.Mount
	for _, m := range p.Server.Spec.Mounts {
		i := slices.IndexFunc(used, func(t Thing) bool { return t.Raw == m.At })
		if i < 0 {
			p.add("mounts", Remove, Visible(m.Host), "nothing in it was looked for", Thing{})
			continue
		}
		left = append(left, m)
		p.add("mounts", Keep, Visible(m.Host), "it was used, first "+when(used[i]), used[i])
	}
	p.Server.Spec.Mounts = left
}

func when(t Thing) string {
	if len(t.In) > 0 {
		return "in " + listed(t.In)
	}
	return "while no call was under way"
}

// missing is how programs say that a variable is not there.
var missing = regexp.MustCompile(`(?i)\b(?:required|requires|missing|not (?:be )?(?:set|found|defined|provided|configured)|must (?:be )?(?:set|provide)|unset|undefined|please (?:set|provide|export))\b`)

// variable is how they write one.
var variable = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)

const (
	maxLogLines  = 500
	maxVariables = 20
)

// variables tells of those that the server's log says it wants and that it does not have. It is the
// server's own word, and gives nothing.
func (p *Proposal) variables(log []string) {
	var told []string
	for _, line := range log[max(0, len(log)-maxLogLines):] {
		if len(line) > maxText || !missing.MatchString(line) {
			continue
		}
		for _, name := range variable.FindAllString(line, -1) {
			if len(told) == maxVariables || slices.Contains(told, name) || p.has(name) {
				continue
			}
			told = append(told, name)
			p.add("variables", Tell, name, fmt.Sprintf("its log says %q; where that is a secret: garita secret set, then garita secret grant", Visible(strings.TrimSpace(line))), Thing{})
		}
	}
}

// has says whether the server has a variable.
func (p *Proposal) has(name string) bool {
	_, set := p.Server.Spec.Env[name]
	return set || slices.Contains(sandbox.OwnVariables, name) ||
		slices.ContainsFunc(p.Server.Spec.Secrets, func(g sandbox.SecretGrant) bool { return g.Env == name })
}
