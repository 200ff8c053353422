package api

import (
	"errors"
	"os"
	"path/filepath"
)

// Dirs is where a user's files are; the run directory is RunDir. None of them need exist.
type Dirs struct {
	Config   string // settings
	State    string // the record, backups, logs
	Data     string // images, packages, workspaces
	Isolated bool   // all of it is under GARITA_HOME
}

// FindDirs reads GARITA_HOME, or HOME and the XDG variables. It fails where neither is set.
func FindDirs() (Dirs, error) { return findDirs(os.Getenv) }

func findDirs(env func(string) string) (Dirs, error) {
	if dir := env("GARITA_HOME"); dir != "" {
		dir = absolute(dir)
		return Dirs{
			Config: filepath.Join(dir, "config"), State: filepath.Join(dir, "state"), Data: filepath.Join(dir, "data"),
			Isolated: true,
		}, nil
	}
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return Dirs{}, errors.New("find the user's files: HOME is not set to an absolute path")
	}
	base := func(name, def string) string {
		if dir := env(name); filepath.IsAbs(dir) {
			return filepath.Join(dir, "garita")
		}
		return filepath.Join(home, def, "garita")
	}
	return Dirs{
		Config: base("XDG_CONFIG_HOME", ".config"), State: base("XDG_STATE_HOME", ".local/state"),
		Data: base("XDG_DATA_HOME", ".local/share"),
	}, nil
}

// LogFile is where a daemon that nobody watches writes its log.
func (d Dirs) LogFile() string { return filepath.Join(d.State, "daemon.log") }
