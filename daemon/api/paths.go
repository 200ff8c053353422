package api

import (
	"fmt"
	"os"
	"path/filepath"
)

// RunDir is where the daemon keeps its socket and lock: $GARITA_HOME/run, else
// $XDG_RUNTIME_DIR/garita, else garita-UID in the temporary directory. It need not exist.
func RunDir() string { return runDir(os.Getenv, os.Getuid(), os.TempDir()) }

// SocketPath is where the daemon of this user listens.
func SocketPath() string { return filepath.Join(RunDir(), "garita.sock") }

// LockPath is the file a running daemon holds a lock on.
func LockPath() string { return filepath.Join(RunDir(), "daemon.lock") }

func runDir(env func(string) string, uid int, tmp string) string {
	if home := env("GARITA_HOME"); home != "" {
		return filepath.Join(absolute(home), "run")
	}
	if runtime := env("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) {
		return filepath.Join(runtime, "garita")
	}
	return filepath.Join(tmp, fmt.Sprintf("garita-%d", uid))
}

// absolute makes a relative path absolute; one that cannot be made so stays as it is.
func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}
