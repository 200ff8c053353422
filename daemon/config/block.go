package config

import (
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

// Block is a server as servers.yaml would have it, without what is around it.
func Block(s sandbox.Server) string { return strings.Join(block("", string(s.Name), declare(s)), "") }
