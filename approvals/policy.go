package approvals

import (
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/garita-dev/garita/sandbox"
)

// Policy is a person's ordered rules: the first that matches a call decides about it, and a call
// that none matches is decided by the default policy. The zero Policy has no rules.
type Policy struct {
	Rules  []Rule
	Digest sandbox.Digest // of the file's bytes; "" for the zero Policy
	// Projects are the rules a person accepted with folders, a list for each. Within a list the first
	// that matches counts; it decides where none of Rules does, and else can only make stricter.
	Projects [][]Rule
	// ReadsAsk takes the default policy's leave from reads: what no rule matches asks. It stands in
	// for a file that could not be read when nothing was in force before.
	ReadsAsk bool
}

// Rule is one line of a Policy. Empty lists match everything; in patterns * stands for any
// characters and ? for one, everything else for itself, and the whole value must match.
type Rule struct {
	Name       string                  // the person's own word for it; may be empty
	Origin     string                  // where it stands: "policy.yaml:12"
	Principals []string                // patterns of what Principal.Names says
	Servers    []string                // patterns
	Tools      []string                // patterns
	Classes    []Class                 // never Depends
	Modes      []sandbox.WorkspaceMode // a call without a workspace is None
	Sensitive  *bool                   // nil matches both
	When       Condition               // nil always holds
	// Folder limits the rule to servers that are given this absolute folder; "" does not. It is set for
	// the rules of a project. To allow, all that a server is given must lie inside; to ask and to deny
	// it is enough that one of its folders lies inside, or around it.
	Folder string
	Effect Effect
	Reason string // the person's words for why; may be empty
	// CoversRisk lets a rule that allows reach calls whose arguments look like credentials or are
	// very large. Without it such a call asks although the rule matches.
	CoversRisk bool
}

// Condition is what a rule asks of a call beyond names: its arguments, the time. It is pure but for
// now. An error means that it cannot be told; then a rule that allows does not match, and every
// other does.
type Condition interface {
	Holds(c Call, now time.Time) (bool, error)
	// String is the condition as the person wrote it.
	String() string
}

// Part is one thing a Rule asks of a call, by its name in the file.
type Part string

// The parts of a rule, in the order they are looked at.
const (
	PartPrincipal Part = "agents"
	PartServer    Part = "servers"
	PartTool      Part = "tools"
	PartClass     Part = "classes"
	PartMode      Part = "modes"
	PartSensitive Part = "sensitive"
	PartFolder    Part = "folder"
	PartWhen      Part = "when"
)

// Match finds the rule that decides about c. It is pure, and false where none does.
func (p Policy) Match(c Call, now time.Time) (Rule, bool) {
	found, ok := first(p.Rules, c, now)
	for _, rules := range p.Projects {
		r, matches := first(rules, c, now)
		if matches && (!ok || r.Effect.strictness() > found.Effect.strictness()) {
			found, ok = r, true
		}
	}
	return found, ok
}

func first(rules []Rule, c Call, now time.Time) (Rule, bool) {
	for _, r := range rules {
		if r.Matches(c, now) {
			return r, true
		}
	}
	return Rule{}, false
}

// strictness orders effects; what is none counts as Deny.
func (e Effect) strictness() int {
	switch e {
	case Allow:
		return 0
	case Ask:
		return 1
	default:
		return 2
	}
}

// Matches says whether r is about c.
func (r Rule) Matches(c Call, now time.Time) bool {
	for _, part := range namedParts {
		if !r.fits(part, c) {
			return false
		}
	}
	holds, _ := r.holds(c, now)
	return holds
}

// Misses lists the parts of r that c does not fit, in their order; none when r matches. trouble is
// why the condition could not be told, if it could not: r then matches unless it allows.
func (r Rule) Misses(c Call, now time.Time) (parts []Part, trouble error) {
	for _, part := range namedParts {
		if !r.fits(part, c) {
			parts = append(parts, part)
		}
	}
	holds, trouble := r.holds(c, now)
	if !holds {
		parts = append(parts, PartWhen)
	}
	return parts, trouble
}

// Label names r for people: its own name and where it stands.
func (r Rule) Label() string {
	switch {
	case r.Name == "":
		return "rule " + r.Origin
	case r.Origin == "":
		return "rule “" + r.Name + "”"
	}
	return "rule “" + r.Name + "” (" + r.Origin + ")"
}

// namedParts are all parts but the condition, which costs most and is looked at last.
var namedParts = [...]Part{PartPrincipal, PartServer, PartTool, PartClass, PartMode, PartSensitive, PartFolder}

func (r Rule) fits(p Part, c Call) bool {
	switch p {
	case PartPrincipal:
		return len(r.Principals) == 0 || slices.ContainsFunc(c.Principal.Names(), func(n string) bool { return r.matchAny(r.Principals, n) })
	case PartServer:
		return len(r.Servers) == 0 || r.matchAny(r.Servers, string(c.Server))
	case PartTool:
		return len(r.Tools) == 0 || r.matchAny(r.Tools, c.Tool)
	case PartClass:
		return len(r.Classes) == 0 || slices.Contains(r.Classes, settled(c.Class))
	case PartMode:
		return len(r.Modes) == 0 || slices.Contains(r.Modes, folder(c.Mode))
	case PartSensitive:
		return r.Sensitive == nil || *r.Sensitive == (c.Sensitive != "")
	case PartFolder:
		return r.Folder == "" || r.inFolder(c.Folders)
	default:
		return false
	}
}

func (r Rule) inFolder(given []string) bool {
	outside := func(f string) bool { return !below(f, r.Folder) }
	if r.Effect == Allow {
		return len(given) > 0 && !slices.ContainsFunc(given, outside)
	}
	return slices.ContainsFunc(given, func(f string) bool { return below(f, r.Folder) || below(r.Folder, f) })
}

// below says whether a clean path is dir or lies in it.
func below(p, dir string) bool {
	p, dir = path.Clean(p), path.Clean(dir)
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// holds evaluates the condition; what cannot be told never helps a call.
func (r Rule) holds(c Call, now time.Time) (bool, error) {
	if r.When == nil {
		return true, nil
	}
	holds, err := r.When.Holds(c, now)
	if err != nil {
		return r.Effect != Allow, err
	}
	return holds, nil
}

// folder is m, or None for a call that has no workspace.
func folder(m sandbox.WorkspaceMode) sandbox.WorkspaceMode {
	if m == "" {
		return sandbox.None
	}
	return m
}

// Names are the words a rule may know p by: as the record writes it, and without the user.
func (p Principal) Names() []string {
	full := p.String()
	if _, short, ok := strings.Cut(full, "/"); ok {
		return []string{full, short}
	}
	return []string{full}
}

// matchAny says whether a name fits one of r's patterns. Only a rule that allows is particular about
// capitals: Delete_Repo is not to slip one that denies delete_repo.
func (r Rule) matchAny(patterns []string, value string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return matchPattern(p, value) || r.Effect != Allow && matchPattern(FoldedName(p), FoldedName(value))
	})
}

// matchPattern compares a whole value. Unlike path.Match's, * also stands for slashes: a tool may
// carry one in its name, and a rule that denies must not be slipped by it.
func matchPattern(pattern, value string) bool {
	star, mark := -1, 0 // where to go on if what follows the last star does not fit
	p, v := 0, 0
	for v < len(value) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, v
			p++
		case p < len(pattern) && pattern[p] == '?':
			_, size := utf8.DecodeRuneInString(value[v:])
			p, v = p+1, v+size
		case p < len(pattern) && pattern[p] == value[v]:
			p, v = p+1, v+1
		case star >= 0:
			mark++
			p, v = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
