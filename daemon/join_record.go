package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/serverlog"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// trimEvery is how often the record's age and the room on its disk are looked at, besides whenever
// the record has grown.
const trimEvery = 10 * time.Minute

// openServerLogs is where servers' standard error is kept on disk; nil where it cannot be.
func (d *Daemon) openServerLogs() *serverlog.Dir {
	logs, err := serverlog.Open(filepath.Join(d.config.Paths().State, "logs"))
	if err != nil {
		d.log.Warn("servers' logs are not kept on disk", "err", err)
		return nil
	}
	return logs
}

// serverLog begins one sandbox's log on disk.
func (d *Daemon) serverLog(server sandbox.ServerName, id sandbox.InstanceID) supervisor.LogSink {
	if d.serverLogs == nil {
		return nil
	}
	return d.serverLogs.Log(server, id)
}

// keepRecord holds the record and the logs to their bounds until ctx ends.
func (d *Daemon) keepRecord(ctx context.Context) error {
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	for {
		d.boundRecord(ctx)
		select {
		case <-tick.C:
		case <-d.reread:
		case <-ctx.Done():
			return nil
		}
	}
}

// boundRecord applies the settings. What cannot be done now is tried again at the next turn.
func (d *Daemon) boundRecord(ctx context.Context) {
	want := d.config.Settings().Record
	if err := d.db.Retain(ctx, store.Retention{Size: want.Size, Keep: want.Keep, Free: want.Free}); err != nil && ctx.Err() == nil {
		d.log.Warn("the record cannot be held to its bounds", "err", err)
	}
	space, err := d.db.Space(ctx)
	if err != nil {
		return
	}
	if space.Low != d.diskLow.Swap(space.Low) {
		d.log.Warn("the room on the disk has changed", "low", space.Low, "free", space.Free)
		d.events.Publish("status", "", nil)
	}
	if d.serverLogs == nil {
		return
	}
	if err := d.serverLogs.Bound(want.Logs, space.Low); err != nil {
		d.log.Warn("servers' logs cannot be held to their bounds", "err", err)
	}
}

// recordWarnings are what a person should know about the record.
func (d *Daemon) recordWarnings() []string {
	var w []string
	if aside := d.db.Damage(); aside != "" {
		w = append(w, "The record was damaged and could not be read. It was put aside as "+aside+", and another was begun; garita audit verify fails from now on.")
	}
	if !d.diskLow.Load() {
		return w
	}
	return append(w, fmt.Sprintf("The disk is low: less than %d MiB are left. Garita keeps no server logs and little of calls' arguments until there is room.", d.config.Settings().Record.Free>>20))
}

// noteUnhealthy records that a server writes the same over and over.
func (d *Daemon) noteUnhealthy(s supervisor.Status) {
	d.log.Warn("a server writes the same over and over", "server", s.Server, "err", s.Unhealthy)
	e := event(store.ServerUnhealthy, approvals.Principal{UID: d.uid}, map[string]any{"sandbox": s.ID, "line": s.Unhealthy})
	e.Session, e.Server = approvals.SessionID(s.Owner.Session), s.Server
	if _, err := d.db.Append(context.Background(), e); err != nil {
		d.log.Error("cannot record that a server is unhealthy", "server", s.Server, "err", err)
	}
}

// redactLine takes secrets out of a line, whosever it is; redactLineOf out of a server's.
func redactLine(text string) string { return known.Log(text) }

func (d *Daemon) redactLineOf(server sandbox.ServerName, text string, cut bool) string {
	if cut {
		return d.secrets.redactor(server).LogCut(text)
	}
	return d.secrets.redactor(server).Log(text)
}

// repeated counts the same refusal over and over, so that a loop does not fill the record.
type repeated struct {
	mu   sync.Mutex
	same serverlog.Collapser
}

// note says how often that has been refused, and whether that is worth an event: at first, and at 10,
// 100, 1,000 times and so on.
func (r *repeated) note(why string, now time.Time) (times int64, worth bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.same.Add(why, now)
	return v.Times, v.New || v.Worth
}
