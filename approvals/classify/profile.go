package classify

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// Profile is what we know of one server: what its tools do, and how to tell their calls. It is
// knowledge and never a grant, and it holds only for tools whose arguments are those it knows.
type Profile struct {
	Version int              `json:"version"` // of this format; 1
	Name    string           `json:"name"`    // the file's, without its ending
	Match   Match            `json:"match"`
	Tools   map[string]*Tool `json:"tools"`
}

// Match says which servers a profile is about: by what is run, never by what it says of itself.
// Package names and image repositories stand without version, tag and digest.
type Match struct {
	NPM    []string `json:"npm,omitempty"`
	PyPI   []string `json:"pypi,omitempty"`
	Image  []string `json:"image,omitempty"`
	Module []string `json:"module,omitempty"` // Go import paths
	URL    []string `json:"url,omitempty"`    // of servers that run elsewhere, whole
}

// Tool is what a profile knows of one tool.
type Tool struct {
	Class     approvals.Class `json:"class"`               // where no rule decides
	Args      string          `json:"args,omitempty"`      // every argument the tool is known to declare, separated by spaces
	Rules     []ToolRule      `json:"rules,omitempty"`     // the first that matches the arguments decides
	Query     string          `json:"query,omitempty"`     // "sql:NAME": the argument NAME is a query and decides; sql, pipeline, graphql or http
	Sensitive string          `json:"sensitive,omitempty"` // as in Verdict
	Say       string          `json:"say,omitempty"`       // template of the sentence; see say.go

	profile string
	args    map[string]bool
	folded  map[string]bool // args without regard to case
	query   queried
}

// ToolRule gives calls with certain arguments a class.
type ToolRule struct {
	// When holds, by argument, the values that match: a scalar or a list of them. null is an argument
	// that is missing, null, false or empty; "*" is any that is not.
	When      map[string]jsontext.Value `json:"when"`
	Class     approvals.Class           `json:"class"`
	Sensitive string                    `json:"sensitive,omitempty"`
	Say       string                    `json:"say,omitempty"`

	when []condition
}

// condition is one member of When.
type condition struct {
	argument string
	values   []jsontext.Value
}

// Profiles are the profiles there are. The zero Profiles are none.
type Profiles struct {
	all []*Profile
	by  map[string]*Profile // by "npm:NAME", "image:REPOSITORY" …
}

// LoadProfiles reads every .json file at the top of dir. One that is wrong is an error that names
// it: profiles are shipped, not foreign.
func LoadProfiles(dir fs.FS) (Profiles, error) {
	files, err := fs.Glob(dir, "*.json")
	if err != nil {
		return Profiles{}, fmt.Errorf("find profiles: %w", err)
	}
	out := Profiles{by: make(map[string]*Profile)}
	for _, name := range files {
		b, err := fs.ReadFile(dir, name)
		if err != nil {
			return Profiles{}, fmt.Errorf("read profile %s: %w", name, err)
		}
		p, err := parseProfile(b)
		if err == nil && p.Name != strings.TrimSuffix(name, ".json") {
			err = fmt.Errorf("its name is %q", p.Name)
		}
		if err == nil {
			err = out.add(p)
		}
		if err != nil {
			return Profiles{}, fmt.Errorf("profile %s: %w", name, err)
		}
	}
	return out, nil
}

func (p *Profiles) add(one *Profile) error {
	for _, key := range one.Match.keys() {
		if p.by[key] != nil {
			return fmt.Errorf("%s is already matched by profile %s", key, p.by[key].Name)
		}
		p.by[key] = one
	}
	p.all = append(p.all, one)
	return nil
}

func (m Match) keys() (keys []string) {
	for _, kind := range []struct {
		name string
		list []string
	}{{"npm", m.NPM}, {"pypi", m.PyPI}, {"image", m.Image}, {"module", m.Module}, {"url", m.URL}} {
		for _, s := range kind.list {
			keys = append(keys, kind.name+":"+s)
		}
	}
	return keys
}

func parseProfile(b []byte) (*Profile, error) {
	var p Profile
	if err := json.Unmarshal(b, &p, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	if p.Version != 1 {
		return nil, fmt.Errorf("its version is %d, and only 1 is known", p.Version)
	}
	if len(p.Match.keys()) == 0 || len(p.Tools) == 0 {
		return nil, errors.New("it matches nothing, or knows no tool")
	}
	for name, t := range p.Tools {
		if err := t.complete(p.Name); err != nil {
			return nil, fmt.Errorf("tool %s: %w", name, err)
		}
	}
	return &p, nil
}

// complete checks a tool and works out what calls need.
func (t *Tool) complete(profile string) error {
	t.profile, t.args, t.folded = profile, set(t.Args), map[string]bool{}
	for name := range t.args {
		t.folded[approvals.FoldedName(name)] = true
	}
	if t.Query != "" {
		kind, argument, _ := strings.Cut(t.Query, ":")
		t.query = queried{argument, language(kind)}
		if !t.args[argument] || !slices.Contains([]language{sqlText, pipeline, graphQL, httpMethod}, t.query.language) {
			return fmt.Errorf("query %q names no argument and language", t.Query)
		}
	}
	if !definite(t.Class) {
		return fmt.Errorf("class %q", t.Class)
	}
	for i := range t.Rules {
		if err := t.Rules[i].complete(t.args); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *ToolRule) complete(args map[string]bool) error {
	if !definite(r.Class) || len(r.When) == 0 {
		return fmt.Errorf("class %q when %d arguments", r.Class, len(r.When))
	}
	for name, v := range r.When {
		if !args[name] {
			return fmt.Errorf("argument %q is not among args", name)
		}
		c := condition{argument: name, values: []jsontext.Value{v}}
		if v.Kind() == '[' {
			if err := json.Unmarshal(v, &c.values); err != nil {
				return fmt.Errorf("argument %q: %w", name, err)
			}
		}
		r.when = append(r.when, c)
	}
	return nil
}

func definite(c approvals.Class) bool {
	switch c {
	case approvals.Read, approvals.Write, approvals.Destroy, approvals.Execute:
		return true
	default:
		return false
	}
}

// Of is the profile of the server that src declares; nil where there is none. installed is the
// package it really runs, nil where that is not known yet.
func (p Profiles) Of(src sandbox.Source, installed *sandbox.Package) *Profile {
	switch {
	case src.URL != "":
		return p.by["url:"+strings.TrimSuffix(src.URL, "/")]
	case src.Image != "":
		return p.by["image:"+repository(src.Image)]
	case installed != nil && !installed.FromIndex():
		return nil // its name is its own word
	case installed != nil:
		return p.by[string(installed.Ecosystem)+":"+installed.Name]
	}
	if ref, _, ok, err := sandbox.ParseCommand(src.Command); ok && err == nil && !ref.Nameless() {
		return p.by[string(ref.Ecosystem)+":"+ref.Name]
	}
	return p.by["module:"+goRun(src.Command)]
}

// Named is the profile a person means: by its own name, or by a package, image, module or URL, with
// or without a version and its kind before it ("npm:…"); nil where there is none.
func (p Profiles) Named(name string) *Profile {
	for _, one := range p.all {
		if one.Name == name {
			return one
		}
	}
	for _, n := range []string{name, unversioned(name), repository(name), strings.TrimSuffix(name, "/")} {
		for _, kind := range []string{"", "npm:", "pypi:", "image:", "module:", "url:"} {
			if found := p.by[kind+n]; found != nil {
				return found
			}
		}
	}
	return nil
}

// Names are the profiles' own names, sorted.
func (p Profiles) Names() []string {
	var names []string
	for _, one := range p.all {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	return names
}

// unversioned cuts a version off a package's name.
func unversioned(name string) string {
	if i := strings.LastIndexAny(name, "@"); i > 0 {
		name = name[:i]
	}
	name, _, _ = strings.Cut(name, "==")
	return name
}

// repository is an image reference without tag, digest and the host that goes without saying.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return strings.TrimPrefix(strings.TrimPrefix(image, "docker.io/"), "library/")
}

// goRun is the module path of a command like go run PATH@VERSION; "" for any other.
func goRun(argv []string) string {
	if len(argv) < 3 || path.Base(argv[0]) != "go" || argv[1] != "run" {
		return ""
	}
	return unversioned(argv[2])
}

// Prepare judges d by what the profile knows of it, where it knows a tool of that name with those
// arguments; otherwise by its own words. p may be nil.
func (p *Profile) Prepare(d Definition) Prepared {
	out := Prepare(d)
	if p == nil {
		return out
	}
	t := p.Tools[d.Name]
	if t == nil || !t.fits(out.declared) {
		return out
	}
	out.known, out.Profile = t, p.Name
	out.Class, out.Why, out.Sensitive = t.class(), t.why(), t.Sensitive
	out.watched, out.query = nil, queried{}
	if readHints(d.Annotations).destructive && out.Class == approvals.Read {
		out.Class, out.Why, out.known = approvals.Destroy, "Its author says it is destructive.", nil
	}
	return out
}

// fits says whether everything a tool declares is known.
func (t *Tool) fits(declared []property) bool {
	for _, p := range declared {
		if p.depth == 0 && !t.args[p.name] {
			return false
		}
	}
	return true
}

func (t *Tool) expects(argument string) bool { return t.args[argument] }

// class is the tool's own, or Depends where the arguments may change it.
func (t *Tool) class() approvals.Class {
	if t.query.argument != "" || slices.ContainsFunc(t.Rules, func(r ToolRule) bool { return r.Class != t.Class }) {
		return approvals.Depends
	}
	return t.Class
}

func (t *Tool) why() string {
	if t.class() == approvals.Depends {
		return fmt.Sprintf("Its arguments decide, as the profile %s says.", t.profile)
	}
	return fmt.Sprintf("What Garita knows of %s says so.", t.profile)
}

// settle decides one call by the profile's rules.
func (t *Tool) settle(args []argument) Verdict {
	for _, r := range t.Rules {
		if i := slices.IndexFunc(r.when, func(c condition) bool { return !c.holds(args) }); i < 0 {
			return Verdict{Class: r.Class, Why: fmt.Sprintf("What Garita knows of %s says so for %s.", t.profile, r.told(args)), Sensitive: r.Sensitive}
		}
	}
	if t.query.argument != "" {
		if v := t.query.settle(args); v.Class != approvals.Write || v.Why != "It was given no query." {
			return v
		}
	}
	return Verdict{Class: t.Class, Why: fmt.Sprintf("What Garita knows of %s says so.", t.profile)}
}

// told is the arguments by which a rule matched, for people.
func (r ToolRule) told(args []argument) string {
	var parts []string
	for _, c := range r.when {
		part := "no " + c.argument
		if a, given := value(args, c.argument); given {
			part = c.argument + "=" + limit(Visible(string(a.raw)), 40)
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// holds says whether an argument has one of the values.
func (c condition) holds(args []argument) bool {
	a, given := value(args, c.argument)
	return slices.ContainsFunc(c.values, func(v jsontext.Value) bool {
		switch {
		case v.Kind() == 'n':
			return !given
		case string(v) == `"*"`:
			return given
		case v.Kind() == '"' && a.kind == '"':
			text, err := jsontext.AppendUnquote(nil, v)
			return err == nil && string(text) == a.text
		}
		return given && string(v) == string(a.raw)
	})
}

// value is an argument that is there and neither null, false nor empty.
func value(args []argument, name string) (argument, bool) {
	for _, a := range args {
		if a.name == name {
			empty := a.kind == 'n' || a.kind == 'f' || a.kind == '"' && a.text == "" || string(a.raw) == "[]" || string(a.raw) == "{}"
			return a, !empty
		}
	}
	return argument{}, false
}
