package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/garita-dev/garita/sandbox/rootless"
)

// Config is what the daemon decides for its engine; it is handed over at the start.
type Config struct {
	Data    string           `json:"data"`    // directory of everything that lasts
	Cgroups rootless.Cgroups `json:"cgroups"` // prepared by the daemon, in the host's pid namespace
	Root    bool             `json:"root"`    // run as real root: no outer user namespace
	IDs     uint32           `json:"ids"`     // subordinate ids that are mapped
	Home    string           `json:"home"`    // the user's home directory, never mounted whole
	Init    string           `json:"init"`    // garita-init
	Shim    string           `json:"shim"`    // containerd-shim-runc-v2
	Runc    string           `json:"runc"`
	// DrainSeconds is what tasks get to end by their lifelines when the daemon is gone.
	DrainSeconds int `json:"drain_seconds"`
}

// ParseConfig reads what rootless.Enter returned.
func ParseConfig(text []byte) (Config, error) {
	var c Config
	if err := json.Unmarshal(text, &c); err != nil {
		return Config{}, fmt.Errorf("parse the engine's configuration: %w", err)
	}
	if !filepath.IsAbs(c.Data) {
		return Config{}, fmt.Errorf("parse the engine's configuration: data directory %q is not absolute", c.Data)
	}
	for _, program := range []string{c.Init, c.Shim, c.Runc} {
		if info, err := os.Stat(program); err != nil || info.IsDir() {
			return Config{}, fmt.Errorf("parse the engine's configuration: program %q: %w", program, err)
		}
	}
	return c, nil
}
