package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
)

// opening returns how a session starts its server, at first and again after its end.
func (d *Daemon) opening(v visit, o gateway.Options) func(context.Context) (gateway.Upstream, error) {
	owner := supervisor.Owner{
		Group: group(v.principal), Session: string(o.ID), Agent: agentName(v.principal), Workspace: o.Workspace,
		Volume: volume(v),
	}
	return func(ctx context.Context) (gateway.Upstream, error) {
		i, err := d.supervisor.Start(ctx, v.server, supervisor.NewInstanceID(), owner)
		if err != nil {
			return nil, err
		}
		if err := d.recordStart(ctx, o, i.Now().Info); err != nil {
			return nil, errors.Join(fmt.Errorf("no sandbox without a record: %w", err), i.Stop(context.WithoutCancel(ctx)))
		}
		return sandboxed{i, protocol.NewLines(i)}, nil
	}
}

// sandboxed is one life of a sandboxed server, as the gateway uses it.
type sandboxed struct {
	instance *supervisor.Instance
	lines    protocol.Lines
}

func (s sandboxed) Read() (protocol.Message, error) { return s.lines.Read() }
func (s sandboxed) Write(raw []byte) error          { return s.lines.Write(raw) }
func (s sandboxed) Instance() sandbox.InstanceID    { return s.instance.Now().ID }
func (s sandboxed) Ready()                          { s.instance.Ready() }
func (s sandboxed) Excuse()                         { s.instance.Excuse() }
func (s sandboxed) Fail(reason string)              { s.instance.Fail(reason) }
func (s sandboxed) CloseWrite() error               { return s.instance.CloseWrite() }
func (s sandboxed) Stop(ctx context.Context) error  { return s.instance.Stop(ctx) }
