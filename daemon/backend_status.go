package daemon

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/serverlog"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/store"
)

// Status implements httpapi.Backend.
func (d *Daemon) Status(ctx context.Context) (api.Status, error) {
	today, err := d.db.CallsToday(ctx)
	if err != nil {
		return api.Status{}, err
	}
	prompts, err := d.promptsOf(ctx)
	if err != nil {
		return api.Status{}, err
	}
	engine := d.engine.state()
	s := api.Status{
		Version: Version(), Started: d.started, PID: d.pid, Engine: engine.name, EngineErr: text(engine.err),
		Rootless: d.uid != 0, Warnings: notNil(d.warnings()), Servers: len(d.config.Servers()),
		Running: len(d.supervisor.Instances("")), Waiting: len(d.gate.Pending()), Page: d.page, Door: d.doorAt,
		Home: d.config.Paths().State, CallsToday: today, Prompts: prompts,
	}
	if notice := d.keeperNotice(ctx); notice != "" {
		s.Warnings = append(s.Warnings, notice)
	}
	s.OK = engine.name == engineReady && d.config.Problem() == nil && d.policies.notice() == ""
	s.Sentence = sentence(s)
	if s.Sentence == running && d.config.Problem() != nil {
		s.Sentence = "Settings are not in force as they stand"
	}
	return s, nil
}

func sentence(s api.Status) string {
	switch {
	case s.Engine == engineFailed:
		return "Servers cannot start: " + s.EngineErr
	case s.Engine == engineStarting:
		return "The engine is starting"
	case s.Waiting == 1:
		return "One request waits for you"
	case s.Waiting > 1:
		return fmt.Sprintf("%d requests wait for you", s.Waiting)
	}
	return running
}

const running = "Everything is running"

func (d *Daemon) warnings() []string {
	var w []string
	if problem := d.config.Problem(); problem != nil {
		w = append(w, "Settings not in force as they stand: "+problem.Error())
	}
	if notice := d.policies.notice(); notice != "" {
		w = append(w, notice)
	}
	if d.doorShut != "" {
		w = append(w, d.doorShut)
	}
	if d.uid == 0 {
		w = append(w, "Garita runs as root: the engine has no user namespace of its own. Run it as an ordinary user where you can.")
	}
	if notice := d.loginNotice(); notice != "" {
		w = append(w, notice)
	}
	w = append(w, d.recordWarnings()...)
	return append(w, d.engine.state().notices...)
}

// Version is the module's, or the commit's, as the linker recorded it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "commit " + s.Value[:min(12, len(s.Value))]
		}
	}
	return "development"
}

// AccessRefused implements httpapi.Backend.
func (d *Daemon) AccessRefused(ctx context.Context, why string) {
	times, worth := d.repeats.note(why, time.Now())
	if !worth {
		return
	}
	e := event(store.AccessRefused, approvals.Principal{UID: d.uid}, map[string]any{"why": serverlog.Line([]byte(why), false), "times": times})
	if _, err := d.db.Append(ctx, e); err != nil {
		d.log.Error("cannot record a refused access", "err", err)
	}
}

// Events implements httpapi.Backend.
func (d *Daemon) Events(ctx context.Context, since int64) ([]api.Event, error) {
	found, err := d.events.After(ctx, since)
	if err != nil {
		return nil, err
	}
	out := make([]api.Event, 0, len(found))
	for _, e := range found {
		progress, _ := e.Detail.(*api.Progress)
		out = append(out, api.Event{Seq: e.Seq, Kind: e.Kind, ID: e.ID, Progress: progress})
	}
	return out, nil
}

// Shutdown implements httpapi.Backend.
func (d *Daemon) Shutdown(ctx context.Context, peer httpapi.Peer) error {
	if err := d.refuseDescendants(ctx, peer, "shut down"); err != nil {
		return err
	}
	d.stop()
	return nil
}

// Doctor implements httpapi.Backend: the machine's checks, and our own settings files.
func (d *Daemon) Doctor(ctx context.Context) (api.Doctor, error) {
	found, err := client.Doctor(ctx, client.Config{Data: d.config.Paths().Data})
	if err != nil {
		return api.Doctor{}, err
	}
	out := api.Doctor{Checks: []api.Check{}}
	for _, c := range found {
		out.Checks = append(out.Checks, api.Check(c))
	}
	out.Checks = append(out.Checks, settingsCheck(d.config.Problem()), policyCheck(d.policies.notice()), keeperCheck(d.vault.keeper.Status(ctx)))
	return out, nil
}

func settingsCheck(problem error) api.Check {
	if problem == nil {
		return api.Check{Name: "settings", State: "ok", Found: "every settings file is in force as it stands"}
	}
	return api.Check{
		Name: "settings", State: "fail", Found: problem.Error(),
		Consequence: "what the file said before stays in force", Mend: "correct the file; it is read again at once",
	}
}
