package bridge

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// maxReopened is how often a listen that the server ends is opened again before anything came by it.
const maxReopened = 3

// subscriptions are what a legacy client is told of without asking each time: one listen for the
// lists that may change, and one for each resource. A single listen for all of it would have to be
// closed and opened whenever the client subscribes, and there are servers (of the Go SDK) in which
// the end of an older listen takes the newer one along. For the same reason the listen of a
// resource the client unsubscribed from stays, muted, until there are too many.
type subscriptions struct {
	lists   *modernListen // for the lists; nil when there is none
	uris    map[string]*modernListen
	order   []string               // of uris, oldest first
	pending map[protocol.ID]string // resources/subscribe not answered yet: the resource, by the client's id
}

// modernListen is one subscriptions/listen of ours.
type modernListen struct {
	at       protocol.ID
	uri      string         // "" for the lists
	filter   jsontext.Value // what it asks for
	live     bool           // the server has acknowledged it
	muted    bool           // the client has unsubscribed
	reopened int            // times in a row
	timer    *time.Timer    // until it is given up unacknowledged; nil for the lists
}

// listenForChanges opens the listen for the lists that the server says may change.
func (t *toModern) listenForChanges() {
	if t.lists != nil || !t.begun {
		return
	}
	var filter []protocol.Member
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if string(at(t.offered, kind, "listChanged")) == "true" {
			filter = append(filter, set(kind+"ListChanged", jsontext.Value("true")))
		}
	}
	if len(filter) == 0 {
		return
	}
	wanted, _ := protocol.Edit(nil, filter...) // of an object
	t.lists = &modernListen{filter: wanted}
	t.open(t.lists)
}

// open sends the listen under a new id.
func (t *toModern) open(l *modernListen) {
	l.at, l.live = t.newID(), false
	params, _ := t.withMeta(fmt.Appendf(nil, `{"notifications":%s}`, l.filter)) // of an object
	id := l.at
	t.ask(id, protocol.NewRequest(id, protocol.MethodListen, params), func(answer protocol.Message) {
		why := "the server ended it"
		if answer.Error != nil {
			why = protocol.Text(members(answer.Error)["message"])
		}
		t.listenEnded(id, why)
	})
	if l.uri != "" {
		l.timer = t.after(t.o.Handshake, func() {
			if t.listenOf(id) == l && !l.live {
				t.send(protocol.NewCancelled(id, "it was not acknowledged"))
				t.giveUp(l, "it did not acknowledge it")
			}
		})
	}
}

// listenOf is the listen that has this id at the server, nil when none has.
func (t *toModern) listenOf(id protocol.ID) *modernListen {
	if id == "" {
		return nil
	}
	if t.lists != nil && t.lists.at == id {
		return t.lists
	}
	for _, l := range t.uris {
		if l.at == id {
			return l
		}
	}
	return nil
}

func (t *toModern) subscribe(m protocol.Message) {
	uri := protocol.Text(members(m.Params, "uri")["uri"])
	u := t.uris[uri]
	switch {
	case uri == "" || len(uri) > maxURI:
		t.refuse(m.ID, protocol.CodeInvalidParams, "resources/subscribe names no uri, or one that is too long")
	case u != nil && u.live:
		u.muted = false
		t.say(protocol.NewResult(m.ID, emptyObject))
	case len(t.pending) >= t.o.Subscriptions || u == nil && !t.roomForURI():
		t.refuse(m.ID, protocol.CodeInternal, "there are too many subscriptions")
	case u != nil:
		u.muted = false
		t.pending[m.ID] = uri
	default:
		t.pending[m.ID] = uri
		t.order = append(t.order, uri)
		l := &modernListen{uri: uri, filter: fmt.Appendf(nil, `{"resourceSubscriptions":%s}`, quoteAll([]string{uri}))}
		t.uris[uri] = l
		t.open(l)
	}
}

// roomForURI makes room by ending the oldest muted listen.
func (t *toModern) roomForURI() bool {
	if len(t.uris) < t.o.Subscriptions {
		return true
	}
	for _, uri := range t.order {
		if u := t.uris[uri]; u.muted {
			t.send(protocol.NewCancelled(u.at, "the client has unsubscribed"))
			t.removeURI(uri)
			return true
		}
	}
	return false
}

func (t *toModern) removeURI(uri string) {
	t.uris[uri].timer.Stop()
	delete(t.awaited, t.uris[uri].at)
	delete(t.uris, uri)
	t.order = slices.DeleteFunc(t.order, func(s string) bool { return s == uri })
}

func (t *toModern) unsubscribe(m protocol.Message) {
	uri := protocol.Text(members(m.Params, "uri")["uri"])
	if uri == "" {
		t.refuse(m.ID, protocol.CodeInvalidParams, "resources/unsubscribe names no uri")
		return
	}
	if u := t.uris[uri]; u != nil {
		u.muted = true
	}
	t.say(protocol.NewResult(m.ID, emptyObject))
}

// acknowledged answers the subscribe requests that wait for it.
func (t *toModern) acknowledged(m protocol.Message) {
	l := t.listenOf(protocol.ID(at(m.Params, "_meta", protocol.MetaSubscription)))
	switch {
	case l == nil:
		t.log.Debug("an acknowledgment of no subscription was dropped")
	case l.uri == "":
		l.live = true
	case !slices.Contains(texts(at(m.Params, "notifications", "resourceSubscriptions")), l.uri):
		t.send(protocol.NewCancelled(l.at, "it was not acknowledged"))
		t.giveUp(l, "it does not tell of changes of this resource")
	default:
		l.live = true
		l.timer.Stop()
		t.answerPending(l.uri, func(id protocol.ID) { t.say(protocol.NewResult(id, emptyObject)) })
	}
}

func (t *toModern) answerPending(uri string, f func(protocol.ID)) {
	var waiting []protocol.ID
	for id, of := range t.pending {
		if of == uri {
			waiting = append(waiting, id)
		}
	}
	slices.Sort(waiting)
	for _, id := range waiting {
		delete(t.pending, id)
		f(id)
	}
}

// listenEnded opens a listen again that had been open, and gives up one that never was.
func (t *toModern) listenEnded(id protocol.ID, why string) {
	l := t.listenOf(id)
	if l == nil {
		return
	}
	delete(t.awaited, id)
	if l.live && !l.muted && l.reopened < maxReopened {
		l.reopened++
		t.open(l)
		return
	}
	t.giveUp(l, why)
}

func (t *toModern) giveUp(l *modernListen, why string) {
	if l.uri == "" {
		t.log.Warn("the server tells of no more changes of its lists", "err", why)
		l.at = ""
		return
	}
	t.removeURI(l.uri)
	t.answerPending(l.uri, func(id protocol.ID) {
		t.refuse(id, protocol.CodeInvalidParams, "the server takes no subscription to this resource: "+why)
	})
}

// changed passes a notification of one of our listens on.
func (t *toModern) changed(m protocol.Message) {
	l := t.listenOf(protocol.ID(at(m.Params, "_meta", protocol.MetaSubscription)))
	if l == nil || (l.uri != "") != (m.Method == noteUpdated) {
		t.log.Debug("a notification of no subscription was dropped", "call", m.Method)
		return
	}
	if !l.live || l.muted {
		return
	}
	l.reopened = 0
	params, err := editMeta(m.Params, []protocol.Member{drop(protocol.MetaSubscription)})
	if err == nil {
		t.tell(m.WithBody(params))
	}
}
