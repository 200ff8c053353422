package bridge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// listening is what a legacy server tells unasked, for the listens of a modern client.
type listening struct {
	listens map[protocol.ID]*listen // by the client's id
	uris    map[string]*subscribed
}

// listen is one subscriptions/listen.
type listen struct {
	id    protocol.ID
	lists []string // the members of its filter that the server can serve
	uris  []string // the resources that the server took
	open  int      // subscribe requests not answered yet
	acked bool
}

// subscribed is one resource that the server tells of, for all listens with it.
type subscribed struct {
	listens []*listen
	done    bool // the server has answered
	waiting []func(ok bool)
}

// listKinds are the filter's members, and the notification of each.
var listKinds = map[string]string{
	"toolsListChanged": protocol.MethodToolsChange, "promptsListChanged": notePromptsChange, "resourcesListChanged": noteResourceChange,
}

// listen subscribes to what the server can tell of, and acknowledges that.
func (t *toLegacy) listen(m protocol.Message) {
	filter := members(m.Params)["notifications"]
	wanted := t.wantedURIs(filter)
	switch {
	case !isObject(filter):
		t.refuse(m.ID, protocol.CodeInvalidParams, `subscriptions/listen has no "notifications"`)
		return
	case len(t.listens) >= t.o.Subscriptions, len(t.uris)+len(wanted) > t.o.Subscriptions:
		t.refuse(m.ID, protocol.CodeInternal, "there are too many subscriptions")
		return
	}
	l := &listen{id: m.ID}
	for _, kind := range []string{"tools", "prompts", "resources"} {
		name := kind + "ListChanged"
		if string(members(filter)[name]) == "true" && string(at(t.offered, kind, "listChanged")) == "true" {
			l.lists = append(l.lists, name)
		}
	}
	t.listens[l.id] = l
	l.open = len(wanted)
	for _, uri := range wanted {
		t.subscribe(l, uri)
	}
	t.acknowledge(l)
}

// wantedURIs are the resources of a filter, each once; none where the server takes no subscriptions.
func (t *toLegacy) wantedURIs(filter jsontext.Value) []string {
	if string(at(t.offered, "resources", "subscribe")) != "true" {
		return nil
	}
	all := slices.DeleteFunc(texts(members(filter)["resourceSubscriptions"]), func(uri string) bool { return uri == "" || len(uri) > maxURI })
	slices.Sort(all)
	return slices.Compact(all)
}

func (t *toLegacy) subscribe(l *listen, uri string) {
	answered := func(ok bool) {
		l.open--
		if ok {
			l.uris = append(l.uris, uri)
		}
		t.acknowledge(l)
	}
	s := t.uris[uri]
	if s != nil {
		s.listens = append(s.listens, l)
		if s.done {
			l.open--
			l.uris = append(l.uris, uri)
			return
		}
		s.waiting = append(s.waiting, answered)
		return
	}
	s = &subscribed{listens: []*listen{l}, waiting: []func(bool){answered}}
	t.uris[uri] = s
	t.askWithin(t.o.Handshake, t.newID(), methodSubscribe, fmt.Appendf(nil, `{"uri":%s}`, protocol.Quote(uri)), func(answer protocol.Message) {
		t.subscribed(uri, s, answer.Error == nil)
	})
}

func (t *toLegacy) subscribed(uri string, s *subscribed, ok bool) {
	waiting := s.waiting
	s.done, s.waiting = true, nil
	switch {
	case !ok && t.uris[uri] == s:
		delete(t.uris, uri)
	case ok && len(s.listens) == 0: // all have ended meanwhile
		t.unsubscribe(uri)
	}
	for _, f := range waiting {
		f(ok)
	}
}

func (t *toLegacy) unsubscribe(uri string) {
	delete(t.uris, uri)
	id := t.newID()
	t.ask(id, protocol.NewRequest(id, methodUnsubscribe, fmt.Appendf(nil, `{"uri":%s}`, protocol.Quote(uri))), nil)
}

// acknowledge tells the client what it will be told of, once the server has said so.
func (t *toLegacy) acknowledge(l *listen) {
	if l.acked || l.open > 0 || t.listens[l.id] != l {
		return
	}
	l.acked = true
	var filter []protocol.Member
	for _, name := range l.lists {
		filter = append(filter, set(name, jsontext.Value("true")))
	}
	if len(l.uris) > 0 {
		slices.Sort(l.uris)
		filter = append(filter, set("resourceSubscriptions", quoteAll(l.uris)))
	}
	agreed, _ := protocol.Edit(nil, filter...) // of an object
	t.say(protocol.NewNotification(noteAcknowledged, l.tagged(set("notifications", agreed))))
}

// tagged is an object with the listen's id in its _meta.
func (l *listen) tagged(more ...protocol.Member) jsontext.Value {
	v, _ := editMeta(emptyObject, []protocol.Member{set(protocol.MetaSubscription, jsontext.Value(l.id))}, more...) // of an object
	return v
}

// endListen ends a listen that the client cancelled, with its result.
func (t *toLegacy) endListen(l *listen) {
	delete(t.listens, l.id)
	for _, uri := range names(t.uris) {
		s := t.uris[uri]
		n := len(s.listens)
		s.listens = slices.DeleteFunc(s.listens, func(other *listen) bool { return other == l })
		if n > 0 && len(s.listens) == 0 && s.done {
			t.unsubscribe(uri)
		}
	}
	t.say(protocol.NewResult(l.id, l.tagged(setText("resultType", "complete"))))
}

// maxChange bounds a notification that goes to many listens, in bytes.
const maxChange = 1 << 20

// changed passes a notification on to each listen that wants it, under its id.
func (t *toLegacy) changed(m protocol.Message) {
	if len(m.Raw) > maxChange {
		t.log.Debug("a notification that is too large was dropped", "call", m.Method)
		return
	}
	ids := make([]protocol.ID, 0, len(t.listens))
	for id, l := range t.listens {
		if l.acked && l.wants(m) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		params, err := editMeta(object(m.Params), []protocol.Member{set(protocol.MetaSubscription, jsontext.Value(id))})
		if err != nil {
			t.log.Debug("a notification that cannot be read was dropped", "call", m.Method)
			return
		}
		t.tell(withParams(m, params))
	}
}

func (l *listen) wants(m protocol.Message) bool {
	if m.Method != noteUpdated {
		return slices.ContainsFunc(l.lists, func(name string) bool { return listKinds[name] == m.Method })
	}
	uri := protocol.Text(members(m.Params)["uri"])
	// A server may tell of a part of what was subscribed to.
	return slices.ContainsFunc(l.uris, func(of string) bool {
		return uri == of || strings.HasPrefix(uri, strings.TrimSuffix(of, "/")+"/")
	})
}
