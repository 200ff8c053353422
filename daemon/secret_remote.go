package daemon

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// A server at a URL has no sandbox and nothing of a secret: we put it into the requests ourselves. What it may
// use is held for each session, from when it is reached to the end of that connection.

// holdingOf names what a call's server may use.
func holdingOf(c approvals.Call) sandbox.InstanceID {
	if c.Instance != "" {
		return c.Instance
	}
	return reachedBy(c.Session)
}

// reachedBy stands for the sandbox that a server at a URL does not have.
func reachedBy(id approvals.SessionID) sandbox.InstanceID {
	return sandbox.InstanceID("url " + string(id))
}

// sending is what one connection may send. It is a remote.Keys.
type sending struct {
	all *secrets
	own *holding
}

// reaching reads what a session's server at a URL may use. An error says what is wanting. The caller lets go
// of it.
func (s *secrets) reaching(ctx context.Context, srv sandbox.Server, o gateway.Options) (*sending, error) {
	h := &holding{
		id: reachedBy(o.ID), server: srv, session: o, address: srv.Source.URL, calls: map[approvals.CallID]*carrying{},
	}
	if err := unexpanded(srv); err != nil {
		return nil, err
	}
	var err error
	if h.given, err = s.gather(ctx, srv); err != nil {
		return nil, err
	}
	s.keep(h)
	return &sending{s, h}, nil
}

// cutBy says how the connection is ended; an error that it must not be used, for what was read may not be sent
// any more.
func (k *sending) cutBy(ctx context.Context, cut func(why string)) error {
	k.all.mu.Lock()
	k.own.cut = cut
	k.all.mu.Unlock()
	return k.all.settle(ctx, k.own.id)
}

// letGo forgets what the connection might send: it has ended, or was never made.
func (k *sending) letGo() {
	k.all.mu.Lock()
	defer k.all.mu.Unlock()
	if k.all.held[k.own.id] == k.own { // there may be another connection of the session
		delete(k.all.held, k.own.id)
	}
}

// Next implements remote.Keys.
func (k *sending) Next() string {
	k.all.mu.Lock()
	defer k.all.mu.Unlock()
	for _, g := range k.own.given {
		return fmt.Sprintf("It does not accept the secret %s: see that it is the right one, and store it anew: garita secret set %s", g.grant.Secret, g.grant.Secret)
	}
	return ""
}

// Put implements remote.Keys: all secrets that its server may use go with a request, or it is not sent.
func (k *sending) Put(ctx context.Context, req *http.Request, m protocol.Message) error {
	toward := config.Origin(req.URL)
	for _, g := range k.given() {
		why := g.withheld(toward, m, time.Now())
		if why == "" && g.grant.Ask && !k.asked(ctx, g, toward, m) {
			why = "nobody has allowed it"
		}
		if why != "" {
			return k.refuse(g, toward, why)
		}
	}
	for _, g := range k.given() { // a person may have thought about it for a while
		if why := g.withheld(toward, m, time.Now()); why != "" {
			return k.refuse(g, toward, why)
		}
		if err := k.note(ctx, g, toward, m); err != nil {
			return err
		}
		g.put(req)
	}
	return nil
}

func (k *sending) given() []given {
	k.all.mu.Lock()
	defer k.all.mu.Unlock()
	return slices.Clone(k.own.given)
}

// asked says whether a person permits a use. At the end of a session nobody is asked.
func (k *sending) asked(ctx context.Context, g given, toward sandbox.Endpoint, m protocol.Message) bool {
	if len(m.Raw) == 0 {
		return k.all.permitted(k.wants(), g.grant.Secret, toward)
	}
	return k.all.ask(ctx, k.wants(), g.grant.Secret, toward)
}

func (k *sending) wants() wanter {
	return wanter{session: k.own.session, server: k.own.server.Name}
}

// withheld says why a secret may not go with a message to a server at a URL; "" when it may.
func (g given) withheld(toward sandbox.Endpoint, m protocol.Message, now time.Time) string {
	switch {
	case g.dropped, !g.grant.InForce(now), g.ref.Expired(now):
		return "it was taken back, or its time is over"
	case !g.grant.SendsTo(toward.Host, toward.Port):
		return "it is for another host"
	case unfit(g.grant, g.value) != "":
		return unfit(g.grant, g.value)
	case !goesWith(g.grant, m):
		return "it is for other tools"
	}
	return ""
}

// preparing are the requests that set up a session, or list what there is: they do nothing of an agent's choice.
var preparing = []string{
	protocol.MethodInitialize, protocol.MethodDiscover, protocol.MethodPing, protocol.MethodToolsList, protocol.MethodListen,
	"prompts/list", "resources/list", "resources/templates/list", "logging/setLevel",
}

// goesWith says whether a secret that is for some tools only may go with a message. What only prepares calls
// needs it as well: a server that is to know who lists its tools would not be usable else.
func goesWith(g sandbox.SecretGrant, m protocol.Message) bool {
	switch {
	case len(g.Tools) == 0, m.Kind != protocol.Request:
		return true
	case m.Method == protocol.MethodToolsCall:
		call, err := protocol.ParseToolCall(m.Params)
		return err == nil && g.Covers(call.Name)
	}
	return slices.Contains(preparing, m.Method)
}

// notedEvery is how often the use of a secret outside of calls is recorded: streams are taken up again and
// again.
const notedEvery = 10 * time.Minute

// note records a use before it happens.
func (k *sending) note(ctx context.Context, g given, toward sandbox.Endpoint, m protocol.Message) error {
	calls, due := k.carried(g, m, time.Now())
	if !due {
		return nil
	}
	if err := k.all.vault.RecordUse(context.WithoutCancel(ctx), k.own.use(g, calls, toward.String())); err != nil {
		return fmt.Errorf("no secret is sent without a record: %w", err)
	}
	k.all.d.observed.used(k.own.server.Name, g.grant.Secret, false)
	k.all.d.events.Publish("secret", g.grant.Secret, nil)
	return nil
}

// carried are the calls that a message belongs to: those of its tool that are under way. due says whether the
// use is to be recorded.
func (k *sending) carried(g given, m protocol.Message, now time.Time) (calls []approvals.CallID, due bool) {
	k.all.mu.Lock()
	defer k.all.mu.Unlock()
	if m.Method == protocol.MethodToolsCall {
		call, _ := protocol.ParseToolCall(m.Params)
		for id, c := range k.own.calls {
			if c.tool == call.Name {
				calls = append(calls, id)
				c.note(g.grant.Secret, g.ref.Version)
			}
		}
		slices.Sort(calls)
		return calls, true
	}
	i := slices.IndexFunc(k.own.given, func(o given) bool { return o.grant.Secret == g.grant.Secret && o.ref.Version == g.ref.Version })
	if i < 0 || now.Sub(k.own.given[i].noted) < notedEvery {
		return nil, i < 0
	}
	k.own.given[i].noted = now
	return nil, true
}

// refuse records that a secret was not sent, and says so.
func (k *sending) refuse(g given, toward sandbox.Endpoint, why string) error {
	k.all.d.observed.used(k.own.server.Name, g.grant.Secret, true)
	e := event(store.SecretRefused, k.own.session.Principal, map[string]any{
		"name": g.grant.Secret, "version": g.ref.Version, "host": toward.String(), "in": g.grant.Places[0].In, "place": g.grant.Places[0].Name, "why": why,
	})
	e.Session, e.Server = k.own.session.ID, k.own.server.Name
	if _, err := k.all.d.db.Append(context.WithoutCancel(k.all.d.running), e); err != nil {
		k.all.d.log.Error("cannot record that a secret was not sent", "server", k.own.server.Name, "err", err)
	}
	return fmt.Errorf("the secret %s may not be used for it: %s", g.grant.Secret, why)
}

// moved says why a connection must not go on whatever its secrets: its server is somewhere else now.
func (s *secrets) moved(h *holding) string {
	now, ok := s.d.config.Server(h.server.Name)
	if h.address == "" || ok && now.Source.URL == h.address {
		return ""
	}
	return "the server was declared at another address, or is not declared any more"
}

// cut ends the connection to a server at a URL: what comes next makes another.
func (s *secrets) cut(h *holding) {
	s.mu.Lock()
	cut, why := h.cut, h.stale
	h.cut = nil // once: the session may have another by now
	s.mu.Unlock()
	if cut == nil {
		return
	}
	if why == "" {
		why = "a secret that was sent on it was taken back"
	}
	s.d.log.Info("the connection to a server is ended", "server", h.server.Name, "why", why)
	if session := s.d.live.of(h.session.ID); session != nil {
		session.LetGo("", why)
	}
	cut(why)
}

// cutIdle ends a connection that is to be made anew as soon as no call is under way on it.
func (s *secrets) cutIdle(h *holding) {
	s.mu.Lock()
	due := h.address != "" && h.stale != "" && len(h.calls) == 0
	s.mu.Unlock()
	if due {
		s.cut(h)
	}
}
