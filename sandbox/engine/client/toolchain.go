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
