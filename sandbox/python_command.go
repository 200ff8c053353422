package sandbox

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ParsePythonCommand reads a command line that runs a package of a Python index: uvx, uv tool run,
// pipx run, each also by path and behind "cmd /c". ok and err are as ParsePackageCommand's. The
// name comes out in its one normal form (PEP 503); Range is a version, a tag, or specifiers such as
// ">=1,<2".
func ParsePythonCommand(argv []string) (ref PackageRef, args []string, ok bool, err error) {
	argv = unwrapCmd(argv)
	rest, ok := pythonRunner(argv)
	if !ok {
		return PackageRef{}, nil, false, nil
	}
	ref, args, err = parsePython(rest)
	if err != nil {
		return PackageRef{}, nil, true, fmt.Errorf("read the %s command: %w", programName(argv[0]), err)
	}
	return ref, args, true, nil
}

// pythonRunner recognizes the program, and returns what follows it. "uv run" runs a project that is
// there, and is left alone.
func pythonRunner(argv []string) ([]string, bool) {
	if len(argv) == 0 {
		return nil, false
	}
	name := programName(argv[0])
	switch {
	case name == "uvx":
		return argv[1:], true
	case name == "pipx" && len(argv) > 1 && argv[1] == "run":
		return argv[2:], true
	case name == "uv" && len(argv) > 2 && argv[1] == "tool" && argv[2] == "run":
		return argv[3:], true
	}
	return nil, false
}

// Options that only change what is shown, or which Python is wanted.
var (
	harmlessPython = []string{"-q", "--quiet", "-v", "--verbose", "--refresh", "-n", "--no-cache", "--isolated", "--no-progress", "--native-tls", "--no-config"}
	pythonVersion  = []string{"-p", "--python"}
	pythonSource   = []string{"--from", "--spec"}
)

func parsePython(line []string) (PackageRef, []string, error) {
	from := ""
	for i := 0; i < len(line); i++ {
		name, value, inline := strings.Cut(line[i], "=")
		switch {
		case line[i] == "--":
			return pythonTarget(from, line[i+1:])
		case !strings.HasPrefix(line[i], "-"):
			return pythonTarget(from, line[i:])
		case slices.Contains(pythonVersion, name), slices.Contains(pythonSource, name):
			if !inline {
				if i++; i == len(line) {
					return PackageRef{}, nil, invalid("%s is followed by nothing", name)
				}
				value = line[i]
			}
			if slices.Contains(pythonSource, name) {
				from = value
			}
		case !inline && slices.Contains(harmlessPython, name):
		default:
			return PackageRef{}, nil, invalid("the option %s is not known here; one package of the configured index can be run", name)
		}
	}
	return pythonTarget(from, nil)
}

// pythonTarget tells package, program and arguments apart.
func pythonTarget(from string, words []string) (PackageRef, []string, error) {
	if len(words) == 0 {
		return PackageRef{}, nil, invalid("it names no package")
	}
	if from == "" {
		ref, err := parsePythonSpec(words[0])
		return ref, words[1:], err
	}
	ref, err := parsePythonSpec(from)
	if err == nil && !binName.MatchString(words[0]) {
		err = invalid("%q is not the name of a program of a package", words[0])
	}
	ref.Bin = words[0]
	return ref, words[1:], err
}

var (
	pythonSpec  = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(\[[A-Za-z0-9._, -]*\])?\s*(@\s*[0-9A-Za-z.+_!-]+|(?:(?:===|[=~<>!]=|[<>])\s*[0-9A-Za-z.*+!_-]+\s*,?\s*)*)$`)
	pythonRunes = regexp.MustCompile(`[-_.]+`)
)

func parsePythonSpec(spec string) (PackageRef, error) {
	if strings.Contains(spec, "://") || strings.ContainsAny(spec, `/\`) || strings.HasPrefix(spec, ".") || strings.HasPrefix(spec, "git+") {
		return PackageRef{}, invalid("%q would come from a URL, a repository or a folder; only packages of an index can be named", spec)
	}
	m := pythonSpec.FindStringSubmatch(strings.TrimSpace(spec))
	if m == nil || len(spec) > maxPackageName {
		return PackageRef{}, invalid("%q is not the name of a Python package, with or without a version", spec)
	}
	versions := strings.ReplaceAll(strings.TrimPrefix(m[3], "@"), " ", "")
	if exact, ok := strings.CutPrefix(versions, "=="); ok && !strings.ContainsAny(exact, ",*=") {
		versions = exact
	}
	return PackageRef{Ecosystem: PyPI, Name: strings.ToLower(pythonRunes.ReplaceAllString(m[1], "-")), Range: versions}, nil
}
