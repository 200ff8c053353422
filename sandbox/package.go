package sandbox

import (
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"
)

// Ecosystem is where packages come from.
type Ecosystem string

// The ecosystems: npm's registries, and Python's indexes.
const (
	NPM  Ecosystem = "npm"
	PyPI Ecosystem = "pypi"
)

// PackageRef is a package as a command line asks for it.
type PackageRef struct {
	Ecosystem Ecosystem `json:"ecosystem"`
	Name      string    `json:"name"`  // "@scope/name" or "name"; of Python in its normal form (PEP 503)
	Range     string    `json:"range"` // semver range, exact version or dist-tag; of Python a version, or specifiers (">=1,<2"); "" means latest
	Bin       string    `json:"bin"`   // executable asked for by name; "" means the package's only or eponymous one; PythonBin
	// Python's alone:
	Extras string `json:"extras,omitempty"` // "cli,rich": sorted, in normal form
	With   string `json:"with,omitempty"`   // further requirements, sorted, a space between: "httpx>=0.27 pandas"
	Python string `json:"python,omitempty"` // the interpreter asked for, "3.12"; "" for whichever there is
	// What does not come from an index by its name; Name is "" then, unless a repository's is told. Project is
	// a folder whose pyproject.toml and uv.lock say what it needs, Script a file that may say so in a comment
	// (PEP 723), List a file of requirements: all absolute paths of this machine, which are read but not copied.
	Project    string `json:"project,omitempty"`
	Script     string `json:"script,omitempty"`
	List       string `json:"list,omitempty"`
	Groups     string `json:"groups,omitempty"`     // of a Project's dependency-groups: "dev,web", sorted
	Repository string `json:"repository,omitempty"` // "https://host/path@ref#folder"; see ParseRepository
	Dir        string `json:"dir,omitempty"`        // where its program starts, absolute; "" leaves that open
}

// OnHost says whether what r needs is written in files of this machine.
func (r PackageRef) OnHost() bool { return r.Project != "" || r.Script != "" || r.List != "" }

// Nameless says whether r is told apart by something else than a package's name.
func (r PackageRef) Nameless() bool { return r.Project != "" || r.Script != "" || r.Repository != "" }

// PythonBin as a Bin is the interpreter itself, with the packages at hand.
const PythonBin = "python"

// Package is an installed, immutable package: what garita.lock remembers.
type Package struct {
	Ecosystem Ecosystem `json:"ecosystem"`
	Name      string    `json:"name"`
	Version   string    `json:"version"`   // exact
	Integrity string    `json:"integrity"` // the registry's, "sha512-…"
	Tree      Digest    `json:"tree"`      // over name, version and integrity of every installed dependency, sorted
	Runtime   string    `json:"runtime"`   // toolchain it was installed with: "node v20.20.2"
	Entry     []string  `json:"entry"`     // argv prefix inside the sandbox: node and the bin's script, absolute paths
	// Before is how new a version might be when the tree was chosen, and Young the "name@version"s that
	// were newer and used all the same; the zero time and none where nobody knows. With both the same
	// tree is chosen again, whatever was published since.
	Before time.Time `json:"before,omitzero"`
	Young  []string  `json:"young,omitempty"`
	// Scripts are the install scripts of everything installed, sorted; those ran that say so.
	Scripts []InstallScript `json:"scripts,omitempty"`
	// Python's alone. Besides is what was asked for besides the package, as PackageRef.Besides writes it; Files
	// is every file it was installed from, sorted; Interpreter the host's program that runs it, absolute.
	Besides     string        `json:"besides,omitempty"`
	Files       []PackageFile `json:"files,omitempty"`
	Interpreter string        `json:"interpreter,omitempty"`
	// Tools are the files that building its sources needed, sorted: an index gives no others when it is built again.
	Tools []PackageFile `json:"tools,omitempty"`
	// Shown is what of the host it is run from and is seen inside, read-only, at its own path: a project's
	// folder, a script. Its Integrity is then over what it says that it needs. With a repository Version is
	// the commit, and Integrity over the files of its tree.
	Shown []string `json:"shown,omitempty"`
}

// PackageFile is one file of an index: a wheel, or a source distribution that was built.
type PackageFile struct {
	Name    string `json:"name"`    // of its project, in normal form
	Version string `json:"version"` // as its file says
	File    string `json:"file"`    // "demo-1.0-py3-none-any.whl"
	Digest  Digest `json:"digest"`
}

// FromIndex says whether p came from a registry or an index, where somebody else says whose a name is.
func (p Package) FromIndex() bool { return len(p.Shown) == 0 && !IsCommit(p.Version) }

// Program is the host's program that p needs: its interpreter.
func (p Package) Program() string {
	if p.Interpreter != "" || len(p.Entry) == 0 {
		return p.Interpreter
	}
	return p.Entry[0]
}

// NeedsBuild says that nothing fits but a source distribution, which runs code of its own when it is
// built: an install script like any other. Kind: FailedPrecondition.
type NeedsBuild struct{ Script InstallScript }

func (e *NeedsBuild) Error() string {
	return fmt.Sprintf("%s is there only as source, and building that runs its code; to be shown what it runs and asked, name it in servers.yaml: install: {scripts: [%s]}", e.Script.Spec(), e.Script.Name)
}

// Unwrap gives its kind.
func (e *NeedsBuild) Unwrap() error { return errdefs.ErrFailedPrecondition }

// TooYoung says that nothing fits but versions that were published too lately. Kind: FailedPrecondition.
type TooYoung struct {
	Ecosystem Ecosystem
	Name      string
	Version   string    // the newest of them
	At        time.Time // when it was published; zero where nobody knows
	Before    time.Time // what is older may be used
}

func (e *TooYoung) Error() string {
	when := "lately"
	if !e.At.IsZero() {
		when = "at " + e.At.UTC().Format("2006-01-02 15:04") + " UTC"
	}
	return fmt.Sprintf("%s@%s was published %s, and no older version fits; versions that were published after %s are not installed unless a person allows one (packages.age in config.yaml)",
		e.Name, e.Version, when, e.Before.UTC().Format("2006-01-02 15:04"))
}

// Unwrap gives its kind.
func (e *TooYoung) Unwrap() error { return errdefs.ErrFailedPrecondition }

// InstallScript is what one package would run of its own when it is installed.
type InstallScript struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Integrity string `json:"integrity"`     // "" for what came inside another package's tarball
	Text      string `json:"text"`          // "install: node-gyp rebuild", a line for each; the package's own words, hostile
	Ran       bool   `json:"ran,omitempty"` // a person approved it and it has run
}

// Spec is the script's package as npm writes it: "name@version".
func (s InstallScript) Spec() string { return s.Name + "@" + s.Version }

// Same says whether s and o are the same script of the same bytes, whether they have run or not.
func (s InstallScript) Same(o InstallScript) bool {
	return s.Name == o.Name && s.Version == o.Version && s.Integrity == o.Integrity && s.Text == o.Text
}

// Ran are the scripts of p that have run.
func (p Package) Ran() []InstallScript {
	return p.scripts(func(s InstallScript) bool { return s.Ran })
}

// Idle are the scripts of p that have not run.
func (p Package) Idle() []InstallScript {
	return p.scripts(func(s InstallScript) bool { return !s.Ran })
}

func (p Package) scripts(wanted func(InstallScript) bool) []InstallScript {
	var out []InstallScript
	for _, s := range p.Scripts {
		if wanted(s) {
			out = append(out, s)
		}
	}
	return out
}

// With is p with exactly the scripts having run that run says.
func (p Package) With(run func(InstallScript) bool) Package {
	p.Scripts = slices.Clone(p.Scripts)
	for i, s := range p.Scripts {
		p.Scripts[i].Ran = run(s)
	}
	return p
}

// PackageRoot is where a package's snapshot is mounted, read-only, inside a sandbox.
const PackageRoot = "/opt/garita/package"
