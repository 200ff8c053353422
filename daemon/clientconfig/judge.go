package clientconfig

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

// judge makes servers of entries, for one file on one machine.
type judge struct {
	host     Host
	scope    scope
	client   string
	taken    map[string]bool       // names that no new secret may have
	declared []sandbox.SecretGrant // of the server that an entry is already
}

// draft is a server in the making. Each step may give up with a reason, a sentence's end.
type draft struct {
	j        judge
	e        entry
	command  []string
	env      map[string]string
	url      string            // of a server elsewhere, instead of a command
	headers  map[string]string // sent there
	folders  []string
	mounts   []sandbox.Mount
	moved    []Secret
	granted  []sandbox.SecretGrant
	uses     []string // what running it means, for the grants
	warnings []string
}

// entry judges one entry; name is what it would be called here.
func (j judge) entry(e entry, name sandbox.ServerName) Entry {
	out := Entry{Name: e.name, Line: e.line, Command: blanked(e.command())}
	if server, ok := ours(e.command()); ok {
		out.Ours = server
		return out
	}
	d := &draft{j: j, e: e}
	steps := []func() string{
		d.understood, d.fileOfVariables, func() string { return d.move(name) }, d.variables, func() string { return d.arguments(name) }, d.dropEnv, d.starts, d.paths,
	}
	if d.bridged(); d.e.remote && len(d.e.program) == 0 {
		out.Command = blanked([]string{d.e.address})
		steps = []func() string{d.understood, d.reachable, func() string { return d.sent(name) }}
	}
	for _, step := range steps {
		if why := step(); why != "" {
			out.Skipped, out.Warnings = why, d.warnings
			return out
		}
	}
	d.remarks()
	out.Secrets = d.moved
	out.Server, out.Grants, out.Warnings = d.server(name), d.grants(), d.warnings
	out.Command = blanked(d.command)
	if d.url != "" {
		out.Command = []string{d.url}
	}
	return out
}

// ours recognizes an entry that runs garita. The name after connect is the server it goes through.
func ours(command []string) (sandbox.ServerName, bool) {
	if len(command) < 2 || programName(command[0]) != "garita" {
		return "", false
	}
	if command[1] == "connect" && len(command) > 2 {
		if name, err := sandbox.ParseServerName(command[2]); err == nil {
			return name, true
		}
	}
	return "garita", command[1] == "connect" || command[1] == "run"
}

func (d *draft) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

func (d *draft) understood() string {
	switch {
	case d.e.malformed != "":
		return d.e.malformed
	case d.e.off:
		return "it is switched off in the client"
	case d.e.remote && len(d.e.program) == 0:
		return ""
	case len(d.e.program) == 0 || d.e.program[0] == "":
		return "it has no command"
	}
	d.command = d.e.command()
	for _, w := range d.command {
		if strings.ContainsRune(w, 0) {
			return "its command contains a NUL byte"
		}
	}
	return ""
}

// variables puts in what references stand for. One that is not known is never passed on as text.
func (d *draft) variables() string {
	var missing []string
	for i, w := range d.command {
		var m []string
		d.command[i], m = d.j.scope.expand(w)
		missing = append(missing, m...)
	}
	kept := d.e.env[:0:0]
	for _, v := range d.e.env {
		if steers(v.name) {
			kept = append(kept, v)
			continue
		}
		value, m := d.j.scope.expand(v.value)
		missing = append(missing, m...)
		v.value = value
		kept = append(kept, v)
	}
	d.e.env = kept
	if len(missing) > 0 {
		return fmt.Sprintf("it needs a value for %s; values that are asked for come with a later version", show(strings.Join(slices.Compact(missing), ", ")))
	}
	return ""
}

// dropEnv keeps the variables that are the server's own.
func (d *draft) dropEnv() string {
	for _, v := range d.e.env {
		switch {
		case !variableName.MatchString(v.name) || strings.ContainsRune(v.value, 0):
			d.warn("variable %s is left out: it is not a proper one", show(v.name))
		case steers(v.name):
			d.warn("variable %s is left out: it would change what is run or whom it trusts", show(v.name))
		default:
			if d.env == nil {
				d.env = map[string]string{}
			}
			d.env[v.name] = v.value
			if path.IsAbs(v.value) && d.j.host.Look(v.value).Kind != Missing {
				d.warn("variable %s names %s, which is not given to the server; add it to folders or mounts if it is needed", v.name, show(v.value))
			}
		}
	}
	return ""
}

// remarks are about settings that have no effect here, or another one.
func (d *draft) remarks() {
	switch n := d.e.approved; {
	case n < 0:
		d.warn("the client would call every tool without asking; that is not carried over")
	case n > 0:
		d.warn("the client would call %d tools without asking; that is not carried over", n)
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(d.e.ignored))) {
		d.warn("%s is not carried over; Garita has walls of its own", name)
	}
	if d.e.cwd != "" {
		d.warn("it starts in a home of its own, not in %s; if it has to start there, that belongs first into its folders", show(d.e.cwd))
	}
}

var windowsPath = regexp.MustCompile(`^[A-Za-z]:[\\/]|\\`)

// programName is a command's last element without what Windows and versions add.
func programName(command string) string {
	base := command[strings.LastIndexAny(command, `/\`)+1:]
	for _, ext := range []string{".exe", ".cmd", ".bat"} {
		base = strings.TrimSuffix(base, ext)
	}
	return base
}

func (d *draft) server(name sandbox.ServerName) sandbox.Server {
	s := sandbox.Server{Name: name, Source: sandbox.Source{Command: d.command}}
	if d.url != "" {
		s.Source = sandbox.Source{URL: d.url, Headers: d.headers}
	}
	s.Spec = sandbox.Spec{Workspace: sandbox.Snapshot, Folders: d.folders, Mounts: d.mounts, Env: d.env, Network: sandbox.Unsaid(), Secrets: d.granted}
	if d.url != "" {
		s.Spec = sandbox.Spec{Workspace: sandbox.None, Secrets: d.granted}
	}
	if len(d.e.tools) > 0 && !slices.Contains(d.e.tools, "*") {
		for _, t := range d.e.tools {
			s.Spec.Tools.Allow = append(s.Spec.Tools.Allow, escapePattern(t))
		}
	}
	return s
}

// escapePattern makes a tool's name a pattern that matches only it.
func escapePattern(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// grants says in words what the server gets.
func (d *draft) grants() []string {
	out := slices.Clone(d.uses)
	for _, f := range d.folders {
		out = append(out, fmt.Sprintf("read and write in a snapshot of %s; your files change only when you apply", show(f)))
	}
	for _, m := range d.mounts {
		out = append(out, "read "+show(m.Host))
	}
	if len(d.env) > 0 {
		var names []string
		for name := range d.env {
			names = append(names, show(name))
		}
		slices.Sort(names)
		out = append(out, "variables: "+strings.Join(names, ", "))
	}
	secrets := d.grantWords()
	switch {
	case d.url != "":
		return append(append(out, secrets...), "it runs elsewhere, where no wall is around it: all its tools ask")
	case len(secrets) > 0:
		return append(append(out, secrets...), "no other host before you are asked, no other secret")
	}
	return append(out, "no host before you are asked, no secret")
}
