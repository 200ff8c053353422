package gateway

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// Requests of the legacy era whose effect lasts as long as the server does.
const (
	methodSetLevel    = "logging/setLevel"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
)

// maxSubscribed bounds the subscriptions that are remembered.
const maxSubscribed = 1000

// kept is what a legacy server has been told and forgets when it ends.
type kept struct {
	level      jsontext.Value            // params of the last logging/setLevel; nil without
	subscribed map[string]jsontext.Value // params of resources/subscribe by uri
}

// keeps remembers what a request has changed at the server, once that has said so.
func (s *Session) keeps(m, a protocol.Message) {
	if a.Result == nil || s.era() != protocol.LegacyEra {
		return
	}
	members, err := protocol.Members(m.Params)
	if err != nil {
		return
	}
	uri := protocol.Text(members["uri"])
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m.Method {
	case methodSetLevel:
		s.kept.level = m.Params.Clone()
	case methodSubscribe:
		if len(s.kept.subscribed) < maxSubscribed {
			s.kept.subscribed[uri] = m.Params.Clone()
		}
	case methodUnsubscribe:
		delete(s.kept.subscribed, uri)
	}
}

// lasting is the requests that bring a new life of the server to where the last one was, in order.
func (s *Session) lasting() []protocol.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []protocol.Message
	add := func(method string, params jsontext.Value) {
		if m, err := protocol.Parse(protocol.NewRequest("0", method, params)); err == nil {
			all = append(all, m)
		}
	}
	if s.kept.level != nil {
		add(methodSetLevel, s.kept.level)
	}
	for _, uri := range slices.Sorted(maps.Keys(s.kept.subscribed)) {
		add(methodSubscribe, s.kept.subscribed[uri])
	}
	return all
}

// repeat tells a new life of the server what the client told the last one: that it is ready, and
// what lasts. It goes before whatever waits for the server.
func (m *meeting) repeat() error {
	if m.hello.initialized == nil {
		return nil
	}
	if err := m.way.reply(m.hello.initialized); err != nil {
		return err
	}
	for _, q := range m.lasting() {
		r := &request{method: q.Method, answer: m.repeated(q)}
		id, err := m.way.enter(r)
		if err != nil {
			return err
		}
		if err := m.way.reply(q.WithID(id).Raw); err != nil {
			return err
		}
		m.way.bound(id, r, m.callLimit())
	}
	return nil
}

// repeated notes what came of a repetition: what the server does not take again is not true any more.
func (m *meeting) repeated(q protocol.Message) func(protocol.Message, error) {
	return func(a protocol.Message, err error) {
		if err == nil && a.Error == nil {
			return
		}
		m.Logger.Warn("a server that was started again did not take what the last one did", "server", m.Server.Name, "method", q.Method, "err", err)
	}
}
