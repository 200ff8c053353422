package packages

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/sandbox"
)

// Bounds of what is read of install scripts. The most seen in one tree is eleven; the longest has
// some hundred characters.
const (
	maxScripts    = 200
	maxScriptText = 16 << 10
)

// scriptNames are what npm runs of a package that it installs from a registry, in this order.
var scriptNames = []string{"preinstall", "install", "postinstall"}

// scripts are the install scripts of all that npm says has any, by what the packages themselves say.
func (l lock) scripts(root *os.Root) ([]sandbox.InstallScript, error) {
	var out []sandbox.InstallScript
	for where, p := range l.Packages {
		if !p.Scripts {
			continue
		}
		text, err := scriptText(root, where)
		if err != nil {
			return nil, err
		}
		s := sandbox.InstallScript{Name: p.nameAt(where), Version: p.Version, Integrity: p.Integrity, Text: text}
		if !slices.ContainsFunc(out, s.Same) { // the same bytes in two places are one script
			out = append(out, s)
		}
	}
	if len(out) > maxScripts {
		return nil, fmt.Errorf("%d of its packages have install scripts; %d can be looked through: %w", len(out), maxScripts, errdefs.ErrFailedPrecondition)
	}
	slices.SortFunc(out, func(a, b sandbox.InstallScript) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Integrity, b.Integrity))
	})
	return out, nil
}

// scriptText is what a package's install would run, a line for each script.
func scriptText(root *os.Root, folder string) (string, error) {
	pkg, err := root.OpenRoot(folder)
	if err != nil {
		return "", fmt.Errorf("open %s: %w: %w", folder, err, errdefs.ErrFailedPrecondition)
	}
	defer pkg.Close()
	raw, err := readFile(pkg, "package.json", maxDescription)
	if err != nil {
		return "", err
	}
	_, noGyp := pkg.Lstat("binding.gyp")
	text, err := parseScripts(raw, noGyp == nil)
	if err != nil {
		return "", fmt.Errorf("%s: %w", folder, err)
	}
	return text, nil
}

// parseScripts reads the scripts of a package.json. A package with a binding.gyp and no install
// script of its own is compiled by npm.
func parseScripts(raw []byte, gyp bool) (string, error) {
	var about struct {
		Scripts map[string]string `json:"scripts"`
	}
	if err := json.Unmarshal(raw, &about, tolerant); err != nil {
		return "", fmt.Errorf("its package.json cannot be read: %v: %w", err, errdefs.ErrFailedPrecondition)
	}
	var lines []string
	for _, name := range scriptNames {
		if line := about.Scripts[name]; line != "" {
			lines = append(lines, name+": "+line)
		}
	}
	if gyp && about.Scripts["preinstall"] == "" && about.Scripts["install"] == "" {
		lines = append(lines, "install: node-gyp rebuild")
	}
	text := strings.Join(lines, "\n")
	if len(text) > maxScriptText {
		return "", fmt.Errorf("its install scripts are %d bytes long; %d can be shown: %w", len(text), maxScriptText, errdefs.ErrFailedPrecondition)
	}
	return text, nil
}

// NewScriptsPlan is how npm runs the install scripts of exactly these packages, where ref was
// installed before. A compiler may be called; sources it needs are the host's or not there.
func NewScriptsPlan(scripts []sandbox.InstallScript, tools Tools, headers, address string) Plan {
	plan := Plan{Argv: []string{tools.NPM, "rebuild"}, Env: environment(tools)}
	for _, s := range scripts {
		plan.Argv = append(plan.Argv, s.Spec())
	}
	plan.Argv = append(plan.Argv, settings(address)...)
	plan.Argv = append(plan.Argv, "--foreground-scripts", "--script-shell=/bin/sh", "--git=/bin/false")
	plan.Env["npm_config_build_from_source"] = "true" // nothing made elsewhere could be fetched
	plan.Env["JOBS"] = "2"
	if headers != "" {
		plan.Env["npm_config_nodedir"] = headers
	}
	return plan
}

// FindHeaders is the folder whose include/node has the headers that go with node, "" when the host
// has none: beside the toolchain, else the system's.
func FindHeaders(tools Tools, toolchain string) string {
	for _, dir := range []string{toolchain, filepath.Dir(filepath.Dir(tools.Node)), "/usr"} {
		if dir == "" || !within(dir, "/usr") && dir != toolchain {
			continue // not visible inside
		}
		if info, err := os.Stat(filepath.Join(dir, "include/node/node.h")); err == nil && info.Mode()&fs.ModeType == 0 {
			return dir
		}
	}
	return ""
}
