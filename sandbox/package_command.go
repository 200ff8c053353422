package sandbox

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
)

// ParsePackageCommand reads a command line that runs a package: npx, npm exec, pnpm dlx, pnpx,
// yarn dlx, bunx, each also by path and behind "cmd /c". It looks at argv only.
//
// ok says that argv is such a command; err (InvalidArgument) then says why it cannot be run here:
// URLs, git and file specifications, several packages, a shell line, an option that would change
// where packages come from. args is what follows the package (or its bin) and goes to the server
// unchanged; Range and Bin are "" where the command line names none.
func ParsePackageCommand(argv []string) (ref PackageRef, args []string, ok bool, err error) {
	dialect, rest, ok := packageRunner(unwrapCmd(argv))
	if !ok {
		return PackageRef{}, nil, false, nil
	}
	ref, args, err = dialect.parse(rest)
	if err != nil {
		// The arguments may hold secrets: they are not repeated.
		return PackageRef{}, nil, true, fmt.Errorf("read the %s command: %w", programName(unwrapCmd(argv)[0]), err)
	}
	return ref, args, true, nil
}

// runner is one program's way of writing a package command.
type runner struct {
	exec bool // npm exec: options go on behind the package, up to "--"
}

// packageRunner recognizes the program, and returns what follows it.
func packageRunner(argv []string) (runner, []string, bool) {
	if len(argv) == 0 {
		return runner{}, nil, false
	}
	name := programName(argv[0])
	switch name {
	case "npx", "bunx", "pnpx":
		return runner{}, argv[1:], true
	}
	if len(argv) < 2 {
		return runner{}, nil, false
	}
	switch name + " " + argv[1] {
	case "npm exec", "npm x":
		return runner{exec: true}, argv[2:], true
	case "pnpm dlx", "yarn dlx", "bun x":
		return runner{}, argv[2:], true
	}
	return runner{}, nil, false
}

// programName is the last element of a path, without the endings Windows gives programs.
func programName(program string) string {
	name := path.Base(strings.ReplaceAll(program, `\`, "/"))
	for _, ending := range []string{".cmd", ".exe", ".ps1"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// unwrapCmd removes the "cmd /c" that settings files written on Windows put first.
func unwrapCmd(argv []string) []string {
	if len(argv) > 2 && strings.EqualFold(programName(argv[0]), "cmd") && strings.EqualFold(argv[1], "/c") {
		return argv[2:]
	}
	return argv
}

// harmlessOptions only change what is asked or shown: here nothing is asked, and we show.
var harmlessOptions = []string{
	"-y", "--yes", "-q", "--quiet", "-s", "--silent", "--verbose", "--no-install", "--ignore-existing",
	"--prefer-offline", "--prefer-online", "--no-audit", "--no-fund", "--no-update-notifier", "--bun", "--ignore-scripts",
}

// words is a command line as far as it has been understood.
type words struct {
	packages []string // given by -p or --package
	shell    bool     // -c: a line for a shell
	ended    bool     // by "--"
	rest     []string // the first word that is no option, and what follows it
}

func (r runner) parse(line []string) (PackageRef, []string, error) {
	w, err := readOptions(line)
	if err != nil {
		return PackageRef{}, nil, err
	}
	switch {
	case w.shell:
		return PackageRef{}, nil, invalid("-c gives a line for a shell; write the program and its arguments instead")
	case len(w.packages) > 1:
		return PackageRef{}, nil, invalid("it names %d packages; one package can be run", len(w.packages))
	case len(w.rest) == 0 && len(w.packages) == 0:
		return PackageRef{}, nil, invalid("it names no package")
	}
	spec, bin, args := w.target()
	if r.exec && !w.ended {
		if args, err = execArgs(args); err != nil {
			return PackageRef{}, nil, err
		}
	}
	ref, err := ParsePackageSpec(spec)
	if err != nil {
		return PackageRef{}, nil, err
	}
	if bin != "" && !binName.MatchString(bin) {
		return PackageRef{}, nil, invalid("%q is not the name of a program of a package", bin)
	}
	ref.Bin = bin
	return ref, args, nil
}

// target tells package, bin and arguments apart: with --package the first word is the bin.
func (w words) target() (spec, bin string, args []string) {
	if len(w.packages) == 0 {
		return w.rest[0], "", w.rest[1:]
	}
	if len(w.rest) == 0 {
		return w.packages[0], "", nil
	}
	return w.packages[0], w.rest[0], w.rest[1:]
}

// readOptions reads options up to the first word that is none, or behind "--".
func readOptions(line []string) (words, error) {
	var w words
	for i := 0; i < len(line); i++ {
		name, value, inline := strings.Cut(line[i], "=")
		switch {
		case line[i] == "--":
			w.rest, w.ended = line[i+1:], true
			return w, nil
		case !strings.HasPrefix(line[i], "-"):
			w.rest = line[i:]
			return w, nil
		case name == "-p" || name == "--package":
			if !inline {
				if i++; i == len(line) {
					return w, invalid("%s is followed by no package", name)
				}
				value = line[i]
			}
			w.packages = append(w.packages, value)
		case name == "-c" || name == "--call":
			w.shell = true
			return w, nil
		case inline && name == "--yes" && (value == "true" || value == "false"):
		case !inline && slices.Contains(harmlessOptions, name):
		default:
			return w, invalid("the option %s is not known here; packages come from the registries of your .npmrc, with install scripts off", name)
		}
	}
	return w, nil
}

// execArgs drops the "--" that npm exec wants before a server's own options.
func execArgs(args []string) ([]string, error) {
	for i, a := range args {
		if a == "--" {
			return slices.Concat(args[:i], args[i+1:]), nil
		}
		if strings.HasPrefix(a, "-") {
			return nil, invalid("npm exec takes %s for itself; put -- before the server's own options", a)
		}
	}
	return args, nil
}

var (
	packageName  = regexp.MustCompile(`^(@[A-Za-z0-9~-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*$`)
	packageRange = regexp.MustCompile(`^[0-9A-Za-z^~<>=|*. +_-]*$`)
	binName      = regexp.MustCompile(`^[A-Za-z0-9_@~][A-Za-z0-9._~@-]*$`)
	fromGit      = regexp.MustCompile(`(?i)^(git\+|git:|git@|github:|gitlab:|bitbucket:|gist:|ssh:)|^[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+(#|$)|@(git\+|github:)|\.git(#|$)`)
	archiveName  = regexp.MustCompile(`(?i)\.(tgz|tar\.gz|tar)$`)
)

// maxPackageName is npm's own limit, in bytes.
const maxPackageName = 214

// ParsePackageSpec reads "name", "name@range" and their scoped forms. Everything that would be
// fetched from elsewhere than a registry is refused (InvalidArgument).
func ParsePackageSpec(spec string) (PackageRef, error) {
	name, versions := splitSpec(spec)
	switch {
	case name == "":
		return PackageRef{}, invalid("%q names no package", spec)
	case fromGit.MatchString(spec):
		return PackageRef{}, invalid("it would come from a repository: npm runs scripts to prepare one, so only packages of a registry are installed; take a release from the registry, or clone it, build it (npm ci && npm run build), and run it with node PATH/TO/ITS/PROGRAM.js and mounts: [{host: PATH/TO/IT}]") // it may hold a password
	case fromElsewhere(name) || fromElsewhere(versions):
		return PackageRef{}, invalid("%q would come from a URL, a repository or a folder; only packages of a registry can be installed", spec)
	case len(name) > maxPackageName || !packageName.MatchString(name):
		return PackageRef{}, invalid("%q is not the name of a package", name)
	case len(versions) > maxPackageName || !packageRange.MatchString(versions) || strings.HasPrefix(versions, "-"):
		return PackageRef{}, invalid("%q is not a version, a range or a tag", versions)
	}
	return PackageRef{Ecosystem: NPM, Name: name, Range: versions}, nil
}

// splitSpec cuts at the "@" that is not the scope's.
func splitSpec(spec string) (name, versions string) {
	if at := strings.LastIndex(spec, "@"); at > 0 {
		return spec[:at], strings.TrimSpace(spec[at+1:])
	}
	return spec, ""
}

// fromElsewhere says whether npm would look for s outside a registry: a URL, an alias, a GitHub
// short form, a path or an archive.
func fromElsewhere(s string) bool {
	unscoped := s
	if strings.HasPrefix(s, "@") {
		unscoped = strings.Replace(s, "/", "", 1)
	}
	return strings.ContainsAny(unscoped, `:/\#`) || strings.HasPrefix(s, ".") || strings.HasPrefix(s, "~/") || archiveName.MatchString(s)
}

// ParseCommand reads a command line that runs a package of either ecosystem, as ParsePackageCommand
// and ParsePythonCommand do.
func ParseCommand(argv []string) (ref PackageRef, args []string, ok bool, err error) {
	if ref, args, ok, err = ParsePackageCommand(argv); ok {
		return ref, args, ok, err
	}
	return ParsePythonCommand(argv)
}

// exactVersion is one version without any operator or wildcard: 1.2.3, 2.0.0-beta.1.
var exactVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// Exact says whether r names one version.
func (r PackageRef) Exact() bool {
	switch {
	case r.Repository != "":
		at, _ := ParseRepository(r.Repository)
		return at.Exact()
	case r.Ecosystem == PyPI:
		return pythonVersion.MatchString(r.Range)
	}
	return exactVersion.MatchString(r.Range)
}

// Names says whether p is what r asks for, where r's range is the one that p was chosen by: a range or
// tag stays with the version it was first resolved to.
func (r PackageRef) Names(p Package) bool {
	if p.Ecosystem != r.Ecosystem || p.Name != r.Name && !r.Nameless() || p.Besides != r.Besides() {
		return false
	}
	if r.Nameless() {
		return true
	}
	return !r.Exact() || r.Range == p.Version || r.Ecosystem == PyPI && release(r.Range) == release(p.Version)
}

// String is the reference as npm writes it: "name@range", or "name" alone; as Python does, for Python.
func (r PackageRef) String() string {
	if r.Ecosystem == PyPI {
		return strings.Join(r.words(), " ")
	}
	if r.Range == "" {
		return r.Name
	}
	return r.Name + "@" + r.Range
}

func invalid(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errdefs.ErrInvalidArgument)...)
}
