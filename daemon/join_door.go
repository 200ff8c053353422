package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/door"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// serveDoor lets MCP clients in over HTTP until ctx ends.
func (d *Daemon) serveDoor(ctx context.Context, ln net.Listener) error {
	at := door.New(door.Options{Backend: doorBackend{d}, Log: d.log, MaxBody: int(d.config.Settings().Message)})
	d.door.Store(at)
	server := &http.Server{
		Handler: at, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ConnContext: withVisitor, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serve the HTTP door: %w", err), at.Close())
	case <-ctx.Done():
	}
	err := errors.Join(at.Close(), server.Close())
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// listenDoor opens the door's port, nil when it is off. A client's settings name the port, so
// another one would be of no use when a program has taken it.
func (d *Daemon) listenDoor() net.Listener {
	settings := d.config.Settings().Doors
	if !settings.HTTP {
		return nil
	}
	ln, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", settings.Port))
	if err != nil {
		d.log.Error("the HTTP door is shut: another program has its port (config.yaml, doors)", "port", settings.Port, "err", err)
		d.doorShut = fmt.Sprintf("No client gets in over HTTP: another program had port %d. End it, or set doors.port in config.yaml; then: garita daemon stop", settings.Port)
		return nil
	}
	d.doorAt = "http://" + ln.Addr().String() + "/mcp"
	return ln
}

// doorBackend is what stands behind the HTTP door.
type doorBackend struct{ *Daemon }

// Authenticate implements door.Backend. Who comes in by a token is an agent: from here on neither
// its process nor what that starts may answer for the person.
func (d doorBackend) Authenticate(ctx context.Context, secret string) (door.Access, error) {
	t, err := d.db.FindToken(ctx, secret)
	if err != nil {
		return door.Access{}, err
	}
	if c, ok := ctx.Value(visitorKey{}).(*visitor); ok {
		if err := c.hold(d.attached); err != nil {
			d.log.Warn("a token was refused", "token", t.ID, "from", c.conn.RemoteAddr(), "err", err)
			return door.Access{}, err
		}
	}
	return door.Access{ID: string(t.ID)}, nil
}

// Servers implements door.Backend.
func (d doorBackend) Servers(a door.Access) []string {
	t, err := d.db.Token(store.TokenID(a.ID))
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range d.config.Servers() {
		if t.Opens(s.Name) {
			names = append(names, string(s.Name))
		}
	}
	slices.Sort(names)
	return names
}

// Serve implements door.Backend.
func (d doorBackend) Serve(ctx context.Context, a door.Access, name string, c door.Client) error {
	t, err := d.db.Token(store.TokenID(a.ID))
	if err != nil {
		return err
	}
	server, err := d.configured(name)
	if err != nil {
		return err
	}
	if !t.Valid(time.Now()) || !t.Opens(server.Name) {
		return fmt.Errorf("token %s is not good for %s: %w", t.ID, name, errdefs.ErrPermissionDenied)
	}
	v := visit{
		principal: approvals.Principal{UID: d.uid, Token: string(t.ID)}, server: server, door: "http",
		patience: clientPatience, tools: t.Tools,
	}
	return d.serve(ctx, v, c)
}

// refusals bounds what strangers can write into the record.
var refusals = sandbox.Rate{Count: 30, Per: time.Minute}

// Refused implements door.Backend.
func (d doorBackend) Refused(ctx context.Context, r door.Refusal) {
	if _, ok := d.rates.Take("refusals at the door", refusals); !ok {
		d.log.Debug("a refusal at the door is not recorded: there are too many", "reason", r.Reason, "from", r.Remote)
		return
	}
	e := event(store.AccessRefused, approvals.Principal{UID: d.uid, Token: r.Access}, map[string]any{
		"door": "mcp", "reason": r.Reason, "status": r.Status, "method": r.Method, "path": r.Path, "host": r.Host,
		"origin": r.Origin, "remote": r.Remote,
	})
	if _, err := d.db.Append(context.WithoutCancel(ctx), e); err != nil {
		d.log.Error("cannot record a refusal", "reason", r.Reason, "err", err)
	}
}

// visitorKey finds a connection's visitor in its context.
type visitorKey struct{}

// visitor is the process at the other end of a connection to the door.
type visitor struct {
	conn net.Conn
	once sync.Once
	err  error // why nobody is held
}

func withVisitor(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, visitorKey{}, &visitor{conn: conn})
}

// hold marks the process as an attached client, once for each connection. Where it hides, or is gone,
// nobody is let in: who cannot be held could answer for the person.
func (c *visitor) hold(a *attached) error {
	c.once.Do(func() {
		var pids []int
		pids, c.err = ownersOf(c.conn, os.Getuid())
		for _, pid := range pids {
			if pid != os.Getpid() {
				_ = a.hold(pid) // one of several that has ended meanwhile
			}
		}
	})
	return c.err
}
