package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox/rootless"
)

// Config says how to start the engine. Programs left empty are looked for beside this one's
// executable and then by PATH.
type Config struct {
	Data string // directory of everything that lasts; made when missing. Only one engine may use it at a time.
	// Cgroups are used as they are when set (tests); nil prepares them.
	Cgroups *rootless.Cgroups
	Log     io.Writer // the engine's stderr; nil discards it

	Program string // garita-engine
	Init    string // garita-init
	Shim    string // containerd-shim-runc-v2
	Runc    string
}

// programs fills in what is left empty.
func (c *Config) programs() error {
	for _, p := range []struct {
		name string
		path *string
	}{
		{"garita-engine", &c.Program},
		{"garita-init", &c.Init},
		{"containerd-shim-runc-v2", &c.Shim},
		{"runc", &c.Runc},
	} {
		if *p.path != "" {
			continue
		}
		found, err := findProgram(p.name, filepath.Dir(c.Program))
		if err != nil {
			return err
		}
		*p.path = found
	}
	return nil
}

// findProgram looks beside the engine, beside this executable, then along PATH.
func findProgram(name, beside string) (string, error) {
	dirs := []string{}
	if filepath.IsAbs(beside) {
		dirs = append(dirs, beside)
	}
	if self, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(self))
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find %s: it is neither beside the garita binaries nor in PATH: %w", name, errdefs.ErrFailedPrecondition)
	}
	return filepath.Abs(path)
}

// engineConfig is the configuration that is handed to the engine; package engine reads it.
type engineConfig struct {
	Data         string           `json:"data"`
	Cgroups      rootless.Cgroups `json:"cgroups"`
	Root         bool             `json:"root"`
	IDs          uint32           `json:"ids"`
	Home         string           `json:"home"`
	Init         string           `json:"init"`
	Shim         string           `json:"shim"`
	Runc         string           `json:"runc"`
	DrainSeconds int              `json:"drain_seconds"`
}

// drainSeconds is what sandboxes get to end by their lifelines when the daemon is gone.
const drainSeconds = 5

func (c Config) lower() (engineConfig, []byte, error) {
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return engineConfig{}, nil, err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return engineConfig{}, nil, err
	}
	if data, err = filepath.EvalSymlinks(data); err != nil {
		return engineConfig{}, nil, err
	}
	home, _ := os.UserHomeDir() // "" means that there is none to protect
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real // folders are mounted by their real paths only
	}
	ec := engineConfig{
		Data: data, Root: os.Geteuid() == 0, Home: home,
		Init: c.Init, Shim: c.Shim, Runc: c.Runc, DrainSeconds: drainSeconds,
	}
	if !ec.Root {
		if ec.IDs, err = rootless.SubordinateIDs(); err != nil {
			return engineConfig{}, nil, fmt.Errorf("%w: %w", err, errdefs.ErrFailedPrecondition)
		}
	}
	if c.Cgroups != nil {
		ec.Cgroups = *c.Cgroups
	} else {
		ec.Cgroups = rootless.PrepareCgroups(cgroupName(data))
		ctx, cancel := context.WithTimeout(context.Background(), clearTime)
		defer cancel()
		// An earlier engine may have died with sandboxes frozen; here their processes can be seen.
		if err := ec.Cgroups.Clear(ctx); err != nil {
			return engineConfig{}, nil, fmt.Errorf("end what an earlier engine has left: %w", err)
		}
	}
	text, err := json.Marshal(ec)
	return ec, text, err
}

// cgroupName is the same for every life of the daemon with this data directory.
func cgroupName(data string) string {
	sum := sha256.Sum256([]byte(data))
	return "garita-" + hex.EncodeToString(sum[:6])
}
