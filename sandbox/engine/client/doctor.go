package client

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox/rootless"
)

// doctorTime bounds the checks.
const doctorTime = 20 * time.Second

// Doctor looks at what this host lets Garita do, in a process of its own: it works where no engine
// can start, and says why. Of the configuration it uses Program and Data.
func Doctor(ctx context.Context, c Config) ([]rootless.Check, error) {
	if c.Program == "" {
		program, err := findProgram("garita-engine", "")
		if err != nil {
			return nil, err
		}
		c.Program = program
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Program, "doctor", c.Data)
	cmd.Env = environment()
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s doctor: %w: %w", c.Program, err, errdefs.ErrUnavailable)
	}
	var checks []rootless.Check
	if err := json.Unmarshal(out, &checks); err != nil {
		return nil, fmt.Errorf("read the doctor's answer: %w: %w", err, errdefs.ErrInternal)
	}
	return checks, nil
}

// Subject is what `garita-engine doctor` looks at: the program itself, the data directory ("" leaves
// the disk out) and whatever other programs are found. What is not found stays "", as the checks say then.
func Subject(self, data string) rootless.Subject {
	s := rootless.Subject{Self: self, Data: data}
	for name, path := range map[string]*string{"runc": &s.Runc, "containerd-shim-runc-v2": &s.Shim, "garita-init": &s.Init} {
		*path, _ = findProgram(name, filepath.Dir(self))
	}
	return s
}
