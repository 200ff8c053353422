package grants

import (
	"bytes"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
)

// places are the names under which tools take a path, and lines those under which they take a
// command, in any case and with or without an underscore.
var (
	places = map[string]bool{
		"path": true, "filepath": true, "file": true, "filename": true, "source": true, "destination": true,
		"from": true, "to": true, "target": true, "dir": true, "directory": true, "folder": true, "paths": true, "files": true,
	}
	lines = map[string]bool{"command": true, "cmd": true, "script": true, "commandline": true}
)

func known(names map[string]bool, name string) bool {
	return names[strings.ToLower(strings.ReplaceAll(name, "_", ""))]
}

// narrow are the argument patterns to offer for a call, the narrowest first: its folder, or its very
// arguments; for a command, its first words.
func narrow(c approvals.Call, class approvals.Class) [][]approvals.Argument {
	all := []approvals.Argument{{Equals: string(orEmpty(c.Arguments))}}
	if class == approvals.Execute {
		return append(byCommand(c.Arguments), all)
	}
	if folders := byFolder(c.Arguments); folders != nil && class != approvals.Destroy {
		return [][]approvals.Argument{folders}
	}
	return [][]approvals.Argument{all}
}

func orEmpty(arguments []byte) []byte {
	if len(arguments) == 0 {
		return []byte("{}")
	}
	return arguments
}

// byFolder names the folder of each path among the arguments, nil where there is none or one has none.
func byFolder(arguments []byte) []approvals.Argument {
	var all []approvals.Argument
	for name, value := range strs(arguments) {
		if !known(places, name) {
			continue
		}
		folder := folderOf(value)
		if folder == "" {
			return nil
		}
		all = append(all, approvals.Argument{Path: "/" + escape(name), Prefix: folder})
	}
	return all
}

// folderOf is the folder a path lies in, with its slash; "" where that is no folder to name.
func folderOf(p string) string {
	dir, _ := path.Split(p)
	if dir == "" || checkPrefix(dir) != nil || !plainPath(p) {
		return ""
	}
	return dir
}

// byCommand names the words of each simple command of a line that has just one.
func byCommand(arguments []byte) [][]approvals.Argument {
	for name, value := range strs(arguments) {
		parts, ok := commands(value)
		if !known(lines, name) || !ok || len(parts) != 1 {
			continue
		}
		return [][]approvals.Argument{{{Path: "/" + escape(name), Command: strings.Join(parts[0], " ")}}}
	}
	return nil
}

// escape makes a name part of a JSON pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// strs goes over an object's members that are strings, in their order.
func strs(object []byte) func(yield func(name, value string) bool) {
	return func(yield func(string, string) bool) {
		for name, value := range membersOf(object) {
			if value.Kind() != '"' {
				continue
			}
			s, err := jsontext.AppendUnquote(nil, value)
			if err != nil || !yield(name, string(s)) {
				return
			}
		}
	}
}

// membersOf goes over an object's members in their order; a value lives until the next one.
func membersOf(object []byte) func(yield func(name string, value jsontext.Value) bool) {
	return func(yield func(string, jsontext.Value) bool) {
		if !jsontext.Value(object).IsValid() {
			return
		}
		d := jsontext.NewDecoder(bytes.NewReader(object))
		if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
			return
		}
		for d.PeekKind() == '"' {
			t, err := d.ReadToken()
			if err != nil {
				return
			}
			name := t.String()
			value, err := d.ReadValue()
			if err != nil || !yield(name, value) {
				return
			}
		}
	}
}
