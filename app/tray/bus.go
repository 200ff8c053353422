package tray

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/godbus/dbus/v5"
)

const (
	watcherName = "org.kde.StatusNotifierWatcher"
	notifyName  = "org.freedesktop.Notifications"
	notifyPath  = "/org/freedesktop/Notifications"
)

// bus is our own connection to the session bus, for everything but the icon.
type bus struct {
	conn    *dbus.Conn
	signals chan *dbus.Signal
	hosts   chan struct{} // told when a host for icons appears
	notify  chan *dbus.Signal
}

// busAddress finds the session bus. The library would start one of its own (dbus-launch) where
// there is none; nobody would see an icon there, so that is never asked for.
func busAddress(env func(string) string, exists func(string) bool) (string, error) {
	if a := env("DBUS_SESSION_BUS_ADDRESS"); a != "" && !strings.HasPrefix(a, "autolaunch:") {
		return a, nil
	}
	if dir := env("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if socket := filepath.Join(dir, "bus"); exists(socket) {
			return "unix:path=" + dbus.EscapeBusAddressValue(socket), nil
		}
	}
	return "", fmt.Errorf("no session bus: the tray needs a desktop session (DBUS_SESSION_BUS_ADDRESS is not set): %w", errdefs.ErrFailedPrecondition)
}

func openBus() (*bus, error) {
	address, err := busAddress(os.Getenv, func(p string) bool {
		_, err := os.Stat(p)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	conn, err := dbus.Connect(address)
	if err != nil {
		return nil, fmt.Errorf("reach the session bus: %w: %w", err, errdefs.ErrFailedPrecondition)
	}
	b := &bus{conn: conn, signals: make(chan *dbus.Signal, 64), hosts: make(chan struct{}, 1), notify: make(chan *dbus.Signal, 64)}
	conn.Signal(b.signals)
	for _, match := range [][]dbus.MatchOption{
		{dbus.WithMatchSender("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, watcherName)},
		{dbus.WithMatchSender("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, notifyName)},
		{dbus.WithMatchSender(notifyName), dbus.WithMatchInterface(notifyName)},
	} {
		if err := conn.AddMatchSignal(match...); err != nil {
			b.close()
			return nil, fmt.Errorf("listen on the session bus: %w: %w", err, errdefs.ErrFailedPrecondition)
		}
	}
	return b, nil
}

// close ends the connection. An error then has nobody it could matter to.
func (b *bus) close() { _ = b.conn.Close() }

// gone turns an error into errQuit if the bus is gone, which is what caused it then.
func (b *bus) gone(err error) error {
	if b.owner(context.Background(), "org.freedesktop.DBus") == "" {
		return errQuit
	}
	return err
}

// watch passes signals on until ctx ends or the bus goes away, which it reports as errQuit.
func (b *bus) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.conn.Context().Done():
			return errQuit
		case s, ok := <-b.signals:
			if !ok {
				return errQuit
			}
			b.pass(s)
		}
	}
}

func (b *bus) pass(s *dbus.Signal) {
	if name, owner := ownerChanged(s); name == watcherName && owner != "" {
		select {
		case b.hosts <- struct{}{}:
		default:
		}
		return
	}
	select {
	case b.notify <- s:
	default: // nobody reads: better lost than stuck
	}
}

// ownerChanged reads a NameOwnerChanged signal of the bus itself: a name and its new owner.
func ownerChanged(s *dbus.Signal) (name, owner string) {
	if s.Sender != "org.freedesktop.DBus" || s.Name != "org.freedesktop.DBus.NameOwnerChanged" || len(s.Body) != 3 {
		return "", ""
	}
	name, _ = s.Body[0].(string)
	owner, _ = s.Body[2].(string)
	return name, owner
}

// owner is the connection that owns a name now; "" when nobody does.
func (b *bus) owner(ctx context.Context, name string) string {
	ctx, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	var owner string
	if err := b.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetNameOwner", 0, name).Store(&owner); err != nil {
		return ""
	}
	return owner
}

// callTime bounds one call to another program on the bus, which may hang.
const callTime = 5 * time.Second

// awaitHost waits until something shows icons: wait at most, 0 not at all, less than 0 for ever.
func (b *bus) awaitHost(ctx context.Context, wait time.Duration) error {
	if b.owner(ctx, watcherName) != "" {
		return nil
	}
	if wait == 0 {
		return noHost()
	}
	var late <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late:
		return noHost()
	case <-b.hosts:
		return nil
	}
}
