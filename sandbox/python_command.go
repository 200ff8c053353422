package sandbox

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ParsePythonCommand reads a command line that runs packages of Python's: uvx, uv tool run, uv run, pipx run,
// each also by path and behind "cmd /c". ok and err are as ParsePackageCommand's. The name comes out in its
// one normal form (PEP 503); Range is a version, a tag, or specifiers such as ">=1,<2". Files that it names
// are not looked at.
func ParsePythonCommand(argv []string) (ref PackageRef, args []string, ok bool, err error) {
	argv = unwrapCmd(argv)
	d, rest, ok := pythonRunner(argv)
	if !ok {
		return PackageRef{}, nil, false, nil
	}
	line, err := d.options(rest)
	if err == nil {
		ref, args, err = d.target(line)
	}
	if err != nil {
		return PackageRef{}, nil, true, fmt.Errorf("read the %s command: %w", programName(argv[0]), err)
	}
	return ref, args, true, nil
}

// pythonDialect is one program's way of writing such a command.
type pythonDialect struct {
	project bool // uv run: a project or a script is run, and packages are what --with says
}

// pythonRunner recognizes the program, and returns its options and what follows.
func pythonRunner(argv []string) (pythonDialect, []string, bool) {
	if len(argv) == 0 {
		return pythonDialect{}, nil, false
	}
	name := programName(argv[0])
	switch {
	case name == "uvx":
		return pythonDialect{}, argv[1:], true
	case name == "pipx" && len(argv) > 1 && argv[1] == "run":
		return pythonDialect{}, argv[2:], true
	case name != "uv":
		return pythonDialect{}, nil, false
	}
	global, rest := uvOptions(argv[1:])
	switch {
	case len(rest) > 0 && rest[0] == "run":
		return pythonDialect{project: true}, slices.Concat(global, rest[1:]), true
	case len(rest) > 1 && rest[0] == "tool" && rest[1] == "run":
		return pythonDialect{}, slices.Concat(global, rest[2:]), true
	}
	return pythonDialect{}, nil, false
}

// uvOptions are those that stand before what uv is to do.
func uvOptions(line []string) (options, rest []string) {
	for i := 0; i < len(line); i++ {
		if !strings.HasPrefix(line[i], "-") {
			return line[:i], line[i:]
		}
		if slices.Contains(idleValues, line[i]) || slices.Contains(folderOptions, line[i]) || line[i] == "--config-file" {
			i++ // its value
		}
	}
	return nil, nil
}

// Options that only change what is shown, kept or checked; idleValues have a value.
var (
	harmlessPython = []string{
		"-q", "--quiet", "-v", "--verbose", "--refresh", "-n", "--no-cache", "--isolated", "--no-progress", "--native-tls", "--no-config",
		"--no-env-file", "--no-python-downloads", "--offline", "--frozen", "--locked", "--no-sync", "--no-dev", "--no-default-groups",
		"--no-editable", "--exact", "--active", "--managed-python", "--no-managed-python", "--upgrade", "-U", "--no-build", "--compile-bytecode",
	}
	idleValues    = []string{"--color", "--cache-dir", "--python-preference", "--link-mode", "--no-group", "--resolution", "--prerelease"}
	folderOptions = []string{"--directory", "--project"}
)

// Options that would have packages come from elsewhere, and what is not read: refused with a reason of their own.
var (
	otherIndexes = []string{
		"-i", "--index", "--index-url", "--default-index", "--extra-index-url", "--find-links", "-f", "--index-strategy", "--pip-args",
	}
	unreadable = map[string]string{
		"--with-editable": "it has further code run from where it is; name that folder with --directory",
		"--package":       "run the member itself: uv --directory PATH/TO/MEMBER run …",
		"--all-packages":  "run one member: uv --directory PATH/TO/MEMBER run …",
		"--only-group":    "--group NAME adds a group",
		"--only-dev":      "--group NAME adds a group",
		"--env-file":      "variables belong into env: of servers.yaml, and secrets into garita secret set",
		"--config-file":   "settings are read from uv.toml and pip.conf",
		"--gui-script":    "--script runs it",
		"--path":          "uv run --script FILE runs a script with what its comment needs",
	}
)

// pythonLine is a command line as far as it has been understood.
type pythonLine struct {
	from     string // --from, --spec
	python   string
	with     []string
	dir      string // --directory
	project  string // --project
	alone    bool   // --no-project
	list     string // --with-requirements
	extras   []string
	groups   []string
	module   bool     // -m
	scripted bool     // --script
	words    []string // the first word that is no option, and what follows it
}

func (d pythonDialect) options(line []string) (pythonLine, error) {
	var l pythonLine
	for i := 0; i < len(line); i++ {
		name, value, inline := strings.Cut(line[i], "=")
		takes := func() error {
			if !inline {
				if i++; i == len(line) {
					return invalid("%s is followed by nothing", name)
				}
				value = line[i]
			}
			return nil
		}
		switch {
		case line[i] == "--":
			l.words = line[i+1:]
			return l, nil
		case !strings.HasPrefix(line[i], "-") || line[i] == "-":
			l.words = line[i:]
			return l, nil
		case d.project && (name == "-m" || name == "--module") && !inline:
			l.module, l.words = true, line[i+1:]
			return l, nil
		case !inline && slices.Contains(harmlessPython, name):
		case d.project && !inline && l.flag(name):
		default:
			if err := l.option(d, name, &value, takes); err != nil {
				return l, err
			}
		}
	}
	return l, nil
}

// flag notes what "uv run" is told by a word alone.
func (l *pythonLine) flag(name string) bool {
	switch name {
	case "--no-project":
		l.alone = true
	case "-s", "--script":
		l.scripted = true
	case "--all-extras":
		l.extras = append(l.extras, "*")
	case "--all-groups":
		l.groups = append(l.groups, "*")
	case "--dev":
		l.groups = append(l.groups, "dev")
	default:
		return false
	}
	return true
}

// option reads one that has a value, or says why it is refused.
func (l *pythonLine) option(d pythonDialect, name string, value *string, takes func() error) error {
	into := map[string]*string{"--from": &l.from, "--spec": &l.from, "--directory": &l.dir, "--with-requirements": &l.list}
	lists := map[string]*[]string{}
	if d.project {
		into["--project"] = &l.project
		lists["--extra"], lists["--group"] = &l.extras, &l.groups
	}
	switch {
	case slices.Contains(otherIndexes, name):
		return invalid("%s names a place of its own for packages: where a name can come from two places, the wrong one can win; packages come from the one index of your pip.conf or uv.toml", name)
	case unreadable[name] != "":
		return invalid("%s is not followed here; %s", name, unreadable[name])
	case name != "-p" && name != "--python" && name != "--with" && name != "-w" && into[name] == nil && lists[name] == nil && !slices.Contains(idleValues, name):
		return invalid("the option %s is not known here; packages of the configured index can be run", name)
	}
	if err := takes(); err != nil {
		return err
	}
	var err error
	switch {
	case name == "-p" || name == "--python":
		l.python, err = interpreter(*value)
	case name == "--with" || name == "-w":
		l.with = append(l.with, splitWith(*value)...)
	case into[name] != nil:
		if *into[name] != "" && *into[name] != *value {
			return invalid("%s is there twice", name)
		}
		*into[name] = *value
	case lists[name] != nil:
		*lists[name] = append(*lists[name], *value)
	}
	return err
}

// splitWith cuts at the commas between packages; the ones in "x>=1,<2" and "x[a,b]" are their own.
func splitWith(value string) []string {
	var out []string
	for _, part := range strings.Split(value, ",") {
		if n := len(out) - 1; n >= 0 && (!startsName(part) || strings.Count(out[n], "[") > strings.Count(out[n], "]")) {
			out[n] += "," + part
			continue
		}
		out = append(out, part)
	}
	return out
}

func startsName(part string) bool {
	part = strings.TrimSpace(part)
	return part != "" && (part[0] >= 'a' && part[0] <= 'z' || part[0] >= 'A' && part[0] <= 'Z')
}

// interpreter reads the Python that is asked for: "3.12", "3.12.1", "python3.12", "cpython@3.12".
func interpreter(value string) (string, error) {
	m := pythonAsked.FindStringSubmatch(value)
	if m == nil {
		return "", invalid("%q is not a version of Python: 3.12, for example", value)
	}
	return m[1], nil
}

// target tells packages, program and arguments apart.
func (d pythonDialect) target(l pythonLine) (ref PackageRef, args []string, err error) {
	if len(l.words) == 0 {
		return ref, nil, invalid("it names no package, script or program")
	}
	if d.project {
		ref, args, err = l.run()
	} else {
		ref, args, err = l.tool()
	}
	if err != nil {
		return PackageRef{}, nil, err
	}
	ref.Python = l.python
	if ref.Dir, err = folder(l.dir); err != nil {
		return PackageRef{}, nil, err
	}
	if l.list != "" {
		if ref.List, err = l.file(l.list); err != nil {
			return PackageRef{}, nil, err
		}
	}
	if ref.Bin != "" && !binName.MatchString(ref.Bin) {
		return PackageRef{}, nil, invalid("%q is not the name of a program of a package", ref.Bin)
	}
	return ref, args, nil
}

// tool is what uvx and pipx run.
func (l pythonLine) tool() (ref PackageRef, args []string, err error) {
	spec := l.words[0]
	if l.from != "" {
		spec = l.from
	}
	if ref, err = parsePythonSpec(spec); err != nil {
		return ref, nil, err
	}
	if l.from != "" {
		ref.Bin = l.words[0]
	}
	ref.With, err = parseWith(l.with)
	return ref, l.words[1:], err
}

// run is what "uv run" runs: a project's program, a script, or a program of the packages that it names.
func (l pythonLine) run() (ref PackageRef, args []string, err error) {
	if l.from != "" {
		return ref, nil, invalid("uv run knows no --from")
	}
	ref.Ecosystem = PyPI
	ref.Bin, args = projectProgram(l)
	script := ref.Bin == PythonBin && len(args) > 0 && &args[0] == &l.words[0] && !l.module
	switch {
	case l.words[0] == "-" || strings.Contains(l.words[0], "://"):
		return ref, nil, invalid("it is no file of this machine")
	case script && (strings.HasPrefix(l.words[0], "/") || l.dir != ""):
		if ref.Script, err = l.file(l.words[0]); err != nil {
			return ref, nil, err
		}
	case script && (len(l.with) == 0 || l.project != ""):
		return ref, nil, invalid("%q is relative, and nothing says to which folder; write uv --directory /PATH/TO/ITS/FOLDER run %s", l.words[0], l.words[0])
	}
	if !l.alone {
		if ref.Project, err = l.projectFolder(); err != nil {
			return ref, nil, err
		}
	}
	if !ref.Nameless() {
		return l.programOfPackages(ref, args)
	}
	ref.With, err = parseWith(l.with)
	if err == nil && ref.Project != "" {
		ref.Extras, ref.Groups = wishes(l.extras), wishes(l.groups)
	}
	return ref, args, err
}

// programOfPackages is "uv run --with PACKAGE PROGRAM", where there is neither a project nor a script.
func (l pythonLine) programOfPackages(run PackageRef, args []string) (PackageRef, []string, error) {
	if len(l.with) == 0 {
		return run, nil, invalid("it runs a project, and nothing says in which folder; write uv --directory /PATH/TO/PROJECT run %s", l.words[0])
	}
	ref, err := parsePythonSpec(l.with[0])
	if err != nil {
		return ref, nil, err
	}
	ref.Bin = run.Bin
	ref.With, err = parseWith(l.with[1:])
	return ref, args, err
}

func (l pythonLine) projectFolder() (string, error) {
	switch {
	case l.project == "":
		return folder(l.dir)
	case strings.HasPrefix(l.project, "/") || l.dir == "":
		return folder(l.project)
	}
	return folder(path.Join(l.dir, l.project))
}

// folder is a folder's path in its one form; "" stays it.
func folder(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if !path.IsAbs(name) || strings.ContainsAny(name, "\x00\n\r") {
		return "", invalid("%q is no whole path of a folder on this machine", name)
	}
	return path.Clean(name), nil
}

// file is a file's whole path.
func (l pythonLine) file(name string) (string, error) {
	if !path.IsAbs(name) && l.dir != "" {
		name = path.Join(l.dir, name)
	}
	if !path.IsAbs(name) || strings.ContainsAny(name, "\x00\n\r") {
		return "", invalid("%q is no whole path of a file on this machine", name)
	}
	return path.Clean(name), nil
}

func wishes(names []string) string {
	var out []string
	for _, one := range names {
		if one == "*" {
			return one
		}
		out = append(out, PythonName(one))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

// projectProgram is what "uv run" starts: the interpreter for a file or a module, else a program.
func projectProgram(l pythonLine) (bin string, args []string) {
	first := l.words[0]
	switch {
	case l.module:
		return PythonBin, append([]string{"-m"}, l.words...)
	case l.scripted || strings.HasSuffix(first, ".py"):
		return PythonBin, l.words
	case first == "python" || first == "python3":
		return PythonBin, l.words[1:]
	}
	return first, l.words[1:]
}

func parseWith(specs []string) (string, error) {
	var out []string
	for _, spec := range specs {
		r, err := parsePythonSpec(spec)
		if err != nil {
			return "", err
		}
		if r.Repository != "" {
			return "", invalid("--with names a repository; only the package that is run can come from one")
		}
		out = append(out, r.Requirements()[0])
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " "), nil
}

var (
	pythonSpec    = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([A-Za-z0-9._, -]*)\])?\s*(@\s*[0-9A-Za-z.+_!-]+|(?:(?:===|[=~<>!]=|[<>])\s*[0-9A-Za-z.*+!_-]+\s*,?\s*)*)$`)
	pythonRunes   = regexp.MustCompile(`[-_.]+`)
	pythonVersion = regexp.MustCompile(`^v?[0-9][0-9A-Za-z.+!_-]*$`)
	pythonAsked   = regexp.MustCompile(`^(?:c?python[@-]?)?(3\.[0-9]{1,2})(?:\.[0-9]+)?$`)
	pythonSpecial = regexp.MustCompile(`(^|@\s*)(git|hg|svn|bzr)\+`)
)

// PythonName is a project's name in its one normal form (PEP 503).
func PythonName(name string) string {
	return strings.ToLower(pythonRunes.ReplaceAllString(name, "-"))
}

var (
	pythonFile    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+!-]*$`)
	pythonRelease = regexp.MustCompile(`^[0-9][0-9A-Za-z.+!_]*$`)
	pythonTag     = regexp.MustCompile(`^[0-9A-Za-z_.]+$`)
)

// maxPythonFile bounds a file's name, in bytes.
const maxPythonFile = 255

// ParsePythonFile reads the name of a file of an index: a wheel, or a source distribution. project comes
// out in normal form; ok is false for what is neither.
func ParsePythonFile(name string) (project, version string, wheel, ok bool) {
	if len(name) > maxPythonFile || !pythonFile.MatchString(name) || strings.Contains(name, "..") {
		return "", "", false, false
	}
	if stem, is := strings.CutSuffix(name, ".whl"); is {
		parts := strings.Split(stem, "-")
		if len(parts) != 5 && len(parts) != 6 || !pythonRelease.MatchString(parts[1]) {
			return "", "", false, false
		}
		broken := slices.ContainsFunc(parts[2:], func(p string) bool { return !pythonTag.MatchString(p) })
		return PythonName(parts[0]), parts[1], true, !broken
	}
	stem, is := strings.CutSuffix(name, ".tar.gz")
	at := strings.LastIndex(stem, "-")
	if !is || at < 1 || !pythonRelease.MatchString(stem[at+1:]) {
		return "", "", false, false
	}
	return PythonName(stem[:at]), stem[at+1:], false, true
}

func parsePythonSpec(spec string) (PackageRef, error) {
	switch {
	case pythonSpecial.MatchString(spec):
		return parseGitSpec(spec)
	case strings.Contains(spec, "://") || strings.ContainsAny(spec, `/\`) || strings.HasPrefix(spec, "."):
		return PackageRef{}, invalid("it would come from a URL or a folder; packages of an index can be installed, repositories (git+https://…), and projects of this machine run (uv --directory FOLDER run …)") // it may hold a password
	}
	m := pythonSpec.FindStringSubmatch(strings.TrimSpace(spec))
	if m == nil || len(spec) > maxPackageName {
		return PackageRef{}, invalid("%q is not the name of a Python package, with or without a version", spec)
	}
	versions := strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(m[3], "@"), " ", ""), ",")
	if exact, ok := strings.CutPrefix(versions, "=="); ok && !strings.ContainsAny(exact, ",*=") {
		versions = exact
	}
	if versions != "" && versions != "latest" && strings.HasPrefix(m[3], "@") && !pythonVersion.MatchString(versions) {
		return PackageRef{}, invalid("%q is not a version", versions)
	}
	return PackageRef{Ecosystem: PyPI, Name: PythonName(m[1]), Extras: extras(m[2]), Range: versions}, nil
}

func extras(list string) string {
	var out []string
	for _, one := range strings.Split(list, ",") {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, PythonName(one))
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

// Requirements are r and what goes with it, as Python writes them: "mcp[cli]==1.2", "httpx>=0.27". What does
// not come from an index by its name is none of them.
func (r PackageRef) Requirements() []string {
	if r.Nameless() || r.Name == "" {
		return strings.Fields(r.With)
	}
	first := r.Name
	if r.Extras != "" {
		first += "[" + r.Extras + "]"
	}
	switch {
	case r.Range == "" || r.Range == "latest":
	case r.Exact():
		first += "==" + r.Range
	default:
		first += r.Range
	}
	return append([]string{first}, strings.Fields(r.With)...)
}

// words are what r is called in messages: Requirements, and what else there is.
func (r PackageRef) words() []string {
	out := r.Requirements()
	switch {
	case r.Repository != "":
		out = append([]string{"git+" + r.Repository}, out...)
	case r.Script != "":
		out = append([]string{"script " + r.Script}, out...)
	case r.Project != "":
		out = append([]string{"project " + r.Project}, out...)
	}
	if r.List != "" {
		out = append(out, "list "+r.List)
	}
	return out
}

// Besides is what r asks for besides its name and range: "[cli] pandas". "" for npm.
func (r PackageRef) Besides() string {
	var out []string
	for _, one := range []string{r.Extras, r.Groups} {
		if one != "" {
			out = append(out, "["+one+"]")
		}
	}
	if r.Python != "" {
		out = append(out, "python"+r.Python)
	}
	for _, one := range []struct{ what, value string }{
		{"git+", r.Repository}, {"script ", r.Script}, {"project ", r.Project}, {"list ", r.List}, {"", r.With},
	} {
		if one.value != "" {
			out = append(out, one.what+one.value)
		}
	}
	return strings.Join(out, " ")
}

// Valid refuses (InvalidArgument) a reference that no command line could have made.
func (r PackageRef) Valid() error {
	if r.Ecosystem != PyPI {
		_, err := ParsePackageSpec(r.String())
		return err
	}
	if err := r.validPlaces(); err != nil {
		return err
	}
	for i, requirement := range r.Requirements() {
		got, err := parsePythonSpec(requirement)
		if err != nil {
			return err
		}
		if i == 0 && !r.Nameless() && (got.Name != r.Name || got.Extras != r.Extras) {
			return invalid("%q is not the name of a Python package", r.Name)
		}
	}
	if r.Bin != "" && !binName.MatchString(r.Bin) || r.Python != "" && !pythonAsked.MatchString(r.Python) {
		return invalid("%q cannot be run", r.Name)
	}
	return nil
}

// validPlaces refuses places that are none.
func (r PackageRef) validPlaces() error {
	for _, place := range []string{r.Project, r.Script, r.List, r.Dir} {
		if got, err := folder(place); err != nil || got != place {
			return invalid("%q is no whole path on this machine", place)
		}
	}
	if r.Repository == "" {
		if r.Name == "" && !r.OnHost() {
			return invalid("it names no package")
		}
		return nil
	}
	at, err := ParseRepository(r.Repository)
	if err == nil && at.String() != r.Repository {
		err = invalid("the repository is not written in its one form")
	}
	return err
}

// release is a version without what makes no difference: "v", and zeros at its end.
func release(version string) string {
	version = strings.ToLower(strings.TrimPrefix(version, "v"))
	for strings.HasSuffix(version, ".0") {
		version = strings.TrimSuffix(version, ".0")
	}
	return version
}
