package config

import (
	"path/filepath"
	"strings"
)

// Guard decides, by names alone, which host paths a sandbox may be given. Whoever mounts resolves
// symlinks first and asks about the real path.
type Guard struct {
	Home string   // the user's home directory; "" when there is none
	Own  []string // Garita's own directories
}

// system directories are the sandbox's own, or the host's nerves; nothing in them can be given.
var system = []string{
	"/usr", "/etc", "/proc", "/dev", "/run", "/sys", "/boot", "/bin", "/sbin",
	"/lib", "/lib32", "/lib64", "/libx32", "/var/run", "/opt/garita",
}

// shared directories hold what belongs to everybody; something in them can be given, they cannot.
var shared = []string{"/", "/tmp", "/var", "/var/lib", "/var/tmp", "/opt", "/home", "/root", "/mnt", "/media", "/srv", "/Users"}

// Refuse says why path, absolute, must not enter a sandbox; "" when it may.
func (g Guard) Refuse(path string) string {
	clean := filepath.Clean(path)
	switch {
	case !filepath.IsAbs(path):
		return "it is not an absolute path"
	case strings.ContainsRune(path, 0):
		return "it contains a NUL byte"
	case g.Home != "" && clean == filepath.Clean(g.Home):
		return "it is the whole home directory; name the folders that are needed instead"
	}
	for _, dir := range system {
		if within(clean, dir) {
			return "it belongs to the system (" + dir + ")"
		}
	}
	if why := g.refuseWhole(clean); why != "" {
		return why
	}
	for _, own := range g.Own {
		if own != "" && (within(clean, own) || within(own, clean)) {
			return "it holds Garita's own files"
		}
	}
	return ""
}

func (g Guard) refuseWhole(clean string) string {
	if g.Home != "" && within(filepath.Clean(g.Home), clean) {
		return "it contains the whole home directory"
	}
	for _, dir := range shared {
		if clean == dir {
			return "it is the whole of " + dir
		}
	}
	return ""
}

// credentials are places under the home directory that hold keys. They are never proposed; a
// person may still declare them.
var credentials = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
	".password-store", ".config/gcloud", ".config/gh", ".config/op", ".local/share/keyrings", ".mozilla",
	".config/google-chrome", ".config/chromium", "Library/Keychains",
}

// Credential says whether path is, contains or lies in a place under the home directory where
// keys and passwords are kept.
func (g Guard) Credential(path string) bool {
	if g.Home == "" {
		return false
	}
	for _, name := range credentials {
		dir := filepath.Join(g.Home, name)
		if within(path, dir) || within(dir, path) {
			return true
		}
	}
	return false
}

// within says whether path is dir or lies in it. Both are clean.
func within(path, dir string) bool {
	if dir == "/" {
		return true
	}
	return path == dir || strings.HasPrefix(path, dir+"/")
}
