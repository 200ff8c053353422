package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

// maxAsked bounds what a server may ask its client at once.
const maxAsked = 100

// askedOf is one request of the server's that the client has.
type askedOf struct {
	way *link
	id  protocol.ID // the server's own
}

// fromServer reads the server's messages until its end. Lines that are no messages are dropped:
// servers print banners.
func (s *Session) fromServer(ctx context.Context, way *link) error {
	server := way.reads()
	for {
		m, err := server.Read()
		var bad *protocol.LineError
		switch {
		case errors.As(err, &bad):
			s.noise(way, bad)
		case err != nil:
			return err
		default:
			s.shown(FromServer)(m.Raw)
			s.serverMessage(ctx, way, m)
		}
	}
}

// noise is what a server says that is no message. When it was meant as an answer, which cannot be
// passed on, the request fails: nobody is to wait for what has come already.
func (s *Session) noise(way *link, bad *protocol.LineError) {
	s.Logger.Warn("dropped a line that is no message", "server", s.Server.Name, "err", bad)
	id := meantFor(bad)
	if errors.Is(bad, protocol.ErrTooLong) && id == "" {
		id = way.only()
	}
	m, err := protocol.Parse(protocol.NewError(id, protocol.CodeInternal, "the server's answer was refused: "+bad.Error()))
	if err == nil && id != "" {
		way.deliver(m)
	}
}

// meantFor is the request that a line was an answer to, as far as that can be told.
func meantFor(bad *protocol.LineError) protocol.ID {
	var p *protocol.ParseError
	if errors.As(bad, &p) && !p.Request {
		return p.ID
	}
	return bad.ID
}

func (s *Session) serverMessage(ctx context.Context, way *link, m protocol.Message) {
	switch m.Kind {
	case protocol.Batch:
		s.serverBatch(ctx, way, m)
	case protocol.Response:
		if !way.deliver(m) {
			s.Logger.Warn("dropped an answer to no request", "server", s.Server.Name)
		}
	case protocol.Request:
		s.serverAsks(way, m)
	case protocol.Notification:
		s.serverNotifies(ctx, way, m)
	}
}

// serverBatch takes a server's batch apart, whatever the revision: its client need not know.
func (s *Session) serverBatch(ctx context.Context, way *link, m protocol.Message) {
	s.Logger.Info("took a server's batch apart", "server", s.Server.Name)
	all, errs, err := m.Batch()
	if err != nil {
		s.noise(way, &protocol.LineError{Err: err})
		return
	}
	for i, one := range all {
		if errs[i] != nil {
			s.noise(way, &protocol.LineError{Err: errs[i]})
			continue
		}
		s.serverMessage(ctx, way, one)
	}
}

// serverAsks passes a server's request on to the client, under an id of ours, if the client has
// declared that it answers such. Modern servers have no business asking.
func (s *Session) serverAsks(way *link, m protocol.Message) {
	why := s.mayNotAsk(m.Method)
	if errors.Is(why, errModernAsks) {
		s.Logger.Warn("dropped a request of a modern server's", "server", s.Server.Name, "method", bounded(m.Method))
		return
	}
	if why != nil {
		s.noted(m.Method, []string{"not asked: " + why.Error()})
		s.answerServer(way, protocol.NewError(m.ID, protocol.CodeNoMethod, why.Error()))
		return
	}
	m, err := s.asks(m)
	if err != nil {
		s.refuseAsked(way, m, err)
		return
	}
	s.mu.Lock()
	full := len(s.asked) >= maxAsked
	s.askedNo++
	id := protocol.ID(protocol.Quote(fmt.Sprintf("garita-%d", s.askedNo)))
	if !full {
		s.asked[id] = askedOf{way, m.ID}
	}
	s.mu.Unlock()
	if full {
		s.answerServer(way, protocol.NewError(m.ID, protocol.CodeInternal, "too many requests wait for the client"))
		return
	}
	s.say(m.WithID(id).Raw)
}

// refuseAsked answers what a server may not ask in this way, as a client would that declines.
func (s *Session) refuseAsked(way *link, m protocol.Message, why error) {
	s.noted(m.Method, []string{"not asked: " + why.Error()})
	s.answerServer(way, protocol.NewError(m.ID, protocol.CodeInvalidParams, "garita does not pass this on: "+why.Error()))
}

func (s *Session) answerServer(way *link, raw []byte) {
	if err := way.reply(raw); err != nil {
		s.Logger.Debug("an answer did not reach the server", "server", s.Server.Name, "err", err)
	}
}

// errModernAsks is why a modern server may not ask.
var errModernAsks = errors.New("servers send no requests in this revision")

// mayNotAsk says why the client is not to be asked, nil when it is.
func (s *Session) mayNotAsk(method string) error {
	capability, _, _ := strings.Cut(method, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.hello.era == protocol.ModernEra:
		return errModernAsks
	case method == protocol.MethodPing:
		return nil
	case s.denies(capability):
		return fmt.Errorf("garita's settings for %s do not let it ask its client for %s", s.Server.Name, capability)
	case !s.hello.declared[capability]:
		return fmt.Errorf("the client has not declared that it answers %s", method)
	}
	return nil
}

// denies says whether the server's owner forbids it to ask for a thing. Sampling is forbidden where
// nobody has allowed it: the server's words would be the client's model's, at the person's expense.
func (s *Session) denies(capability string) bool {
	if capability == string(sandbox.Sampling) && !slices.Contains(s.Server.Spec.AllowRequests, sandbox.Sampling) {
		return true
	}
	for _, d := range s.Server.Spec.DenyRequests {
		if d == sandbox.ServerRequest(capability) {
			return true
		}
	}
	return false
}

// answeredByClient passes the answer to a server's request back, under the server's own id.
func (s *Session) answeredByClient(m protocol.Message) {
	s.mu.Lock()
	a, ok := s.asked[m.ID]
	delete(s.asked, m.ID)
	s.mu.Unlock()
	if !ok {
		s.Logger.Warn("dropped a client's answer to no request", "server", s.Server.Name)
		return
	}
	s.answerServer(a.way, m.WithID(a.id).Raw)
}

// serverNotifies passes a notification on, with what it names by an id put into the client's words.
func (s *Session) serverNotifies(ctx context.Context, way *link, m protocol.Message) {
	switch m.Method {
	case protocol.MethodToolsChange:
		s.toolsChanged(ctx, way, s.renamed(way, m))
		return
	case protocol.MethodCancelled:
		m = s.renamedCancel(way, m)
	default:
		m = s.renamed(way, m)
	}
	if m.Raw != nil && !s.hidden(m.Method) {
		s.say(s.passed(m.Method, m).Raw)
	}
}

// renamed names the subscription a message belongs to as the client does.
func (s *Session) renamed(way *link, m protocol.Message) protocol.Message {
	if s.era() != protocol.ModernEra {
		return m
	}
	meta, err := protocol.Meta(m.Params)
	if err != nil || meta[protocol.MetaSubscription] == nil {
		return m
	}
	id := way.theirs(protocol.ID(meta[protocol.MetaSubscription]))
	if id == "" {
		return protocol.Message{} // of a subscription that is over
	}
	return withSubscription(m, id)
}

// renamedCancel is a server's cancellation of its own request, or of a subscription.
func (s *Session) renamedCancel(way *link, m protocol.Message) protocol.Message {
	theirs := protocol.Cancelled(m.Params)
	id := protocol.ID("")
	s.mu.Lock()
	for client, a := range s.asked {
		if a.way == way && a.id == theirs {
			id = client
			delete(s.asked, client)
		}
	}
	modern := s.hello.era == protocol.ModernEra
	s.mu.Unlock()
	if modern {
		id = way.theirs(theirs)
	}
	if id == "" {
		return protocol.Message{}
	}
	params, err := protocol.With(m.Params, "requestId", jsontext.Value(id))
	if err != nil {
		return protocol.Message{}
	}
	return m.WithBody(params)
}

func (s *Session) era() protocol.Era {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hello.era
}
