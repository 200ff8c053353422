package config

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

// ParseServers reads servers.yaml. home is what "~/" stands for; guard refuses mounts. The servers
// come sorted by name. Errors are a *Problem with the line, and say nothing of the file's values
// that could be secret.
func ParseServers(file string, data []byte, guard Guard) ([]sandbox.Server, error) {
	f, err := decodeServers(file, data)
	if err != nil {
		return nil, err
	}
	at := newLines(data)
	var out []sandbox.Server
	for _, name := range slices.Sorted(maps.Keys(f.Servers)) {
		s, key, err := lower(name, f.Servers[name], guard)
		if err != nil {
			return nil, &Problem{File: file, Line: at.of("servers", name, key), Message: fmt.Sprintf("server %q: %v", name, err)}
		}
		out = append(out, s)
	}
	return out, nil
}

func decodeServers(file string, data []byte) (serversFile, error) {
	var f serversFile
	if err := decode(file, data, &f); err != nil {
		return f, err
	}
	if f.Version != nil && *f.Version != version {
		return f, &Problem{File: file, Line: newLines(data).of("version"), Message: fmt.Sprintf("version %d is not known to this garita, which reads version %d", *f.Version, version)}
	}
	return f, heldToRules(file, data, f.Servers)
}

// lower turns what was written into a Server. On an error key is the field to blame.
func lower(name string, d *declared, guard Guard) (s sandbox.Server, key string, err error) {
	if s.Name, err = sandbox.ParseServerName(name); err != nil {
		return s, "", err
	}
	if d == nil {
		return s, "", fmt.Errorf("nothing is declared; give it run, command, image or url")
	}
	if key, err = d.refuseLater(); err != nil {
		return s, key, err
	}
	if s.Source, key, err = d.source(guard.Home); err != nil {
		return s, key, err
	}
	s.Spec, key, err = d.spec(s.Source, guard)
	if err != nil {
		return s, key, err
	}
	key, err = implied(&s)
	return s, key, err
}

// refuseLater refuses every wall this version cannot raise and every permission it could not hold to.
func (d *declared) refuseLater() (string, error) {
	later := []struct {
		key   string
		asked bool
		why   string
	}{
		{"placement", !slices.Contains([]string{"", "dedicated", "external"}, d.Placement), "any placement but dedicated and external"},
		{"runtime", d.Runtime != "" && d.Runtime != "runc", "any runtime but runc"},
	}
	for _, l := range later {
		if l.asked {
			return l.key, fmt.Errorf("%s: this version cannot do that yet (%s); take it out", l.key, l.why)
		}
	}
	return d.refuseLaterBounds()
}

func (d *declared) refuseLaterBounds() (string, error) {
	if d.Limits.Disk != "" {
		return "limits", fmt.Errorf("limits: disk cannot be held to yet; take it out")
	}
	return "", nil
}

func (d *declared) source(home string) (src sandbox.Source, key string, err error) {
	ways := 0
	for _, set := range []bool{d.Run != "", len(d.Command) > 0, d.Image != "", d.URL != ""} {
		if set {
			ways++
		}
	}
	switch {
	case ways != 1:
		return src, "", fmt.Errorf("want exactly one of run, command, image and url")
	case d.URL != "":
		return d.remote()
	case d.Placement == "external":
		return src, "placement", fmt.Errorf("placement: external is for a server at a url")
	case len(d.Headers) > 0:
		return src, "headers", fmt.Errorf("headers go with url")
	}
	if src.Listen, err = d.listen(); err != nil {
		return src, "listen", err
	}
	switch {
	case d.Run != "":
		src.Command, err = splitWords(d.Run)
		for i, w := range src.Command {
			src.Command[i] = expandHome(w, home)
		}
		key = "run"
	case d.Image != "":
		src.Image, src.Args, key = d.Image, slices.Clone(d.Args), "image"
		if strings.ContainsAny(d.Image, " \t\r\n\x00") || strings.HasPrefix(d.Image, "-") {
			err = fmt.Errorf("image is not a reference")
		}
	default:
		src.Command, key = slices.Clone(d.Command), "command"
	}
	if err == nil && d.Image == "" && len(d.Args) > 0 {
		return src, "args", fmt.Errorf("args go with image; write them into the command")
	}
	if err == nil {
		err = checkWords(src)
	}
	return src, key, err
}

func checkWords(src sandbox.Source) error {
	if src.Image == "" && src.Command[0] == "" {
		return fmt.Errorf("an empty command")
	}
	for _, w := range slices.Concat(src.Command, src.Args) {
		if strings.ContainsRune(w, 0) {
			return fmt.Errorf("a NUL byte in the command")
		}
	}
	return nil
}

func (d *declared) spec(source sandbox.Source, guard Guard) (spec sandbox.Spec, key string, err error) {
	if spec.Workspace, err = parseMode(d.Workspace); err != nil {
		return spec, "workspace", err
	}
	if d.URL != "" {
		spec.Workspace = sandbox.None
	}
	if spec.Protocol, err = parseProtocol(d.Protocol); err != nil {
		return spec, "protocol", err
	}
	if spec.DenyRequests, spec.AllowRequests, err = d.Requests.lower(); err != nil {
		return spec, "requests", err
	}
	if spec.Folders, err = d.folders(guard); err != nil {
		return spec, "folders", err
	}
	if spec.Workspace == sandbox.None && len(spec.Folders) > 0 {
		return spec, "folders", fmt.Errorf("folders are listed and workspace is none")
	}
	if spec.Mounts, err = d.mounts(guard); err != nil {
		return spec, "mounts", err
	}
	if spec.Env, err = d.env(); err != nil {
		return spec, "env", err
	}
	if spec.Network, err = d.network(); err != nil {
		return spec, "network", err
	}
	if spec.Secrets, err = d.secrets(source, spec); err != nil {
		return spec, "secrets", err
	}
	if spec.Limits, err = d.Limits.lower(); err != nil {
		return spec, "limits", err
	}
	if spec.Lifecycle, err = d.Lifecycle.lower(); err != nil {
		return spec, "lifecycle", err
	}
	if spec.InstallScripts, err = d.Install.lower(); err != nil {
		return spec, "install", err
	}
	if spec.Exec, err = d.Exec.lower(); err != nil {
		return spec, "exec", err
	}
	spec.Tools, err = d.Tools.lower()
	return spec, "tools", err
}

// lower takes exact names only: no pattern, and no version, which the lock has.
func (i declaredInstall) lower() ([]string, error) {
	for _, name := range i.Scripts {
		if ref, err := sandbox.ParsePackageSpec(name); err != nil || ref.Name != name {
			return nil, fmt.Errorf("install: %q is not the name of a package", name)
		}
	}
	names := slices.Sorted(slices.Values(i.Scripts))
	return slices.Compact(names), nil
}

func parseMode(s string) (sandbox.WorkspaceMode, error) {
	switch m := sandbox.WorkspaceMode(s); m {
	case "":
		return sandbox.Snapshot, nil
	case sandbox.Snapshot, sandbox.ReadOnly, sandbox.Direct, sandbox.None:
		return m, nil
	}
	return "", fmt.Errorf("workspace %q: want snapshot, read-only, direct or none", s)
}

func (d *declared) folders(guard Guard) ([]string, error) {
	var out []string
	for _, f := range d.Folders {
		if f == workspaceVar {
			out = append(out, f)
			continue
		}
		dir := expandHome(f, guard.Home)
		if why := guard.Refuse(dir); why != "" {
			return nil, fmt.Errorf("folder %s is refused: %s", f, why)
		}
		out = append(out, filepath.Clean(dir))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (d *declared) mounts(guard Guard) ([]sandbox.Mount, error) {
	var out []sandbox.Mount
	for _, m := range d.Mounts {
		one, err := m.lower(guard)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o sandbox.Mount) bool { return o.At == one.At }) {
			return nil, fmt.Errorf("two mounts at %s", one.At)
		}
		out = append(out, one)
	}
	return out, nil
}

func (m declaredMount) lower(guard Guard) (sandbox.Mount, error) {
	host := expandHome(m.Host, guard.Home)
	if why := guard.Refuse(host); why != "" {
		return sandbox.Mount{}, fmt.Errorf("mount of %s is refused: %s", m.Host, why)
	}
	out := sandbox.Mount{Host: filepath.Clean(host), At: filepath.Clean(host)}
	if m.At != "" {
		at := expandHome(m.At, guard.Home)
		if why := guard.Refuse(at); why != "" {
			return out, fmt.Errorf("mount at %s is refused: %s", m.At, why)
		}
		out.At = filepath.Clean(at)
	}
	switch m.Mode {
	case "", "ro":
	case "rw":
		out.Writable = true
	default:
		return out, fmt.Errorf("mount of %s: mode %q: want ro or rw", m.Host, m.Mode)
	}
	return out, nil
}

// engineVars are set inside every sandbox by the engine.
var engineVars = []string{"HOME", "PATH", "TMPDIR"}

func (d *declared) env() (map[string]string, error) {
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return nil, fmt.Errorf("env: %q is not a variable's name", name)
		case slices.Contains(engineVars, name):
			return nil, fmt.Errorf("env: %s is set inside the sandbox and cannot be chosen", name)
		case strings.ContainsRune(d.Env[name], 0):
			return nil, fmt.Errorf("env: %s contains a NUL byte", name)
		}
	}
	return maps.Clone(d.Env), nil
}

func (t declaredTools) lower() (sandbox.ToolFilter, error) {
	for _, p := range t.Allow {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return sandbox.ToolFilter{}, fmt.Errorf("tools: %q is not a pattern", p)
		}
	}
	return sandbox.ToolFilter{Allow: slices.Clone(t.Allow)}, nil
}

// implied gives a server whose command names ${workspace} that folder.
func implied(s *sandbox.Server) (string, error) {
	if !slices.ContainsFunc(slices.Concat(s.Source.Command, s.Source.Args), func(w string) bool { return strings.Contains(w, workspaceVar) }) {
		return "", nil
	}
	if s.Spec.Workspace == sandbox.None {
		return "workspace", fmt.Errorf("the command names %s and workspace is none", workspaceVar)
	}
	if !slices.Contains(s.Spec.Folders, workspaceVar) {
		s.Spec.Folders = append(s.Spec.Folders, workspaceVar)
		slices.Sort(s.Spec.Folders)
	}
	return "", nil
}

func expandHome(p, home string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return p
}
