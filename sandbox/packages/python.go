package packages

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// Python is the host's interpreter that packages are installed for and run by.
type Python struct {
	Path    string // absolute, no link; visible inside at the same place
	Version string // "3.11": the part of it that packages are made for
	Pip     string // pip's own wheel, absolute; "" where the host has none that will do
}

var pythonProgram = regexp.MustCompile(`^python(3\.[0-9]{1,2})$`)

// FindPython looks for an interpreter where sandboxes have it: in the toolchain's bin if there is one,
// else in the system's. version is "3.12", or "" for the one called python3. Its Version is what it is
// called, once links are followed: it is not run. Kind: FailedPrecondition.
func FindPython(toolchain, version string) (Python, error) {
	dirs := []string{"/usr/local/bin", "/usr/bin"}
	if toolchain != "" {
		dirs = append([]string{filepath.Join(toolchain, "bin")}, dirs...)
	}
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(filepath.Join(dir, "python"+orThree(version)))
		if err != nil || !within(real, "/usr") && (toolchain == "" || !within(real, toolchain)) {
			continue // not there, or not visible inside
		}
		m := pythonProgram.FindStringSubmatch(filepath.Base(real))
		if m != nil && isProgram(real) && (version == "" || version == m[1]) {
			return Python{Path: real, Version: m[1], Pip: findPip(real, m[1])}, nil
		}
	}
	return Python{}, fmt.Errorf("there is no python%s in %s; Python packages need it, for example from your distribution, pyenv or uv: %w",
		orThree(version), strings.Join(dirs, ", "), errdefs.ErrFailedPrecondition)
}

func orThree(version string) string {
	if version == "" {
		return "3"
	}
	return version
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// The pip that is fetched from the index where the host has none: its wheel runs as it is.
var fetchedPip = struct{ file, digest string }{
	"pip-24.3.1-py3-none-any.whl", "3790624780082365f47549d032f3770eeb2b1e8bd1f7b2e02dace1afa361b4ed",
}

// leastPip is the oldest pip that reads an index as it is served here.
var leastPip = []int{22, 3}

// findPip is the newest pip that came with the interpreter, or with the distribution, as a wheel.
func findPip(python, version string) string {
	prefix := filepath.Dir(filepath.Dir(python))
	var found []string
	for _, pattern := range []string{
		prefix + "/lib/python" + version + "/ensurepip/_bundled/pip-*-py3-none-any.whl",
		prefix + "/lib64/python" + version + "/ensurepip/_bundled/pip-*-py3-none-any.whl",
		"/usr/share/python-wheels/pip-*-py3-none-any.whl",
	} {
		matches, _ := filepath.Glob(pattern)
		found = append(found, matches...)
	}
	newest := slices.MaxFunc(append(found, ""), func(a, b string) int { return slices.Compare(pipVersion(a), pipVersion(b)) })
	if slices.Compare(pipVersion(newest), leastPip) < 0 {
		return ""
	}
	return newest
}

func pipVersion(wheel string) []int {
	parts := strings.Split(filepath.Base(wheel), "-")
	if len(parts) < 2 {
		return nil
	}
	var out []int
	for _, part := range strings.Split(parts[1], ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// PythonOf is the version that a package was installed for: "3.11" of the Runtime "python 3.11.2".
func PythonOf(p sandbox.Package) string {
	parts := strings.Split(strings.TrimPrefix(p.Runtime, "python "), ".")
	if len(parts) < 2 {
		return ""
	}
	return parts[0] + "." + parts[1]
}

// Folders below a package's root that go before it is kept.
const (
	wheelsDir = ".wheels" // what was fetched
	tempDir   = ".tmp"
	pipDir    = ".pip"
	venvDir   = "venv"
)

// packageRoot is the package's, inside.
const packageRoot = sandbox.PackageRoot

// fetchPip has pip's wheel come from the index, whose bytes must be the ones we know.
const fetchPip = `import hashlib, sys, urllib.request
url, digest, path = sys.argv[1:]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    body = opener.open(url, timeout=600).read()
except OSError as e:
    sys.exit("ERROR: pip is not there, and cannot be had from the index: %s" % e)
if hashlib.sha256(body).hexdigest() != digest:
    sys.exit("ERROR: the index has another pip than the one that is known here")
with open(path, "wb") as f:
    f.write(body)
`

// fetchScript and installScript run pip; what they are given comes as arguments and is no part of them.
const (
	fetchScript = `mkdir -p "$1/.tmp" "$1/.wheels" "$1/.pip"
python=$2 pip=$3
if [ -n "$5" ]; then "$python" -I -c "$4" "$5" "$6" "$pip"; fi
shift 6
exec "$python" -I "$pip/pip" "$@"`
	installScript = `mkdir -p "$1/.tmp"
root=$1 python=$2 pip=$3
shift 3
"$python" -I -m venv --without-pip --symlinks "$root/venv"
if [ "$#" = 0 ]; then exit 0; fi
exec "$root/venv/bin/python" -I "$pip/pip" "$@"`
)

// NewFetchPlan is how pip fetches everything that these requirements need from the index at address
// (HOST:PORT), and nothing is installed. Where files are given, exactly those are fetched; sources of the
// projects in builds are taken, and run code of theirs to say what they need.
func NewFetchPlan(requirements []string, files []sandbox.PackageFile, builds []sandbox.InstallScript, py Python, address string) Plan {
	base := "http://" + address
	fetch, digest := "", ""
	if py.Pip == "" {
		fetch, digest = base+"/files/pip/"+fetchedPip.file, fetchedPip.digest
	}
	argv := []string{"/bin/sh", "-ec", fetchScript, "garita", packageRoot, py.Path, py.pip(), fetchPip, fetch, digest, "download"}
	argv = append(argv, pipSettings...)
	argv = append(argv, "--dest="+packageRoot+"/"+wheelsDir, "--index-url="+base+"/simple/", "--only-binary=:all:")
	for _, b := range builds {
		argv = append(argv, "--no-binary="+b.Name)
	}
	if len(files) == 0 {
		return Plan{Argv: append(append(argv, "--"), requirements...), Env: pythonEnvironment(py)}
	}
	argv = append(argv, "--no-deps", "--")
	for _, f := range files {
		argv = append(argv, base+"/files/"+f.Name+"/"+f.File+"#"+strings.Replace(string(f.Digest), ":", "=", 1))
	}
	return Plan{Argv: argv, Env: pythonEnvironment(py)}
}

// NewInstallPlan is how pip installs files, which lie where NewFetchPlan has put them, into an
// environment of their own. With builds there is an index for what building needs.
//
// source, where it is not "", is a folder below the package's root that is built and installed as well.
func NewInstallPlan(files []sandbox.PackageFile, builds []sandbox.InstallScript, source string, py Python, address string) Plan {
	argv := []string{"/bin/sh", "-ec", installScript, "garita", packageRoot, py.Path, py.pip()}
	if len(files) == 0 && source == "" {
		return Plan{Argv: argv, Env: pythonEnvironment(py)}
	}
	argv = append(append(argv, "install"), pipSettings...)
	if len(builds) > 0 {
		argv = append(argv, "--index-url=http://"+address+"/simple/", "--only-binary=:all:")
	} else {
		argv = append(argv, "--no-index")
	}
	argv = append(argv, "--no-deps", "--no-warn-script-location", "--")
	for _, f := range files {
		argv = append(argv, packageRoot+"/"+wheelsDir+"/"+f.File)
	}
	if source != "" {
		argv = append(argv, source)
	}
	return Plan{Argv: argv, Env: pythonEnvironment(py)}
}

// pip is where pip's wheel is, inside.
func (py Python) pip() string {
	if py.Pip != "" {
		return py.Pip
	}
	return packageRoot + "/" + pipDir + "/" + fetchedPip.file
}

// pipSettings are pip's for every run of it.
var pipSettings = []string{
	"--isolated", "--disable-pip-version-check", "--no-input", "--no-cache-dir", "--no-color", "--progress-bar=off",
	"--retries=1", "--timeout=900", // the wall has a file whole before it sends the first byte
}

func pythonEnvironment(py Python) map[string]string {
	return map[string]string{
		"PATH":            filepath.Dir(py.Path) + ":/usr/local/bin:/usr/bin:/bin",
		"TMPDIR":          packageRoot + "/" + tempDir, // large files do not fit into /tmp, which is memory
		"PIP_CONFIG_FILE": "/dev/null",
		"NO_COLOR":        "1",
	}
}
