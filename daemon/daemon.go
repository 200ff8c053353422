// Package daemon joins the parts and runs them: it is the background process that holds all
// authority. The window, the tray, the page and the command line are clients of its API.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/gate"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/clientconfig"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/door"
	"github.com/garita-dev/garita/daemon/events"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/rate"
	"github.com/garita-dev/garita/daemon/remote/oauth"
	"github.com/garita-dev/garita/daemon/serverlog"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/daemon/trace"
	"github.com/garita-dev/garita/frontend"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/trim"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/sqlite"
)

// Daemon is every part, joined. Its methods are the API's backend.
type Daemon struct {
	config     *config.Store
	db         *sqlite.Store
	events     *events.Log
	gate       *gate.Gate
	policies   *policies
	engine     *engine
	pins       *pinned
	consents   *consents
	trials     trials
	effects    *effects
	ways       *ways
	observed   *observations
	commands   *commands
	vault      *sealedVault
	secrets    *secrets
	supervisor *supervisor.Supervisor
	traces     *trace.Log
	importer   *clientconfig.Importer
	attached   *attached
	quiet      *time.Timer // gives memory back some time after the last start or end
	live       live
	hooked     hooked
	logins     *oauth.Logins
	login      atomic.Pointer[loginPage] // the last one shown
	rates      rate.Limiter
	prompts    prompts
	door       atomic.Pointer[door.Door] // nil while it is shut
	serverLogs *serverlog.Dir            // nil where they cannot be kept
	diskLow    atomic.Bool
	repeats    repeated      // refused accesses
	reread     chan struct{} // the settings have been read again
	log        *slog.Logger

	started  time.Time
	pid, uid int
	page     string          // the page's address, "" when it is off
	doorAt   string          // the HTTP door's, "" when it is shut
	doorShut string          // why nobody gets in over HTTP, in words; "" when that is as the settings want it
	running  context.Context // ends when the daemon is to stop
	stop     context.CancelFunc
	sessions sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	tools    map[sandbox.ServerName][]api.Tool
	progress map[sandbox.ServerName]*api.Progress
	doubts   map[string]*gateway.Doubt // by agent
}

// eventsKept is how many changes a watcher may be behind before it has to read everything anew.
const eventsKept = 4096

// Run is `garita daemon`: it serves until ctx ends or the API asks it to stop, and leaves no
// process, mount or socket behind. FailedPrecondition: another daemon serves this home.
func Run(ctx context.Context, log *slog.Logger) error {
	if err := keepMemory(); err != nil {
		return err
	}
	paths, err := config.FindPaths()
	if err != nil {
		return err
	}
	settings, err := config.Open(paths)
	if err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(paths.Run, "daemon.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	db, err := sqlite.Open(ctx, paths.Database(), sqlite.Options{
		KeyFile: filepath.Join(paths.State, "audit.key"), HeadFile: filepath.Join(paths.State, "audit.head"), Redact: known.Record,
	})
	if err != nil {
		return err
	}
	permitted, err := inForce(ctx, db, time.Now())
	if err != nil {
		return errors.Join(err, db.Close())
	}
	d := join(ctx, settings, db, permitted, log)
	return errors.Join(d.run(ctx), db.Close())
}

// join makes the parts, in the order they depend on each other. It starts nothing.
func join(ctx context.Context, settings *config.Store, db *sqlite.Store, permitted []approvals.Grant, log *slog.Logger) *Daemon {
	paths := settings.Paths()
	d := &Daemon{
		config: settings, db: db, events: events.New(eventsKept), attached: newAttached(), quiet: trim.Settle(), log: log,
		importer: clientconfig.NewImporter(paths), traces: trace.New(known.Record),
		started: time.Now().UTC(), pid: os.Getpid(), uid: os.Getuid(),
		reread: make(chan struct{}, 1),
		tools:  map[sandbox.ServerName][]api.Tool{}, progress: map[sandbox.ServerName]*api.Progress{}, doubts: map[string]*gateway.Doubt{},
	}
	d.policies = newPolicies(paths)
	d.running, d.stop = context.WithCancel(ctx)
	d.engine = newEngine(client.Config{Data: paths.Data, Log: childLog{log}}, paths.Home, log, func() {
		d.events.Publish("status", "", nil)
		d.settling()
	})
	d.vault = newSealedVault(db, filepath.Join(paths.State, "secrets.key.age"), d.noteKeeper)
	d.ways = newWays(d)
	d.ways.home = paths.Home
	d.engine.ways, d.engine.through = d.ways, d.through
	if unread := settings.Settings().Network.Unread(os.LookupEnv); unread != "" {
		log.Warn("a proxy is not used", "why", unread)
	}
	d.observed = newObservations(d)
	d.commands = newCommands(d)
	d.secrets = newSecrets(d, d.vault)
	d.pins = newPinned(d)
	d.consents = newConsents(d)
	d.engine.age = func() time.Duration { return settings.Settings().Packages.Age }
	d.engine.fetched = d.noteFetched
	d.gate = gate.New(gate.Options{
		Log: gateLog{d}, Standings: standings{d}, Policy: d.policies.policy, Grants: permitted, Wait: settings.Settings().Approvals.Wait,
		Changed: func(id approvals.RequestID) { d.events.Publish("approval", string(id), nil) },
	})
	d.logins = d.newLogins()
	d.effects = newEffects(d.engine, demotions{d})
	d.serverLogs = d.openServerLogs()
	d.supervisor = supervisor.New(supervisor.Options{
		Runtime: observing{d.engine, d.observed, d.commands}, Installer: d.engine, Lock: packageLock{d}, Host: host{d}, Consent: d.consents, Secrets: d.secrets,
		Changed:  func(s sandbox.ServerName) { d.events.Publish("server", string(s), nil) },
		Progress: d.noteProgress, Ended: d.noteEnded, Looping: d.noteLooping, Logger: log,
		Unhealthy: d.noteUnhealthy, Redact: d.redactLineOf, Logs: d.serverLog,
	})
	return d
}

// settling is told that something has started or ended: a while later memory is given back.
func (d *Daemon) settling() {
	if d.quiet != nil { // none in tests of a part
		d.quiet.Reset(trim.SettleAfter)
	}
}

// run serves until the end, and takes the parts down in the order that loses nothing: sessions
// end first, so that every call has its record; then the sandboxes; then the engine.
func (d *Daemon) run(ctx context.Context) error {
	socket, page, err := d.listen()
	if err != nil {
		return err
	}
	server := httpapi.New(d, httpapi.Options{Version: Version(), Page: frontend.Dist(), Log: d.log})
	if err := d.recordLife(ctx, store.DaemonStarted); err != nil {
		return errors.Join(err, socket.Close())
	}

	children, stopChildren := context.WithCancel(context.WithoutCancel(ctx))
	defer stopChildren()
	var engine errgroup.Group
	engine.Go(func() error { return d.engine.Run(children) })

	door := d.listenDoor() // before anybody can ask for status, which says where it is
	d.log.Info("listening", "socket", api.SocketPath(), "page", d.page)
	parts, running := errgroup.WithContext(d.running)
	parts.Go(func() error { return server.ServeSocket(running, socket) })
	if page != nil {
		parts.Go(func() error { return server.ServePage(running, page) })
	}
	if door != nil {
		parts.Go(func() error { return d.serveDoor(running, door) })
	}
	parts.Go(func() error { return d.config.Watch(running, d.noteSettings) })
	parts.Go(func() error { return d.watchPolicy(running) })
	parts.Go(func() error { return d.watchSleep(running) })
	parts.Go(func() error { return d.keepRecord(running) })
	parts.Go(func() error { return d.vault.keeper.Run(running) })
	parts.Go(func() error { return d.secrets.run(running) })
	parts.Go(func() error { return d.ways.run(running) })
	err = parts.Wait()

	d.stop()
	d.sessions.Wait()
	d.observed.running.Wait()
	d.commands.running.Wait()
	d.pins.asking.Wait()
	d.ways.asking.Wait()
	d.secrets.using.Wait()
	d.consents.asking.Wait()
	d.logins.Close()
	d.vault.ring.Close()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	err = errors.Join(err, d.gate.Close(), d.supervisor.Close(ending))
	stopChildren()
	d.attached.close()
	d.quiet.Stop()
	return errors.Join(err, engine.Wait(), d.recordLife(ending, store.DaemonStopped))
}

// listen opens the user's socket and, unless it is off, the page's port.
func (d *Daemon) listen() (socket, page net.Listener, err error) {
	path := api.SocketPath()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	socket, err = net.Listen("unix", path)
	if err != nil {
		return nil, nil, fmt.Errorf("open the daemon's socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, nil, errors.Join(err, socket.Close())
	}
	settings := d.config.Settings().Page
	if !settings.Enabled {
		return socket, nil, nil
	}
	page, err = net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", settings.Port))
	if err != nil { // another program has the port: any other will do, the link names it
		page, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open the page's port: %w", err), socket.Close())
	}
	d.page = "http://" + page.Addr().String()
	return socket, page, nil
}

func (d *Daemon) noteSettings(problem error) {
	if problem != nil {
		d.log.Warn("settings are not in force as they stand", "err", problem)
	}
	select {
	case d.reread <- struct{}{}:
	default: // it is about to be looked at
	}
	d.pins.reload()
	d.secretsChanged(d.running)
	d.events.Publish("status", "", nil)
}

// lock makes sure that one daemon serves one home.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, &api.Problem{
			Code: "precondition", Title: "Another garita daemon is running", Detail: "It holds " + path + ".",
			Next: "garita status",
		}
	}
	return func() { _ = f.Close() }, nil
}
