package clientconfig

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// later are programs that bring servers of a kind this version does not run, and what they are.
var later = map[string]string{
	"uv": "Python projects (uv)", "pipx": "installed Python programs (pipx)", "pip": "Python packages (pip)",
	"docker": "containers (docker)", "podman": "containers (podman)", "nerdctl": "containers (nerdctl)",
	"bunx": "Bun packages", "bun": "Bun programs", "deno": "Deno programs", "pnpm": "pnpm packages", "pnpx": "pnpm packages", "yarn": "Yarn packages", "npm": "npm scripts",
	"wsl": "programs inside WSL", "cmd": "Windows command lines", "powershell": "Windows command lines", "pwsh": "PowerShell command lines",
	"sudo": "programs run as another user", "doas": "programs run as another user", "env": "programs started through env", "ssh": "programs on other machines",
	"nohup": "programs started through another", "timeout": "programs started through another", "nix": "Nix programs", "npx-cli": "npm packages",
}

var pythonName = regexp.MustCompile(`^python[0-9.]*$`)

var shells = []string{"sh", "bash", "dash", "zsh", "fish", "ksh"}

// starts judges the program and makes it one that this machine's sandbox can run.
func (d *draft) starts() string {
	program := d.command[0]
	name := programName(program)
	if name == "uv" {
		d.inFolder()
	}
	if ref, _, ok, err := sandbox.ParsePythonCommand(d.command); ok && name != "cmd" {
		return d.pythonPackage(name, ref, err)
	}
	if what, ok := later[name]; ok {
		return what + " come with a later version"
	}
	if windowsPath.MatchString(program) {
		return "it is a Windows program"
	}
	switch {
	case name == "npx":
		return d.npx()
	case name == "node" || name == "nodejs":
		d.uses = append(d.uses, "run a program with this machine's Node.js")
		return d.interpreter("node", d.script())
	case pythonName.MatchString(name):
		d.uses = append(d.uses, "run a program with this machine's Python")
		return d.python()
	case slices.Contains(shells, name):
		if i := d.script(); i == 0 || slices.ContainsFunc(d.command[1:i], func(w string) bool { return strings.HasPrefix(w, "-") && strings.Contains(w, "c") }) {
			return "it is a line for a shell, which can do anything; name the program itself instead"
		}
		d.uses = append(d.uses, "run a shell script")
		return d.interpreter(name, d.script())
	}
	return d.binary()
}

// instead are flags of interpreters after which code or a module stands where else a script would.
var instead = []string{"-c", "-m", "-e", "-p", "--eval", "--print"}

// script is the index of the first argument that is no flag; 0 when no file is run.
func (d *draft) script() int {
	for i, w := range d.command[1:] {
		switch {
		case slices.Contains(instead, w):
			return 0
		case w != "" && !strings.HasPrefix(w, "-"):
			return i + 1
		}
	}
	return 0
}

// interpreter runs the sandbox's own program of that name on the script at index i.
func (d *draft) interpreter(name string, i int) string {
	d.ownProgram(name)
	return d.program(i)
}

// program makes sure that the script at index i, if there is one, is there to be run.
func (d *draft) program(i int) string {
	if i == 0 {
		return ""
	}
	if !path.IsAbs(d.command[i]) {
		if why := d.anchor(i); why != "" {
			return why
		}
	}
	if kind := d.j.host.Look(d.command[i]).Kind; kind != File && kind != Dir {
		return fmt.Sprintf("there is no program %s on this machine", show(d.command[i]))
	}
	return ""
}

// ownProgram replaces a path by a bare name: the sandbox has its own toolchain.
func (d *draft) ownProgram(name string) {
	if strings.Contains(d.command[0], "/") && !strings.HasPrefix(d.command[0], "/usr/") {
		d.warn("%s is run as this machine's %s", show(d.command[0]), name)
	}
	d.command[0] = name
}

// anchor makes a relative path absolute, where it is known what it is relative to.
func (d *draft) anchor(i int) string {
	base := d.e.cwd
	if !path.IsAbs(base) {
		base = d.j.scope.project
	}
	if base == "" {
		return fmt.Sprintf("%s is relative and nothing says to which folder; write the whole path", show(d.command[i]))
	}
	d.command[i] = filepath.Join(base, d.command[i])
	return ""
}

// python runs the system's Python, or that of a virtual environment, which is given to it.
func (d *draft) python() string {
	program := d.command[0]
	if !strings.Contains(program, "/") {
		return d.interpreter("python3", d.script())
	}
	if !path.IsAbs(program) {
		if why := d.anchor(0); why != "" {
			return why
		}
		program = d.command[0]
	}
	venv := filepath.Dir(filepath.Dir(program))
	if d.j.host.Look(filepath.Join(venv, "pyvenv.cfg")).Kind != File {
		return d.interpreter("python3", d.script())
	}
	if real := d.j.host.Look(program); real.Kind != File || !strings.HasPrefix(real.Real, "/usr/") {
		return fmt.Sprintf("its virtual environment is not made from the system's Python, and no other is inside; make it anew: /usr/bin/python3 -m venv --clear %s, and install into it again", show(venv))
	}
	given := venv
	if dir := d.packageOf(venv); dir != "" {
		given = dir // what is installed as "editable" is imported from there
	}
	if why := d.give(given); why != "" {
		return why
	}
	d.warn("its virtual environment %s is given to it, read-only", show(venv))
	return d.program(d.script())
}

// inFolder writes the folder that a client starts "uv run" in into its command.
func (d *draft) inFolder() {
	names := func(w string) bool {
		return w == "--directory" || w == "--project" || strings.HasPrefix(w, "--directory=")
	}
	if !path.IsAbs(d.e.cwd) || slices.ContainsFunc(d.command, names) || !slices.Contains(d.command, "run") {
		return
	}
	d.command = slices.Insert(d.command, 1, "--directory", filepath.Clean(d.e.cwd))
}

// pythonPlaces gives what a project or a script is run from, read-only.
func (d *draft) pythonPlaces(ref sandbox.PackageRef) string {
	for _, one := range []struct {
		what, path string
		kind       Kind
	}{{"folder", ref.Project, Dir}, {"folder", ref.Dir, Dir}, {"script", ref.Script, File}, {"file", ref.List, File}} {
		if one.path == "" {
			continue
		}
		if d.j.host.Look(one.path).Kind != one.kind {
			return fmt.Sprintf("there is no %s %s on this machine", one.what, show(one.path))
		}
		if why := d.give(d.beside(ref, one.path)); why != "" {
			return why
		}
	}
	return ""
}

// beside is the folder of the project that a script lies in, where only the script is named; else what is.
func (d *draft) beside(ref sandbox.PackageRef, named string) string {
	dir := filepath.Dir(named)
	if named == ref.Script && ref.Project == "" && d.refuse(dir) == "" && d.j.host.Look(filepath.Join(dir, "pyproject.toml")).Kind == File {
		return dir
	}
	return named
}

// pythonUse says what running it means.
func pythonUse(ref sandbox.PackageRef) string {
	switch {
	case ref.Repository != "" && !ref.Exact():
		return "install and run the Python package of the repository " + show(ref.Repository) + ", as it is now, then always that commit"
	case ref.Repository != "":
		return "install and run the Python package of the repository " + show(ref.Repository)
	case ref.Script != "":
		return "run the script " + show(ref.Script) + ", and install what it says that it needs"
	case ref.Project != "":
		return "run the Python project in " + show(ref.Project) + ", and install what it says that it needs"
	}
	what := "install and run the Python package " + show(ref.String())
	if !ref.Exact() {
		what += ", its newest version now, then always that one"
	}
	return what
}

// pythonPackage judges uvx, "uv tool run", "uv run" and "pipx run".
func (d *draft) pythonPackage(program string, ref sandbox.PackageRef, err error) string {
	if err != nil {
		return strings.TrimSuffix(err.Error(), ": "+errdefs.ErrInvalidArgument.Error())
	}
	d.ownProgram(program)
	d.uses = append(d.uses, pythonUse(ref))
	return d.pythonPlaces(ref)
}

// binary runs a program by its path, or one of the system's by its name.
func (d *draft) binary() string {
	program := d.command[0]
	if !strings.Contains(program, "/") {
		for _, dir := range []string{"/usr/local/bin/", "/usr/bin/"} {
			if d.j.host.Look(dir+program).Kind == File {
				d.uses = append(d.uses, "run "+dir+show(program))
				return ""
			}
		}
		return fmt.Sprintf("%s is neither in /usr/bin nor in /usr/local/bin; write the whole path", show(program))
	}
	if !path.IsAbs(program) {
		if why := d.anchor(0); why != "" {
			return why
		}
		program = d.command[0]
	}
	if d.j.host.Look(program).Kind != File {
		return fmt.Sprintf("there is no program %s on this machine", show(program))
	}
	d.uses = append(d.uses, "run "+show(program))
	if visible(program) {
		return ""
	}
	return d.give(program)
}

// fromRegistry is a package an npm registry knows: a name, perhaps a scope, perhaps a version.
var fromRegistry = regexp.MustCompile(`^(?:@[A-Za-z0-9._~-]+/)?[A-Za-z0-9._~-]+(?:@[A-Za-z0-9._~^<>=|+-]*)?$`)

// bridges are packages that only pass on to a server somewhere else.
var bridges = []string{"mcp-remote", "supergateway", "mcp-proxy", "@smithery/cli"}

// npx judges "npx [-y] [-p PACKAGE] PACKAGE-OR-BIN ARGS".
func (d *draft) npx() string {
	packages, why := npxArgs(d.command)
	if why != "" {
		return why
	}
	for _, p := range packages {
		if !fromRegistry.MatchString(p) {
			return fmt.Sprintf("%s is not a package of a registry", show(p))
		}
		if slices.Contains(bridges, bare(p)) {
			return fmt.Sprintf("%s leads to a server at an address; such servers come with a later version", show(bare(p)))
		}
	}
	if len(packages) > 1 {
		return "it installs several packages, which comes with a later version"
	}
	d.ownProgram("npx")
	if strings.ContainsAny(packages[0], "@") && bare(packages[0]) != packages[0] && !strings.HasSuffix(packages[0], "@latest") {
		d.uses = append(d.uses, "install and run the npm package "+show(packages[0]))
	} else {
		d.uses = append(d.uses, fmt.Sprintf("install and run the npm package %s, its newest version now, then always that one", show(packages[0])))
	}
	return ""
}

// npxArgs finds the packages an npx command line asks for.
func npxArgs(command []string) (packages []string, why string) {
	i := 1
	for ; i < len(command) && strings.HasPrefix(command[i], "-") && command[i] != "--"; i++ {
		flag, value, joined := strings.Cut(command[i], "=")
		switch flag {
		case "-y", "--yes", "-q", "--quiet", "--prefer-offline", "--prefer-online":
		case "-p", "--package":
			if i++; !joined && i < len(command) {
				value = command[i]
			} else {
				i--
			}
			packages = append(packages, value)
		default:
			return nil, fmt.Sprintf("npx is given %s, which this version does not know", show(flag))
		}
	}
	if i < len(command) && command[i] == "--" {
		i++
	}
	if i >= len(command) {
		return nil, "npx is given no package"
	}
	if len(packages) == 0 {
		packages = []string{command[i]}
	}
	return packages, ""
}

// bare is a package's name without its version.
func bare(p string) string {
	if i := strings.LastIndexByte(p, '@'); i > 0 {
		return p[:i]
	}
	return p
}

// visible says whether every sandbox with the host's root sees a path anyway.
func visible(p string) bool {
	return slices.ContainsFunc([]string{"/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/"}, func(dir string) bool { return strings.HasPrefix(p, dir) })
}

// give mounts a file or folder read-only at its own path, unless something given contains it already.
func (d *draft) give(p string) string {
	p = filepath.Clean(p)
	seen := d.j.host.Look(p)
	for _, check := range []string{p, seen.Real} {
		if why := d.refuse(check); why != "" {
			return why
		}
	}
	for _, m := range d.mounts {
		if m.At == p || strings.HasPrefix(p, m.At+"/") {
			return ""
		}
	}
	d.mounts = append(d.mounts, sandbox.Mount{Host: seen.Real, At: p})
	return ""
}

func (d *draft) refuse(p string) string {
	if why := d.j.host.Guard.Refuse(p); why != "" {
		return fmt.Sprintf("it asks for %s: %s", show(p), why)
	}
	if d.j.host.Guard.Credential(p) {
		return fmt.Sprintf("it asks for %s, where keys are kept", show(p))
	}
	return ""
}
