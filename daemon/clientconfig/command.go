package clientconfig

import (
	"fmt"
	"path/filepath"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/sandbox"
)

// Command judges a command line as if it stood in a client's settings: what it would be given to
// run behind walls. name is the server's; dir, absolute or "", is what relative paths are relative
// to. Errors: InvalidArgument when it cannot be run.
func (im *Importer) Command(name sandbox.ServerName, argv []string, dir string) (Entry, error) {
	if len(argv) == 0 {
		return Entry{}, fmt.Errorf("read the command: there is none: %w", errdefs.ErrInvalidArgument)
	}
	type entry struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	data, err := json.Marshal(map[string]map[string]entry{"mcpServers": {string(name): {argv[0], argv[1:]}}})
	if err != nil {
		return Entry{}, fmt.Errorf("read the command: %w: %w", err, errdefs.ErrInvalidArgument)
	}
	file := "command line"
	if dir != "" {
		file = filepath.Join(dir, ".mcp.json") // relative paths then mean what they mean in a project
	}
	p, err := NewPlan(data, file, "", Known{}, im.host)
	switch {
	case err != nil:
		return Entry{}, fmt.Errorf("read the command: %w", err)
	case len(p.Entries) != 1:
		return Entry{}, fmt.Errorf("read the command: it is none: %w", errdefs.ErrInvalidArgument)
	case p.Entries[0].Ours != "":
		return Entry{}, fmt.Errorf("this command is garita itself; run what it leads to: %w", errdefs.ErrInvalidArgument)
	case p.Entries[0].Skipped != "":
		return Entry{}, fmt.Errorf("this command cannot be run behind walls: %s: %w", p.Entries[0].Skipped, errdefs.ErrInvalidArgument)
	}
	return p.Entries[0], nil
}
