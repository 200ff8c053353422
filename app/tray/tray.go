// Package tray shows in the desktop's panel whether somebody waits for an answer, and leads to the
// page where it is given. It can say no; a yes takes all of the question, which no notification shows.
//
// Everything goes over the session bus: the icon as a StatusNotifierItem, its menu, and a
// notification when a question arrives. Text of a question comes from agents and servers and is hostile.
package tray

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/containerd/errdefs"
)

// Question is one request that waits for a person.
type Question struct {
	ID      string
	Title   string // "claude-desktop wants to change one file"
	Object  string // what it is about, in one line: a path, a command, hosts, a tool
	Binding string // proves what was seen
}

// Daemon is what the tray needs of it.
type Daemon interface {
	// Watch tells what waits now and whenever that changes, from one goroutine. It blocks until ctx
	// ends or the daemon can no longer be heard, and says which.
	Watch(ctx context.Context, told func(waiting []Question)) error
	// Open shows the person the page at path: PagePath, or what QuestionPath says.
	Open(ctx context.Context, path string) error
	// Deny answers no to a question, as it was seen.
	Deny(ctx context.Context, q Question) error
}

// PagePath is where the page begins.
const PagePath = "/"

// QuestionPath is where the page shows a question, or all that wait with id "".
func QuestionPath(id string) string {
	if id == "" {
		return "/approvals"
	}
	return "/approvals?review=" + url.QueryEscape(id)
}

// Options say how the tray behaves.
type Options struct {
	// HostWait is how long to wait for a panel that shows icons: at login it comes up later than
	// we do. 0 means not at all, less than 0 for ever.
	HostWait time.Duration
	Log      *slog.Logger // nil means slog.Default
}

// retry bounds how long the tray waits before it looks for the daemon again.
const (
	retryFirst = time.Second
	retryLast  = 30 * time.Second
)

// Run shows the icon until ctx ends, the person quits it, or the session bus goes away; then it
// returns nil. Errors are FailedPrecondition: there is no session bus, or nothing that shows icons.
func Run(ctx context.Context, d Daemon, o Options) error {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	bus, err := openBus()
	if err != nil {
		return err
	}
	defer bus.close()
	ctx, stop := context.WithCancelCause(ctx)
	t := &tray{daemon: d, log: o.Log, bus: bus, views: make(chan view, 1)}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop(nil)
	wg.Go(func() { t.watch(ctx) })
	wg.Go(func() { stop(bus.watch(ctx)) })
	if err := bus.awaitHost(ctx, o.HostWait); err != nil {
		return ended(ctx, err)
	}
	return ended(ctx, t.serve(ctx))
}

// errQuit is why the tray ends when the person wants it to or the bus goes away.
var errQuit = errors.New("quit")

// ended turns the ways of ending that are no failures into nil.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, errQuit) || errors.Is(context.Cause(ctx), errQuit) || (ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled))) {
		return nil
	}
	return err
}

// tray is one running icon.
type tray struct {
	daemon Daemon
	log    *slog.Logger
	bus    *bus
	views  chan view // the newest only
}

// watch follows the daemon, through its restarts, until ctx ends.
func (t *tray) watch(ctx context.Context) {
	n := newNotifier(t.bus, t.log, func(id string) { t.open(ctx, QuestionPath(id)) }, func(q Question) { t.deny(ctx, q) })
	defer n.close()
	t.show(view{sentence: "Looking for the daemon"})
	for pause := retryFirst; ctx.Err() == nil; pause = min(2*pause, retryLast) {
		err := t.daemon.Watch(ctx, func(waiting []Question) {
			pause = retryFirst
			t.show(viewOf(waiting))
			n.update(ctx, waiting)
		})
		if ctx.Err() != nil {
			return
		}
		t.log.Debug("daemon not heard", "err", err)
		t.show(view{sentence: "The daemon is not running"})
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// serve draws views and follows clicks until ctx ends or the person quits.
func (t *tray) serve(ctx context.Context) error {
	i, err := newIcon(t.bus.conn)
	if err == nil {
		err = i.register(ctx)
	}
	if err != nil {
		return t.bus.gone(err)
	}
	var opening sync.WaitGroup
	defer opening.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case v := <-t.views:
			if err := i.draw(v); err != nil {
				return t.bus.gone(err)
			}
		case <-t.bus.hosts: // the panel was started again
			if err := i.register(ctx); err != nil {
				t.log.Warn("icon not shown again", "err", err)
			}
		case e := <-i.clicks:
			if e == entryQuit {
				return errQuit
			}
			v, _ := i.now()
			opening.Go(func() { t.open(ctx, e.leads(v)) })
		}
	}
}

// leads is the page that an entry opens.
func (e entry) leads(v view) string {
	if e == entryReview {
		return QuestionPath(v.only)
	}
	return PagePath
}

// show replaces the view that has not been drawn yet.
func (t *tray) show(v view) {
	select {
	case <-t.views:
	default:
	}
	t.views <- v
}

// open shows a page; that may take seconds.
func (t *tray) open(ctx context.Context, path string) {
	if err := t.daemon.Open(ctx, path); err != nil {
		t.log.Error("page not opened", "err", err)
	}
}

// deny says no. What the daemon does not take is shown where it can be given.
func (t *tray) deny(ctx context.Context, q Question) {
	if err := t.daemon.Deny(ctx, q); err != nil {
		t.log.Warn("not denied", "err", err)
		t.open(ctx, QuestionPath(q.ID))
	}
}

// view is what icon and menu say.
type view struct {
	waiting  int
	sentence string
	only     string // the question, when there is one
}

func viewOf(waiting []Question) view {
	switch n := len(waiting); n {
	case 0:
		return view{sentence: "Nothing waits for you"}
	case 1:
		return view{1, "1 request waits for you", waiting[0].ID}
	default:
		return view{n, fmt.Sprintf("%d requests wait for you", n), ""}
	}
}

// noHost is the error for a desktop without a place for icons.
func noHost() error {
	return fmt.Errorf("no panel on this desktop shows tray icons (GNOME needs the AppIndicator extension); use `garita ui` instead: %w", errdefs.ErrFailedPrecondition)
}
