// Package config is what is written in the user's settings files: which servers there are and the
// walls declared for each, how questions are asked, which packages are locked.
//
// Files are read whole, checked whole and replaced whole. A file that does not parse changes
// nothing: what was read before stays in force and the problem is reported.
package config

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"syscall"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/api"
)

// Paths is where Garita keeps its files. All are absolute.
type Paths struct {
	Config   string // servers.yaml, config.yaml, garita.lock
	State    string // the database, its key, backups, logs
	Data     string // images, packages, workspaces, volumes
	Run      string // sockets and the lock of the running daemon
	Home     string // the user's home directory
	Isolated bool   // everything is under GARITA_HOME: tests, demos, CI
}

// maxSocketPath is the longest path a unix socket can have on Linux, in bytes.
const maxSocketPath = 107

// FindPaths reads GARITA_HOME and the XDG variables. It creates nothing.
// Errors are FailedPrecondition.
func FindPaths() (Paths, error) {
	d, err := api.FindDirs()
	if err != nil {
		return Paths{}, fmt.Errorf("%w: %w", err, errdefs.ErrFailedPrecondition)
	}
	if n := len(api.SocketPath()); n > maxSocketPath {
		return Paths{}, fmt.Errorf("socket path %s: %d bytes, the system allows %d; set GARITA_HOME to a shorter directory: %w",
			api.SocketPath(), n, maxSocketPath, errdefs.ErrFailedPrecondition)
	}
	return Paths{Config: d.Config, State: d.State, Data: d.Data, Run: api.RunDir(), Home: home(), Isolated: d.Isolated}, nil
}

// home is the user's home directory, from the environment or else the system's list of users; it
// must be known, for it must never be given away whole.
func home() string {
	if dir := os.Getenv("HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// Create makes the directories that are missing, for the user alone. A directory that belongs to
// someone else, or a run directory that is a symlink, is refused (PermissionDenied).
func (p Paths) Create() error {
	return errors.Join(
		private(p.Config, os.Stat), private(p.State, os.Stat), private(p.Data, os.Stat),
		private(p.Run, os.Lstat), private(p.BackupDir(), os.Stat),
	)
}

// private makes dir and takes other users' rights to it away.
func private(dir string, stat func(string) (os.FileInfo, error)) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create %s: %w", dir, err)
	}
	info, err := stat(dir)
	if err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("use %s: it is not a directory: %w", dir, errdefs.ErrPermissionDenied)
	}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Getuid() {
		return fmt.Errorf("use %s: it belongs to uid %d, not to you: %w", dir, sys.Uid, errdefs.ErrPermissionDenied)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("make %s private: %w", dir, err)
	}
	return nil
}

// Own lists the directories no sandbox may ever see.
func (p Paths) Own() []string { return []string{p.Config, p.State, p.Data, p.Run} }

// Guard is what decides which host paths may be mounted, for these paths.
func (p Paths) Guard() Guard { return Guard{Home: p.Home, Own: p.Own()} }

// ServersFile is servers.yaml.
func (p Paths) ServersFile() string { return filepath.Join(p.Config, "servers.yaml") }

// SettingsFile is config.yaml.
func (p Paths) SettingsFile() string { return filepath.Join(p.Config, "config.yaml") }

// LockFile is garita.lock, beside servers.yaml.
func (p Paths) LockFile() string { return filepath.Join(p.Config, "garita.lock") }

// Database is the one file only the daemon opens.
func (p Paths) Database() string { return filepath.Join(p.State, "garita.db") }

// BackupDir holds what clients' settings files were before they were changed.
func (p Paths) BackupDir() string { return filepath.Join(p.State, "backups") }
