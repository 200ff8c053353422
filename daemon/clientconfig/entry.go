package clientconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// entry is one server as a client's settings declare it, before any judgement.
type entry struct {
	name      string
	line      int
	program   []string // the command; some clients write a whole command line there
	args      []string
	env       []variable
	cwd       string
	envFile   string
	remote    bool // it has an address instead of a command
	address   string
	headers   []variable // sent to the address
	off       bool       // disabled in the client
	tools     []string
	approved  int      // tools the client would call without asking; -1 for all
	ignored   []string // settings that are not carried over and that a person may miss
	malformed string   // why it cannot be understood
}

type variable struct {
	name, value string
	fromFile    bool // it is in a file of variables, where secrets are kept
}

// command is the whole command line, program first; nil when there is none.
func (e *entry) command() []string { return slices.Concat(e.program, e.args) }

// addresses are the keys by which clients name a server that is not theirs to start.
var addresses = []string{"url", "httpUrl", "serverUrl", "serverURL", "uri"}

// known are the keys that a misspelled key is compared with.
var known = append([]string{"command", "args", "env", "cwd", "envFile", "type", "disabled"}, addresses...)

// read takes one member of the servers object apart. ok is false for what is no entry: comments
// and notes that clients skip.
func (d *document) read(m hujson.ObjectMember) (e entry, ok bool) {
	e.name = text(m.Name)
	e.line = d.line(m.Name.StartOffset)
	obj, isObject := m.Value.Value.(*hujson.Object)
	if !isObject {
		if strings.HasPrefix(e.name, "_") || strings.HasPrefix(e.name, "$") || strings.HasPrefix(e.name, "/") {
			return e, false
		}
		e.malformed = "it is not an object"
		return e, true
	}
	if err := d.unique(obj, "the entry"); err != nil {
		e.malformed = strings.TrimSuffix(err.Error(), ": invalid argument")
		return e, true
	}
	for _, f := range obj.Members {
		if why := e.take(text(f.Name), f.Value); why != "" {
			line, col := position(d.text, f.Name.StartOffset)
			e.malformed = fmt.Sprintf("%s (line %d, column %d)", why, line, col)
			break
		}
	}
	return e, true
}

// take reads one field; it returns why the entry cannot be understood.
func (e *entry) take(key string, v hujson.Value) string {
	switch key {
	case "command":
		return e.takeCommand(v)
	case "args":
		return e.takeArgs(v)
	case "env", "environment":
		return e.takeEnv(v)
	case "cwd":
		e.cwd = text(v)
	case "envFile", "env_file":
		e.envFile = text(v)
	case "headers":
		return e.takeHeaders(v)
	case "requestInit":
		if obj, ok := v.Value.(*hujson.Object); ok && member(obj, "headers") != nil {
			return e.takeHeaders(*member(obj, "headers"))
		}
	case "type", "transport":
		return e.takeType(v)
	case "disabled":
		e.off = e.off || isTrue(v)
	case "enabled":
		e.off = e.off || isFalse(v)
	case "tools", "includeTools":
		e.tools, _ = stringsOf(v)
	default:
		return e.takeOther(key, v)
	}
	return ""
}

func (e *entry) takeOther(key string, v hujson.Value) string {
	switch key {
	case "alwaysAllow", "autoApprove":
		if list, ok := stringsOf(v); ok && e.approved >= 0 {
			e.approved += len(list)
		}
		if isTrue(v) {
			e.approved = -1
		}
	case "trust":
		if isTrue(v) {
			e.approved = -1
		}
	case "sandboxEnabled", "sandbox", "excludeTools", "disabledTools":
		if !isFalse(v) {
			e.ignored = append(e.ignored, key)
		}
	default:
		if slices.Contains(addresses, key) {
			e.remote = true
			if e.address == "" {
				e.address = text(v)
			}
			return ""
		}
		return nearMiss(key)
	}
	return ""
}

// nearMiss notices a key that a client would not know although a person reads it as one it knows.
func nearMiss(key string) string {
	for _, k := range known {
		if key != k && strings.EqualFold(strings.TrimSpace(key), k) {
			return fmt.Sprintf("the key %q is not %q; no client reads it", key, k)
		}
	}
	return ""
}

// takeCommand reads a program's name, Zed's older object, or a whole command line as a list.
func (e *entry) takeCommand(v hujson.Value) string {
	if s, ok := stringOf(v); ok {
		e.program = []string{s}
		return ""
	}
	if list, ok := stringsOf(v); ok && len(list) > 0 {
		e.program = list
		return ""
	}
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return "command is neither a string nor a list of strings"
	}
	path := member(obj, "path")
	if path == nil {
		return "command has no path"
	}
	e.program = []string{text(*path)}
	if args := member(obj, "args"); args != nil {
		if why := e.takeArgs(*args); why != "" {
			return why
		}
	}
	if env := member(obj, "env"); env != nil {
		return e.takeEnv(*env)
	}
	return ""
}

func (e *entry) takeArgs(v hujson.Value) string {
	list, ok := stringsOf(v)
	if !ok {
		return "args is not a list of strings"
	}
	e.args = list
	return ""
}

func (e *entry) takeEnv(v hujson.Value) (why string) {
	e.env, why = variablesOf(v, "env", e.env)
	return why
}

func (e *entry) takeHeaders(v hujson.Value) (why string) {
	e.headers, why = variablesOf(v, "headers", e.headers)
	return why
}

// variablesOf reads an object of strings, after those that were read before.
func variablesOf(v hujson.Value, what string, before []variable) (all []variable, why string) {
	if v.Value.Kind() == 'n' {
		return before, ""
	}
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return before, what + " is not an object"
	}
	all = before
	seen := map[string]bool{}
	for _, m := range obj.Members {
		name := text(m.Name)
		if seen[name] {
			return all, fmt.Sprintf("%s names %s twice", what, show(name))
		}
		seen[name] = true
		lit, ok := m.Value.Value.(hujson.Literal)
		if !ok {
			return all, fmt.Sprintf("%s: %s is not a string", what, show(name))
		}
		if value, isString := stringOf(m.Value); isString {
			all = append(all, variable{name: name, value: value})
		} else if lit.Kind() != 'n' {
			all = append(all, variable{name: name, value: string(lit)})
		}
	}
	return all, ""
}

func (e *entry) takeType(v hujson.Value) string {
	switch t := text(v); t {
	case "", "stdio", "local", "custom":
	case "ws", "websocket":
		return "it is spoken to over WebSocket, which MCP does not know"
	case "http", "sse", "remote", "streamable-http", "streamableHttp", "streamable_http":
		e.remote = true
	default:
		return fmt.Sprintf("type %s is not known", show(t))
	}
	return ""
}

func stringsOf(v hujson.Value) ([]string, bool) {
	if v.Value.Kind() == 'n' {
		return nil, true
	}
	arr, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, false
	}
	var out []string
	for _, el := range arr.Elements {
		s, ok := stringOf(el)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func isTrue(v hujson.Value) bool  { return v.Value.Kind() == 't' }
func isFalse(v hujson.Value) bool { return v.Value.Kind() == 'f' }
