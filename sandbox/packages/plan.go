// Package packages knows npm: how it is run to install one package where nothing else can be
// reached, and what it leaves behind. It is pure but for reading the installed files, which it
// treats as data: nothing of a package is executed here, and no link in it is followed out of it.
package packages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// CacheDir is npm's cache, below the package's root; it is removed before the package is kept.
const CacheDir = ".npm-cache"

// Tools are the host's node and npm, by the paths they have inside too.
type Tools struct {
	Node string // absolute
	NPM  string // absolute
}

// FindTools looks for node and npm where sandboxes have them: in the toolchain's bin if there is
// one, else in the system's. What they are links to must be visible inside as well. Kind:
// FailedPrecondition.
func FindTools(toolchain string) (Tools, error) {
	dirs := []string{"/usr/local/bin", "/usr/bin"}
	if toolchain != "" {
		dirs = append([]string{filepath.Join(toolchain, "bin")}, dirs...)
	}
	node, err := findTool("node", dirs, toolchain)
	if err != nil {
		return Tools{}, err
	}
	npm, err := findTool("npm", dirs, toolchain)
	return Tools{Node: node, NPM: npm}, err
}

func findTool(name string, dirs []string, toolchain string) (string, error) {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("find %s: %w: %w", name, err, errdefs.ErrFailedPrecondition)
		}
		if !within(real, "/usr") && (toolchain == "" || !within(real, toolchain)) {
			continue // not visible inside
		}
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s in %s; npm packages need node and npm, for example from your distribution or from nvm: %w",
		name, strings.Join(dirs, ", "), errdefs.ErrFailedPrecondition)
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// Plan is one run of npm, inside.
type Plan struct {
	Argv []string
	Env  map[string]string
}

// absent is a folder that is never there: npm reads no settings but the ones given here.
const absent = "/opt/garita/none"

// NewPlan is how npm installs ref into sandbox.PackageRoot from the registry at address
// (HOST:PORT). Install scripts do not run, and neither git nor a shell can be called.
func NewPlan(ref sandbox.PackageRef, tools Tools, address string) Plan {
	argv := append([]string{tools.NPM, "install", ref.String()}, settings(address)...)
	return Plan{
		Argv: append(argv,
			"--ignore-scripts", "--script-shell=/bin/false", "--git=/bin/false",
			"--omit=dev", "--save-exact", "--no-audit", "--no-fund",
			"--fetch-retries=2", "--fetch-retry-factor=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=4000",
			"--fetch-timeout=120000",
		),
		Env: environment(tools),
	}
}

// settings are npm's for every run of it: where packages go, where they come from, what is said.
func settings(address string) []string {
	return []string{
		"--prefix=" + sandbox.PackageRoot,
		"--registry=http://" + address + "/",
		"--replace-registry-host=always",
		"--userconfig=" + absent + "/user", "--globalconfig=" + absent + "/global",
		"--cache=" + sandbox.PackageRoot + "/" + CacheDir,
		"--no-update-notifier", "--no-progress", "--color=false", "--loglevel=info", "--logs-max=0",
	}
}

func environment(tools Tools) map[string]string {
	return map[string]string{
		"PATH":         filepath.Dir(tools.Node) + ":/usr/local/bin:/usr/bin:/bin",
		"NO_COLOR":     "1",
		"NODE_OPTIONS": "",
	}
}
