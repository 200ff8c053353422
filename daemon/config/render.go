package config

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// header begins a servers.yaml that we write first.
const header = `# The MCP servers Garita runs, and the walls of each. Garita adds servers here when it imports
# them; everything may be edited by hand and takes effect when a server is next started.
version: 1
`

// putServer writes s into servers.yaml's text, in place of a server of the same name. Everything
// else keeps its bytes, comments included, as long as the file is laid out in blocks; a file
// written otherwise is laid out anew and loses its comments.
func putServer(file string, data []byte, s sandbox.Server) ([]byte, error) {
	want, err := decodeServers(file, data)
	if err != nil {
		return nil, err
	}
	if want.Servers == nil {
		want.Servers = map[string]*declared{}
	}
	want.Servers[string(s.Name)] = declare(s)
	return edit(file, data, string(s.Name), want)
}

// dropServer takes a server out of servers.yaml's text; one that is not there changes nothing.
func dropServer(file string, data []byte, name sandbox.ServerName) ([]byte, error) {
	want, err := decodeServers(file, data)
	if err != nil {
		return nil, err
	}
	if _, ok := want.Servers[string(name)]; !ok {
		return data, nil
	}
	delete(want.Servers, string(name))
	return edit(file, data, string(name), want)
}

// edit changes the lines of one server so that the file reads as want, and falls back to laying
// the whole file out when that does not succeed.
func edit(file string, data []byte, name string, want serversFile) ([]byte, error) {
	if out, ok := editLines(data, name, want.Servers[name]); ok {
		got, err := decodeServers(file, out)
		if err == nil && sameServers(got.Servers, want.Servers) {
			return out, nil
		}
	}
	return layOut(file, want)
}

// sameServers compares what was written, not how.
func sameServers(a, b map[string]*declared) bool {
	return maps.EqualFunc(a, b, func(x, y *declared) bool {
		if x == nil || y == nil {
			return x == y
		}
		return reflect.DeepEqual(x, y)
	})
}

// editLines replaces, adds or (server nil) removes the block of one server.
func editLines(data []byte, name string, server *declared) ([]byte, bool) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte(header)
	}
	text := splitLines(data)
	at := newLines(data)
	servers := child(at.root, "servers")
	if servers == nil {
		text = append(text, "servers:\n")
		return insert(text, len(text), 2, name, server)
	}
	siblings := members(servers.Value)
	if len(siblings) == 0 {
		return insert(text, servers.Key.GetToken().Position.Line, 2, name, server)
	}
	for _, s := range siblings {
		if k := s.Key.GetToken(); k.Value == name {
			start := k.Position.Line - 1
			end := blockEnd(text, start, k.Position.Column-1)
			text = slices.Delete(text, start, end)
			return insert(text, start, k.Position.Column-1, name, server)
		}
	}
	last := siblings[len(siblings)-1].Key.GetToken().Position
	return insert(text, blockEnd(text, last.Line-1, last.Column-1), last.Column-1, name, server)
}

// insert puts a server's block before line i (0-based), its name indented by indent columns.
func insert(text []string, i, indent int, name string, server *declared) ([]byte, bool) {
	if i > len(text) || indent < 1 {
		return nil, false
	}
	if server != nil {
		text = slices.Insert(text, i, block(strings.Repeat(" ", indent), name, server)...)
	}
	return []byte(strings.Join(text, "")), true
}

// splitLines keeps line ends and gives the last line one.
func splitLines(data []byte) []string {
	text := string(data)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return slices.Collect(strings.Lines(text))
}

// blockEnd finds the line after the block that begins at start with a key at column indent
// (both 0-based): the deeper lines that follow, without the blank ones after them.
func blockEnd(text []string, start, indent int) int {
	end := start + 1
	for i := start + 1; i < len(text); i++ {
		trimmed := strings.TrimLeft(text[i], " ")
		if strings.TrimSpace(trimmed) == "" {
			continue
		}
		if len(text[i])-len(trimmed) <= indent {
			break
		}
		end = i + 1
	}
	return end
}

// layOut writes the whole file.
func layOut(file string, f serversFile) ([]byte, error) {
	lines := []string{header, "servers:\n"}
	for _, name := range slices.Sorted(maps.Keys(f.Servers)) {
		lines = append(lines, block("  ", name, f.Servers[name])...)
	}
	out := []byte(strings.Join(lines, ""))
	got, err := decodeServers(file, out)
	if err != nil {
		return nil, err
	}
	if !sameServers(got.Servers, f.Servers) {
		return nil, fmt.Errorf("write %s: a value cannot be written as YAML: %w", file, errdefs.ErrInvalidArgument)
	}
	return out, nil
}

// declare writes a Server as a person would.
func declare(s sandbox.Server) *declared {
	d := &declared{
		Image: s.Source.Image, Args: s.Source.Args, Workspace: string(s.Spec.Workspace), Folders: s.Spec.Folders,
		Env: s.Spec.Env, Tools: declaredTools{Allow: s.Spec.Tools.Allow}, Protocol: s.Spec.Protocol,
		URL: s.Source.URL, Headers: s.Source.Headers, Listen: declareListen(s.Source.Listen),
		Install: declaredInstall{Scripts: s.Spec.InstallScripts}, Exec: declareExec(s.Spec.Exec),
	}
	d.Network, d.Secrets = declareNetwork(s.Spec.Network), declareSecrets(s.Spec.Secrets)
	switch {
	case s.Source.External():
		d.Workspace, d.Network = "", nil // it has neither
	case d.Image != "":
	case readable(s.Source.Command):
		d.Run = joinWords(s.Source.Command)
	default:
		d.Command = s.Source.Command
	}
	for _, r := range s.Spec.DenyRequests {
		d.Requests.Deny = append(d.Requests.Deny, string(r))
	}
	for _, r := range s.Spec.AllowRequests {
		d.Requests.Allow = append(d.Requests.Allow, string(r))
	}
	for _, m := range s.Spec.Mounts {
		d.Mounts = append(d.Mounts, declareMount(m))
	}
	d.Limits, d.Lifecycle = declareLimits(s.Spec.Limits), declareLifecycle(s.Spec.Lifecycle)
	d.leaveOut()
	return d
}

// leaveOut makes empty lists nil, as reading the file back does.
func (d *declared) leaveOut() {
	for _, list := range []*[]string{&d.Command, &d.Args, &d.Folders, &d.Tools.Allow, &d.Install.Scripts} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	if len(d.Env) == 0 {
		d.Env = nil
	}
	if len(d.Headers) == 0 {
		d.Headers = nil
	}
}

// readable says whether a command line reads better in one line than as a list.
func readable(command []string) bool {
	return !slices.ContainsFunc(command, func(w string) bool {
		return !plainWord.MatchString(w) || strings.HasPrefix(w, "~/")
	})
}

func declareMount(m sandbox.Mount) declaredMount {
	d := declaredMount{Host: m.Host, Mode: "ro"}
	if m.At != m.Host {
		d.At = m.At
	}
	if m.Writable {
		d.Mode = "rw"
	}
	return d
}

func declareLimits(l sandbox.Limits) (d declaredLimits) {
	if l.Memory > 0 {
		d.Memory = formatSize(l.Memory)
	}
	d.PIDs, d.CPUs, d.Calls, d.Instances = l.PIDs, l.CPUs, l.Calls.String(), l.Instances
	return d
}

func declareLifecycle(l sandbox.Lifecycle) (d declaredLifecycle) {
	if l.Idle > 0 {
		d.Idle = formatDuration(l.Idle)
	}
	if l.Freeze > 0 {
		d.Freeze = formatDuration(l.Freeze)
	}
	if l.Hard > 0 {
		d.Hard = formatDuration(l.Hard)
	}
	if l.Call > 0 {
		d.Call = formatDuration(l.Call)
	}
	if l.Start > 0 {
		d.Start = formatDuration(l.Start)
	}
	return d
}

func declareListen(l sandbox.Listen) string {
	if l.Port == 0 {
		return ""
	}
	return strconv.Itoa(l.Port) + l.Path
}
