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
	p, err := findPaths(os.Getenv)
	if err != nil {
		return Paths{}, err
	}
	p.Run = api.RunDir()
	if n := len(api.SocketPath()); n > maxSocketPath {
		return Paths{}, fmt.Errorf("socket path %s: %d bytes, the system allows %d; set GARITA_HOME to a shorter directory: %w",
			api.SocketPath(), n, maxSocketPath, errdefs.ErrFailedPrecondition)
	}
	return p, nil
}

func findPaths(env func(string) string) (Paths, error) {
	home := env("HOME")
	if dir := env("GARITA_HOME"); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return Paths{}, fmt.Errorf("resolve GARITA_HOME: %w", err)
		}
		return Paths{
			Config: filepath.Join(abs, "config"), State: filepath.Join(abs, "state"),
			Data: filepath.Join(abs, "data"), Home: home, Isolated: true,
		}, nil
	}
	if !filepath.IsAbs(home) {
		return Paths{}, fmt.Errorf("find settings: HOME is not set to an absolute path: %w", errdefs.ErrFailedPrecondition)
	}
	base := func(name, def string) string {
		if dir := env(name); filepath.IsAbs(dir) {
			return filepath.Join(dir, "garita")
		}
		return filepath.Join(home, def, "garita")
	}
	return Paths{
		Config: base("XDG_CONFIG_HOME", ".config"),
		State:  base("XDG_STATE_HOME", ".local/state"),
		Data:   base("XDG_DATA_HOME", ".local/share"),
		Home:   home,
	}, nil
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

// LogFile is where a daemon that nobody watches writes its log.
func (p Paths) LogFile() string { return filepath.Join(p.State, "daemon.log") }
