package daemon

import (
	"sync"

	"github.com/garita-dev/garita/approvals/classify"
	"github.com/garita-dev/garita/assets"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

// profiles are what we ship about known servers, read when they are first asked for. They are
// embedded and a test reads them, so an error cannot come up; it would leave servers unknown.
var profiles = sync.OnceValue(func() classify.Profiles {
	p, err := classify.LoadProfiles(assets.Profiles())
	if err != nil {
		return classify.Profiles{}
	}
	return p
})

// prepared judges a tool of server by its own words and by what we know of the server.
func (d *Daemon) prepared(server sandbox.Server, t protocol.ToolDefinition) classify.Prepared {
	return profiles().Of(server.Source, d.config.Package(server.Name)).Prepare(definition(t))
}

// definition is a tool's own words, as far as they are judged.
func definition(t protocol.ToolDefinition) classify.Definition {
	return classify.Definition{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, Annotations: t.Annotations,
	}
}

// describes is how a session judges the tools of server.
func (d *Daemon) describes(server sandbox.Server) func(protocol.ToolDefinition) gateway.Describer {
	return func(t protocol.ToolDefinition) gateway.Describer {
		p := d.prepared(server, t)
		return func(arguments []byte) gateway.Description { return gateway.Description(p.Call(arguments)) }
	}
}
