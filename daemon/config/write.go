package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// block writes one server as lines of YAML: its name at indent, its fields two columns deeper.
// It is our own because what is written must read back as the same bytes, newlines included.
func block(indent, name string, d *declared) []string {
	w := &writer{indent: indent}
	if d == nil {
		w.add("%s:", scalar(name))
		return w.lines
	}
	w.add("%s:", scalar(name))
	w.indent += "  "
	w.text("run", d.Run)
	w.list("command", d.Command)
	w.text("image", d.Image)
	w.list("args", d.Args)
	w.text("url", d.URL)
	w.table("headers", d.Headers)
	w.text("listen", d.Listen)
	w.text("protocol", d.Protocol)
	w.text("placement", d.Placement)
	w.text("runtime", d.Runtime)
	w.text("workspace", d.Workspace)
	w.list("folders", d.Folders)
	w.mounts(d.Mounts)
	w.table("env", d.Env)
	w.network(d.Network)
	w.secrets(d.Secrets)
	w.pairs("limits", []pair{
		{"memory", scalarOr(d.Limits.Memory)},
		{"pids", number(float64(d.Limits.PIDs))},
		{"cpus", number(d.Limits.CPUs)},
		{"calls", scalarOr(d.Limits.Calls)},
		{"instances", number(float64(d.Limits.Instances))},
	})
	w.pairs("lifecycle", []pair{
		{"idle", scalarOr(d.Lifecycle.Idle)},
		{"freeze", scalarOr(d.Lifecycle.Freeze)},
		{"hard", scalarOr(d.Lifecycle.Hard)},
		{"call", scalarOr(d.Lifecycle.Call)},
		{"start", scalarOr(d.Lifecycle.Start)},
	})
	w.nested("tools", list{"allow", d.Tools.Allow})
	w.exec(d.Exec)
	w.nested("install", list{"scripts", d.Install.Scripts})
	w.nested("requests", list{"deny", d.Requests.Deny}, list{"allow", d.Requests.Allow})
	return w.lines
}

type writer struct {
	indent string
	lines  []string
}

func (w *writer) add(format string, args ...any) {
	w.lines = append(w.lines, w.indent+fmt.Sprintf(format, args...)+"\n")
}

func (w *writer) text(key, value string) {
	if value != "" {
		w.add("%s: %s", key, scalar(value))
	}
}

func (w *writer) list(key string, values []string) {
	if len(values) == 0 {
		return
	}
	w.add("%s:", key)
	for _, v := range values {
		w.add("  - %s", scalar(v))
	}
}

// list is a member that is a list.
type list struct {
	name   string
	values []string
}

// nested writes a mapping of the lists that are not empty.
func (w *writer) nested(key string, lists ...list) {
	lists = slices.DeleteFunc(lists, func(l list) bool { return len(l.values) == 0 })
	if len(lists) == 0 {
		return
	}
	w.add("%s:", key)
	for _, l := range lists {
		w.add("  %s:", l.name)
		for _, v := range l.values {
			w.add("    - %s", scalar(v))
		}
	}
}

func (w *writer) network(n *declaredNetwork) {
	switch {
	case n == nil:
		return
	case n.Word != "":
		w.add("network: %s", scalar(n.Word))
		return
	case len(n.Allow)+len(n.LAN)+len(n.Host)+len(n.Deny) == 0 && n.Ask == nil && n.Uploads == "":
		w.add("network: {allow: []}")
		return
	}
	w.add("network:")
	inner := writer{indent: w.indent + "  "}
	inner.list("allow", n.Allow)
	inner.list("lan", n.LAN)
	inner.list("deny", n.Deny)
	if len(n.Host) > 0 {
		inner.add("host: [%s]", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(n.Host)), ", "), "[]"))
	}
	inner.ssh(n.SSH)
	if n.Localhost {
		inner.add("localhost: true")
	}
	if n.Ask != nil {
		inner.add("ask: %t", *n.Ask)
	}
	if n.Uploads != "" {
		inner.add("uploads: %s", n.Uploads)
	}
	w.lines = append(w.lines, inner.lines...)
}

func (w *writer) mounts(mounts []declaredMount) {
	if len(mounts) == 0 {
		return
	}
	w.add("mounts:")
	for _, m := range mounts {
		w.add("  - host: %s", scalar(m.Host))
		if m.At != "" {
			w.add("    at: %s", scalar(m.At))
		}
		if m.Mode != "" {
			w.add("    mode: %s", scalar(m.Mode))
		}
	}
}

func (w *writer) table(key string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	w.add("%s:", key)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		w.add("  %s: %s", scalar(name), scalar(values[name]))
	}
}

type pair struct{ key, value string }

// pairs writes a short mapping in one line; empty values are left out.
func (w *writer) pairs(key string, pairs []pair) {
	var parts []string
	for _, p := range pairs {
		if p.value != "" {
			parts = append(parts, p.key+": "+p.value)
		}
	}
	if len(parts) > 0 {
		w.add("%s: {%s}", key, strings.Join(parts, ", "))
	}
}

// plainScalar reads as itself in YAML, in a block.
var plainScalar = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9@%+=,./_-]*(?: [A-Za-z0-9@%+=,./_$\{\}-]+)*$`)

// plainQuantity is a size or a duration, which YAML reads as text.
var plainQuantity = regexp.MustCompile(`^[0-9]+(?:[KMGT]iB|B|ms|s|m|h)$`)

// taken are plain words that YAML, in some version, does not read as text.
var taken = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// scalar writes a text, plainly where that is safe and else quoted as in JSON, which YAML reads.
func scalar(s string) string {
	if plainScalar.MatchString(s) && !slices.Contains(taken, strings.ToLower(s)) {
		return s
	}
	quoted, err := jsontext.AppendQuote(nil, s)
	if err != nil { // not UTF-8: what is written reads back differently and is refused then
		return strconv.QuoteToASCII(s)
	}
	return string(quoted)
}

func scalarOr(s string) string {
	if s == "" || plainQuantity.MatchString(s) {
		return s
	}
	return scalar(s)
}

func number(n float64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}
