package clientconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/containerd/errdefs"
)

// ClaudeDesktop is the one client whose settings are found by name so far.
const ClaudeDesktop = "claude-desktop"

// claudeDesktopFiles are where Claude Desktop keeps its settings, most likely first. On Linux
// there is no official build; the path is the one its ports use.
func claudeDesktopFiles(goos, home string, env func(string) string) []string {
	const name = "claude_desktop_config.json"
	if goos == "darwin" {
		return []string{filepath.Join(home, "Library", "Application Support", "Claude", name)}
	}
	var out []string
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		out = append(out, filepath.Join(dir, "Claude", name))
	}
	return append(out, filepath.Join(home, ".config", "Claude", name))
}

// resolve finds the settings file that from names and the id of its client.
func (im *Importer) resolve(from string) (file, client string, err error) {
	known := claudeDesktopFiles(runtime.GOOS, im.host.Home, im.env)
	if from == ClaudeDesktop {
		for _, f := range known {
			if _, err := os.Lstat(f); !errors.Is(err, fs.ErrNotExist) {
				return f, ClaudeDesktop, nil
			}
		}
		return "", "", fmt.Errorf("import %s: no settings at %s: %w", from, strings.Join(known, " or "), errdefs.ErrNotFound)
	}
	if !filepath.IsAbs(from) {
		return "", "", fmt.Errorf("import %s: not a client this version knows (%s), nor an absolute path: %w", from, ClaudeDesktop, errdefs.ErrInvalidArgument)
	}
	file = filepath.Clean(from)
	return file, clientOf(file, known), nil
}

// clientOf makes a client's id from its settings file: its own if it is known, else from the names
// of the file and its folder.
func clientOf(file string, known []string) string {
	for _, k := range known {
		if k == file {
			return ClaudeDesktop
		}
	}
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return strings.ToLower(slug(filepath.Base(filepath.Dir(file)) + "-" + base))
}
