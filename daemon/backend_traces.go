package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/daemon/trace"
)

// Sessions implements httpapi.Backend.
func (d *Daemon) Sessions(ctx context.Context, peer httpapi.Peer) ([]api.Session, error) {
	if err := d.refuseDescendants(ctx, peer, "list sessions"); err != nil {
		return nil, err
	}
	out := []api.Session{}
	for _, s := range d.traces.Sessions() {
		out = append(out, apiSession(s))
	}
	return out, nil
}

// Trace implements httpapi.Backend.
func (d *Daemon) Trace(ctx context.Context, peer httpapi.Peer, session string, after int64, wait time.Duration) (api.Trace, error) {
	if err := d.refuseDescendants(ctx, peer, "trace "+session); err != nil {
		return api.Trace{}, err
	}
	ring, ok := d.traces.Session(session)
	if !ok {
		return api.Trace{}, named(errdefs.ErrNotFound, "session with the ID", session, "garita trace")
	}
	ctx, cancel := d.atMost(ctx, wait)
	defer cancel()
	out := api.Trace{On: d.traces.On(), Lines: []api.TraceMessage{}, Next: after}
	for _, l := range ring.Lines(ctx, after) {
		out.Lines = append(out.Lines, api.TraceMessage{Seq: l.Seq, At: l.At, Dir: string(l.Dir), Size: l.Size, Text: l.Text})
		out.Next = l.Seq
	}
	out.Session = apiSession(ring.Now())
	return out, nil
}

// Tracing implements httpapi.Backend.
func (d *Daemon) Tracing(context.Context) (api.Tracing, error) {
	return api.Tracing{On: d.traces.On()}, nil
}

// SetTracing implements httpapi.Backend.
func (d *Daemon) SetTracing(ctx context.Context, peer httpapi.Peer, t api.Tracing) (api.Tracing, error) {
	if err := d.mayDecide(ctx, peer, "switch tracing"); err != nil {
		return api.Tracing{}, err
	}
	d.traces.Switch(t.On)
	return api.Tracing{On: d.traces.On()}, nil
}

func apiSession(s trace.Session) api.Session {
	return api.Session{ID: s.ID, Agent: s.Agent, Server: s.Server, Door: s.Door, Started: s.Started, Ended: orNil(s.Ended)}
}

// ServerLog implements httpapi.Backend.
func (d *Daemon) ServerLog(ctx context.Context, name string, after int64, wait time.Duration) (api.ServerLog, error) {
	s, err := d.configured(name)
	if err != nil {
		return api.ServerLog{}, err
	}
	ctx, cancel := d.atMost(ctx, wait)
	defer cancel()
	out := api.ServerLog{Lines: []string{}, Next: after}
	for _, l := range d.supervisor.LogAfter(ctx, s.Name, after) {
		if l.First {
			out.Lines = append(out.Lines, fmt.Sprintf("── sandbox %s, from %s ──", l.Instance, l.At.Local().Format("2006-01-02 15:04:05")))
		}
		out.Lines = append(out.Lines, l.String())
		out.Skipped += l.Skipped
		if after > 0 {
			out.Skipped += l.Seq - out.Next - 1 // those that did not stay until now
		}
		out.Next = l.Seq
	}
	return out, nil
}

// atMost ends after wait, at once when it is 0, and with the daemon.
func (d *Daemon) atMost(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	stop := context.AfterFunc(d.running, cancel)
	return ctx, func() { stop(); cancel() }
}

// StartServer implements httpapi.Backend: what runs is started by the next call; this sees to it
// that it is installed, and not held back.
func (d *Daemon) StartServer(ctx context.Context, peer httpapi.Peer, name string) error {
	s, err := d.configured(name)
	if err != nil {
		return err
	}
	if err := d.refuseDescendants(ctx, peer, "start "+name); err != nil {
		return err
	}
	d.consents.forget(s.Name) // it is wanted: a no of before is asked about once more
	return d.supervisor.Prepare(ctx, s)
}

// RestartServer implements httpapi.Backend.
func (d *Daemon) RestartServer(ctx context.Context, peer httpapi.Peer, name string) error {
	s, err := d.configured(name)
	if err != nil {
		return err
	}
	if err := d.refuseDescendants(ctx, peer, "restart "+name); err != nil {
		return err
	}
	return d.supervisor.Restart(ctx, s.Name)
}

// Attachable implements httpapi.Backend.
func (d *Daemon) Attachable(_ context.Context, peer httpapi.Peer, a api.Attach) error {
	_, err := d.visitOf(peer, a)
	return err
}

// noteLooping tells people that a server is given up for a while.
func (d *Daemon) noteLooping(t *supervisor.Trouble) {
	d.log.Warn("a server is crash-looping and is not started for a while", "server", t.Server, "err", t)
	d.events.Publish("server", string(t.Server), nil)
}
