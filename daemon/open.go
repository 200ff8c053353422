package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
)

// lastStart is the newest of a session's instances.
type lastStart struct {
	atomic.Pointer[supervisor.Instance]
}

// opening returns how a session starts its server, at first and again after its end.
func (d *Daemon) opening(v visit, o gateway.Options, last *lastStart) func(context.Context) (gateway.Upstream, error) {
	owner := supervisor.Owner{
		Group: group(v.principal), Session: string(o.ID), Agent: d.agentName(v.principal), Workspace: o.Workspace,
		Volume: volume(v),
	}
	if v.trial {
		owner.Volume = ""
	}
	return func(ctx context.Context) (gateway.Upstream, error) {
		if !d.reach(v.server).Empty() {
			d.engine.wake() // so that the wall comes up beside the rest of the start
		}
		id := supervisor.NewInstanceID()
		defer d.ways.expect(id, o)()
		i, err := d.supervisor.Start(ctx, v.server, id, owner)
		if err != nil {
			d.secrets.forget(id)
			return nil, err
		}
		if err := d.secretsSettled(ctx, id); err != nil {
			return nil, errors.Join(err, i.Kill(context.WithoutCancel(ctx)))
		}
		last.Store(i)
		d.settling()
		if err := d.recordStart(ctx, o, i.Now().Info); err != nil {
			return nil, errors.Join(fmt.Errorf("no sandbox without a record: %w", err), i.Stop(context.WithoutCancel(ctx)))
		}
		if v.server.Source.Listen.Port != 0 {
			return d.openListening(ctx, v.server, i)
		}
		lines := protocol.Lines{Reader: protocol.NewReader(i, int(d.config.Settings().Message)), Writer: protocol.NewWriter(i)}
		return sandboxed{life{i}, lines}, nil
	}
}

// life is one of a sandboxed server, however it is talked to.
type life struct{ instance *supervisor.Instance }

func (l life) Instance() sandbox.InstanceID { return l.instance.Now().ID }
func (l life) Ready()                       { l.instance.Ready() }
func (l life) Excuse()                      { l.instance.Excuse() }
func (l life) Fail(reason string)           { l.instance.Fail(reason) }
func (l life) Freeze(ctx context.Context) error {
	return l.instance.Freeze(ctx)
}
func (l life) Thaw(ctx context.Context) error { return l.instance.Thaw(ctx) }
func (l life) Stop(ctx context.Context) error { return l.instance.Stop(ctx) }

// sandboxed is one life of a server that speaks on its standard input and output.
type sandboxed struct {
	life
	lines protocol.Lines
}

func (s sandboxed) Read() (protocol.Message, error) { return s.lines.Read() }
func (s sandboxed) Write(raw []byte) error          { return s.lines.Write(raw) }
func (s sandboxed) CloseWrite() error               { return s.instance.CloseWrite() }

// admission says why a call comes too soon: a server has a limit over all its agents, a token one
// over all its servers.
func (d *Daemon) admission(v visit) func() error {
	return func() error {
		limit := v.server.Spec.Limits.Calls
		if wait, ok := d.rates.Take("server "+string(v.server.Name), limit); !ok {
			return tooSoon(string(v.server.Name), limit, "limits.calls", wait)
		}
		if v.principal.Token == "" {
			return nil
		}
		limit = d.config.Settings().Doors.Calls
		if wait, ok := d.rates.Take("token "+v.principal.Token, limit); !ok {
			return tooSoon("token "+v.principal.Token, limit, "doors.calls in config.yaml", wait)
		}
		return nil
	}
}

func tooSoon(who string, limit sandbox.Rate, setting string, wait time.Duration) error {
	return fmt.Errorf("%s: %s calls and no more (%s); the next can be made in %s: %w",
		who, limit, setting, wait.Round(100*time.Millisecond), errdefs.ErrResourceExhausted)
}

// eras is what is remembered of how one server, as it is, speaks.
type eras struct {
	*Daemon
	key string
}

// erasOf remembers for a definition with the package it has resolved to: another version is probed anew.
func (d *Daemon) erasOf(spec sandbox.Digest, server sandbox.Server) eras {
	key := string(spec)
	if p := d.config.Package(server.Name); p != nil {
		key += " " + p.Version + " " + string(p.Tree)
	}
	return eras{d, key}
}

// Era implements gateway.Eras. What cannot be read is not known.
func (e eras) Era() protocol.Era {
	era, err := e.db.Era(e.running, e.key)
	if err != nil {
		e.log.Warn("cannot tell how a server speaks; it is probed", "err", err)
	}
	return protocol.Era(era)
}

// Learn implements gateway.Eras.
func (e eras) Learn(era protocol.Era) {
	if err := e.db.SaveEra(e.running, e.key, string(era)); err != nil {
		e.log.Warn("cannot remember how a server speaks", "err", err)
	}
}
