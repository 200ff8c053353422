package gateway

import (
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

// PinOf is the pin that calls of a tool so defined carry.
func PinOf(d protocol.ToolDefinition) sandbox.Digest { return pin(d) }
