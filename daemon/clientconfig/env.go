package clientconfig

import (
	"regexp"

	"github.com/garita-dev/garita/daemon/config"
)

// steers says whether a variable is dropped on import: it is the host's business, and a sandbox has
// its own.
func steers(name string) bool { return config.Steers(name) }

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
