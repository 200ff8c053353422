package client

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
)

// managed is where version managers keep node below the home directory, one folder a version.
var managed = []string{
	".nvm/versions/node/*", ".local/share/mise/installs/node/*", ".asdf/installs/nodejs/*",
	".volta/tools/image/node/*", ".nodenv/versions/*", ".local/share/fnm/node-versions/*/installation",
}

// FindToolchain finds the one version of node that packages run with: the first along searchPath,
// else the newest a version manager has installed below home (programs started from a desktop
// often have a short PATH). It returns "" for the system's own, which every sandbox sees, and
// otherwise the version's folder. Kind: FailedPrecondition when there is none.
func FindToolchain(home, searchPath string) (string, error) {
	for _, dir := range filepath.SplitList(searchPath) {
		if root, ok := toolchainOf(filepath.Join(dir, "node"), home); ok {
			return root, nil
		}
	}
	var found []string
	for _, pattern := range managed {
		matches, _ := filepath.Glob(filepath.Join(home, pattern, "bin", "node"))
		found = append(found, matches...)
	}
	slices.SortStableFunc(found, func(a, b string) int { return slices.Compare(versionIn(b), versionIn(a)) })
	for _, node := range append(found, "/usr/local/bin/node", "/usr/bin/node") {
		if root, ok := toolchainOf(node, home); ok {
			return root, nil
		}
	}
	return "", fmt.Errorf("there is no node along PATH or below %s; install nodejs and npm: %w", home, errdefs.ErrFailedPrecondition)
}

// managedPython is where version managers keep Python below the home directory, one folder a version.
var managedPython = []string{
	".pyenv/versions/*", ".local/share/uv/python/cpython-*", ".local/share/mise/installs/python/*", ".asdf/installs/python/*",
}

// FindPythonToolchain is FindToolchain, for Python: the first python3 along searchPath, the system's, or
// the newest that a version manager has. version is "3.12", or "" for any. Kind: FailedPrecondition.
func FindPythonToolchain(home, searchPath, version string) (string, error) {
	name := "python3"
	if version != "" {
		name = "python" + version
	}
	for _, dir := range append(filepath.SplitList(searchPath), "/usr/local/bin", "/usr/bin") {
		if root, ok := pythonToolchainOf(filepath.Join(dir, name), home); ok {
			return root, nil
		}
	}
	var found []string
	for _, pattern := range managedPython {
		matches, _ := filepath.Glob(filepath.Join(home, pattern, "bin", name))
		found = append(found, matches...)
	}
	slices.SortStableFunc(found, func(a, b string) int { return slices.Compare(pythonIn(b), pythonIn(a)) })
	for _, python := range found {
		if root, ok := pythonToolchainOf(python, home); ok {
			return root, nil
		}
	}
	return "", fmt.Errorf("there is no %s along PATH or below %s; install it: %w", name, home, errdefs.ErrFailedPrecondition)
}

// pythonToolchainOf is the folder …/bin/python3.12 lies in, once links are followed: "" for /usr.
func pythonToolchainOf(python, home string) (string, bool) {
	real, err := filepath.EvalSymlinks(python)
	if err != nil || !filepath.IsAbs(real) || !isProgram(real) || !strings.HasPrefix(filepath.Base(real), "python3.") {
		return "", false
	}
	if strings.HasPrefix(real, "/usr/") || strings.HasPrefix(real, "/bin/") {
		return "", true
	}
	root := filepath.Dir(filepath.Dir(real))
	if filepath.Base(filepath.Dir(real)) != "bin" || root == "/" || root == home || strings.HasPrefix(home, root+"/") {
		return "", false
	}
	return root, true
}

// pythonIn is the version in a path such as …/cpython-3.12.1-linux-x86_64-gnu/bin/python3.
func pythonIn(path string) []int {
	for _, part := range slices.Backward(strings.Split(filepath.Dir(filepath.Dir(path)), "/")) {
		for _, word := range strings.Split(part, "-") {
			if n, ok := numbers(word); ok {
				return n
			}
		}
	}
	return nil
}

// toolchainOf is the folder …/bin/node lies in: "" for /usr. A shim of a version manager is a
// script and no node; a node in the home directory itself would show all of it, and does not count.
func toolchainOf(node, home string) (string, bool) {
	real, err := filepath.EvalSymlinks(node)
	if err != nil || !filepath.IsAbs(real) || !isProgram(real) {
		return "", false
	}
	if strings.HasPrefix(real, "/usr/") || strings.HasPrefix(real, "/bin/") {
		return "", true
	}
	root := filepath.Dir(filepath.Dir(real))
	if filepath.Base(filepath.Dir(real)) != "bin" || filepath.Base(real) != "node" {
		return "", false
	}
	if root == "/" || root == home || strings.HasPrefix(home, root+"/") || !isProgram(filepath.Join(root, "bin", "npm")) {
		return "", false
	}
	return root, true
}

// isProgram says whether path is a file that can be executed.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// versionIn is the version that a path names, as numbers: the newest compares highest.
func versionIn(path string) []int {
	for _, part := range slices.Backward(strings.Split(path, "/")) {
		if n, ok := numbers(strings.TrimPrefix(part, "v")); ok {
			return n
		}
	}
	return nil
}

func numbers(s string) ([]int, bool) {
	var all []int
	for _, part := range strings.Split(s, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, false
		}
		all = append(all, n)
	}
	return all, true
}
