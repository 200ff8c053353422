package gateway

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/sanitize"
	"github.com/garita-dev/garita/sandbox"
)

const (
	// maxResumed bounds the calls that wait for their client to answer the server's question.
	maxResumed = 100
	// resumable is how long such a call may be taken up again.
	resumable = 30 * time.Minute
)

// resumption is an allowed call that a modern server has interrupted to ask its client something.
// The client takes it up by making the same call with the answers and the server's request state.
type resumption struct {
	call  approvals.CallID
	until time.Time
}

// resumeKey names an interrupted call: exactly this call, whatever has been answered so far, and exactly this state.
func resumeKey(call approvals.Call, state jsontext.Value) string {
	return string(call.Bare().Binding()) + "\x00" + protocol.Text(state)
}

// noteInterrupted remembers that a call which was let through has been interrupted by the server.
func (s *Session) noteInterrupted(call approvals.Call, result jsontext.Value) {
	members, err := protocol.Members(result, "resultType", "requestState", "inputRequests")
	if err != nil || protocol.Text(members["resultType"]) != inputRequired {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for key, r := range s.resumed {
		if now.After(r.until) {
			delete(s.resumed, key)
		}
	}
	if len(s.resumed) < maxResumed {
		s.resumed[resumeKey(call, members["requestState"])] = resumption{call.ID, now.Add(resumable)}
	}
}

// inputRequired is the resultType by which a modern server asks its client something.
const inputRequired = "input_required"

// continues is the interrupted call that a call takes up, "" when it takes up none: then it is
// judged like any other. Each interruption is taken up once.
func (s *Session) continues(call approvals.Call) approvals.CallID {
	if call.Input == nil && call.State == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := resumeKey(call, call.State)
	r, ok := s.resumed[key]
	delete(s.resumed, key)
	if !ok || time.Now().After(r.until) {
		return ""
	}
	return r.call
}

// forbidden says what a result asks of the client that it may not be asked, "" when that is nothing.
func (s *Session) forbidden(req protocol.Message, result jsontext.Value) string {
	members, err := protocol.Members(result)
	if err != nil || protocol.Text(members["resultType"]) != inputRequired {
		return ""
	}
	var asked map[string]jsontext.Value
	if err := json.Unmarshal(members["inputRequests"], &asked); members["inputRequests"] != nil && err != nil {
		return "questions that cannot be read"
	}
	meta, _ := protocol.Meta(req.Params)
	declared, _ := protocol.Members(meta[protocol.MetaCapabilities])
	for _, question := range asked {
		q, _ := protocol.Members(question, "method", "params")
		method := protocol.Text(q["method"])
		capability, _, _ := strings.Cut(method, "/")
		if declared[capability] == nil || s.denies(capability) {
			return fmt.Sprintf("%q", bounded(method))
		}
		if _, _, err := sanitize.Ask(method, q["params"], s.may()); err != nil {
			return fmt.Sprintf("%q (%v)", bounded(method), err)
		}
	}
	return ""
}

// permitted is a request without the capabilities that are kept from the server; one that declares
// none of them keeps its bytes.
func (s *Session) permitted(m protocol.Message) protocol.Message {
	if m.Params == nil {
		return m
	}
	params, err := s.less(m)
	if err != nil || params == nil {
		return m
	}
	return m.WithBody(params)
}

// less is the params of a request with fewer capabilities, nil when it has as many as it may.
func (s *Session) less(m protocol.Message) (jsontext.Value, error) {
	if m.Method == protocol.MethodInitialize {
		members, err := protocol.Members(m.Params)
		if now := s.without(members["capabilities"]); err == nil && now != nil {
			return protocol.Edit(m.Params, protocol.Member{Name: "capabilities", Value: now})
		}
		return nil, err
	}
	if s.era() != protocol.ModernEra {
		return nil, nil
	}
	meta, err := protocol.Meta(m.Params)
	if now := s.without(meta[protocol.MetaCapabilities]); err == nil && now != nil {
		return protocol.WithMeta(m.Params, protocol.MetaCapabilities, now)
	}
	return nil, err
}

// without is a client's capabilities but those that are denied, nil when none of them is.
func (s *Session) without(capabilities jsontext.Value) jsontext.Value {
	declared, err := protocol.Members(capabilities)
	if capabilities == nil || err != nil {
		return nil
	}
	var out []protocol.Member
	for _, r := range sandbox.ServerRequests {
		if declared[string(r)] != nil && s.denies(string(r)) {
			out = append(out, protocol.Member{Name: string(r)})
		}
	}
	if out == nil {
		return nil
	}
	less, err := protocol.Edit(capabilities, out...)
	if err != nil {
		return nil
	}
	return less
}
