package tray

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/godbus/dbus/v5"
)

// maxNotifications is how many questions are shown on their own at a time. An agent can ask
// faster than a person reads; beyond this one notification says how many wait.
const maxNotifications = 3

// maxBody bounds a notification's text, in characters.
const maxBody = 240

// notifier shows a notification for each question that arrives. Clicking one opens the question; its
// second button says no, and there is none that says yes. update is for one goroutine.
type notifier struct {
	bus  *bus
	log  *slog.Logger
	open func(id string)
	deny func(Question)

	stop context.CancelFunc
	wg   sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	owner string     // who may speak for the notification service
	shown map[string]uint32
	asked map[string]Question // those that are shown, as they are
	sum   uint32              // the notification for all that are not shown on their own; 0 for none
	known map[string]bool
}

// newNotifier starts listening for clicks; close ends it.
func newNotifier(b *bus, log *slog.Logger, open func(id string), deny func(Question)) *notifier {
	ctx, stop := context.WithCancel(context.Background())
	n := &notifier{bus: b, log: log, open: open, deny: deny, stop: stop, shown: map[string]uint32{}, asked: map[string]Question{}, known: map[string]bool{}}
	n.owner = b.owner(ctx, notifyName)
	n.wg.Go(func() { n.listen(ctx) })
	return n
}

func (n *notifier) close() {
	n.stop()
	n.wg.Wait()
}

func (n *notifier) listen(ctx context.Context) {
	var opening sync.WaitGroup
	defer opening.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-n.bus.notify:
			if act := n.heard(s); act != nil {
				opening.Go(act)
			}
		}
	}
}

// heard follows a signal. It returns what is to be done, if something was clicked. Any program on the
// bus can send such signals: only the service's owner is believed.
func (n *notifier) heard(s *dbus.Signal) (act func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name, owner := ownerChanged(s); name == notifyName {
		n.owner, n.sum = owner, 0
		clear(n.shown)
		return nil
	}
	if n.owner == "" || s.Sender != n.owner || len(s.Body) < 2 {
		return nil
	}
	number, _ := s.Body[0].(uint32)
	switch s.Name {
	case notifyName + ".ActionInvoked":
		return n.clicked(number, s.Body[1])
	case notifyName + ".NotificationClosed":
		if number == n.sum {
			n.sum = 0
		}
		for q, shown := range n.shown {
			if shown == number {
				delete(n.shown, q)
			}
		}
	}
	return nil
}

// clicked is what a click on a notification has done. No button, and no click, says yes.
func (n *notifier) clicked(number uint32, button any) func() {
	id, ok := n.question(number)
	q, asked := n.asked[id]
	switch {
	case !ok:
		return nil
	case button == "deny" && asked:
		return func() { n.deny(q) }
	}
	return func() { n.open(id) }
}

// question finds what a notification is about: a question, or "" for the one about all.
func (n *notifier) question(number uint32) (string, bool) {
	if number == 0 {
		return "", false
	}
	for q, shown := range n.shown {
		if shown == number {
			return q, true
		}
	}
	return "", number == n.sum
}

// update shows what is new and takes away what no longer waits.
func (n *notifier) update(ctx context.Context, waiting []Question) {
	n.mu.Lock()
	defer n.mu.Unlock()
	here := map[string]bool{}
	var fresh []Question
	for _, q := range waiting {
		here[q.ID] = true
		if !n.known[q.ID] {
			fresh = append(fresh, q)
		}
	}
	n.known = here
	for q, number := range n.shown {
		if !here[q] {
			n.take(ctx, number)
			delete(n.shown, q)
			delete(n.asked, q)
		}
	}
	if n.sum != 0 && len(waiting) <= len(n.shown) {
		n.take(ctx, n.sum)
		n.sum = 0
	}
	n.showAll(ctx, fresh, len(waiting))
}

func (n *notifier) showAll(ctx context.Context, fresh []Question, waiting int) {
	if len(fresh) == 0 {
		return
	}
	if len(n.shown)+len(fresh) > maxNotifications {
		n.sum = n.send(ctx, n.sum, fmt.Sprintf("%d requests wait for you", waiting), "", false)
		return
	}
	for _, q := range fresh {
		if number := n.send(ctx, 0, plainText(q.Title), body(q.Object), true); number != 0 {
			n.shown[q.ID], n.asked[q.ID] = number, q
		}
	}
}

// send shows one notification, in place of another if replaces is not 0, and returns its number;
// 0 when there is no service. one says that it is about one question, which can be denied.
func (n *notifier) send(ctx context.Context, replaces uint32, title, text string, one bool) uint32 {
	ctx, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	service := n.bus.conn.Object(notifyName, notifyPath)
	actions := []string{}
	var can []string
	if err := service.CallWithContext(ctx, notifyName+".GetCapabilities", 0).Store(&can); err == nil && slices.Contains(can, "actions") {
		actions = []string{"default", "Review", "review", "Review"}
		if one {
			actions = append(actions, "deny", "Deny")
		}
	}
	hints := map[string]dbus.Variant{
		"urgency":       dbus.MakeVariant(byte(1)),
		"desktop-entry": dbus.MakeVariant("garita"),
		"category":      dbus.MakeVariant("im.received"),
	}
	var number uint32
	call := service.CallWithContext(ctx, notifyName+".Notify", 0, "Garita", replaces, "garita", title, text, actions, hints, int32(-1))
	if err := call.Store(&number); err != nil {
		n.log.Debug("no notification shown", "err", err)
		return 0
	}
	if n.owner == "" {
		n.owner = n.bus.owner(ctx, notifyName) // the call may have started the service
	}
	return number
}

func (n *notifier) take(ctx context.Context, number uint32) {
	ctx, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	call := n.bus.conn.Object(notifyName, notifyPath).CallWithContext(ctx, notifyName+".CloseNotification", 0, number)
	if call.Err != nil {
		n.log.Debug("notification not taken away", "err", call.Err)
	}
}

// body makes hostile text a notification's body: markup in it is shown, not followed.
func body(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(plainText(s))
}

// plainText makes what does not show, or turns the text around, visible, and bounds the length.
func plainText(s string) string {
	var out []rune
	for _, r := range s {
		if len(out) == maxBody {
			return string(out) + "…"
		}
		if !unicode.IsPrint(r) || unicode.Is(unicode.Cf, r) {
			r = '\uFFFD'
		}
		out = append(out, r)
	}
	return string(out)
}
