package gateway

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/redact"
	"github.com/garita-dev/garita/daemon/sanitize"
)

// Results is what is done with what a server returns. The zero Results takes out tokens that show by
// their shape, and what has no place in text.
type Results struct {
	// Redactor knows the secrets the server was granted. It is asked for each message; nil, or one
	// that is nil, knows none.
	Redactor func() *redact.Redactor
	// Limit is how much of one tool's result is passed on, in bytes; of a longer one its beginning
	// is. 0 is no limit.
	Limit int64
	// Keep keeps a result that is too long, for the person, and says where it is. Optional.
	Keep func(id approvals.CallID, result []byte) (where string, err error)
	// Spotlight frames the texts of results for the model.
	Spotlight bool
	// Granted says whether the server may reach a host; nil is none.
	Granted func(host string) bool
	// Doubt is shared by the sessions of one agent, which may read at one server what it does at
	// another. Nil is the session's own.
	Doubt *Doubt
	// Noted is told what was found outside of a call, and what the server may not ask its client, each
	// once a session. Optional. It may be called by several at once.
	Noted func(method string, findings []string)
}

// Doubt is whether an agent may be acting on somebody else's words. It is safe for concurrent use.
type Doubt struct {
	mu    sync.Mutex
	why   string
	until time.Time
}

// doubtful is how long after a result that reads like instructions the agent's writes are asked about.
const doubtful = 15 * time.Minute

// Raise notes a result that reads like instructions, in one clause.
func (d *Doubt) Raise(why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.why, d.until = why, time.Now().Add(doubtful)
}

// Why is the doubt there is, "" when there is none.
func (d *Doubt) Why() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.why == "" || time.Now().After(d.until) {
		return ""
	}
	return d.why
}

// Settle ends the doubt: a person has seen what the agent does.
func (d *Doubt) Settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.why = ""
}

// clean is an answer to a call as the client gets it, and what was found in it: secrets are taken
// out, what would act is made inert, what is too long is kept, what speaks to the model is labeled.
func (s *Session) clean(call approvals.Call, a answer) (answer, []string) {
	if a.message.Raw == nil {
		return a, nil // words of our own
	}
	c := s.cleanse(s.body(a.message))
	if a.message.Result != nil {
		s.shaped(call.Tool, &c)
		s.fit(call.ID, &c)
		c.body = sanitize.Label(c.body, string(s.Server.Name), c.findings, c.instructions != "")
		if s.Results.Spotlight {
			c.body = sanitize.Spotlight(c.body, string(s.Server.Name), rand.Text()[:8])
		}
	}
	if c.instructions != "" {
		s.doubt().Raise(fmt.Sprintf("A moment ago a result of %s (%s) read like instructions to the agent: %q", call.Tool, s.Server.Name, c.instructions))
	}
	a.message = withBody(a.message, c.body)
	return a, c.findings
}

// cleansed is a message's body as it may go on.
type cleansed struct {
	body         jsontext.Value
	findings     []string
	instructions string // the server's words that read like some
}

// cleanse takes out secrets, then what has no place in text.
func (s *Session) cleanse(body jsontext.Value) cleansed {
	body, secrets := s.redactor().JSON(body)
	body, found := sanitize.Value(body, s.may())
	c := cleansed{body: body}
	for _, f := range secrets {
		c.findings = append(c.findings, f.String())
	}
	for _, f := range found {
		c.findings = append(c.findings, f.String())
		if f.Kind == sanitize.Instructions {
			c.instructions = f.Detail
		}
	}
	return c
}

func (s *Session) redactor() *redact.Redactor {
	if s.Results.Redactor == nil {
		return nil
	}
	return s.Results.Redactor()
}

// may is what the server may link to.
func (s *Session) may() sanitize.Options {
	return sanitize.Options{Server: string(s.Server.Name), Folders: s.Server.Spec.Folders, Granted: s.Results.Granted}
}

func (s *Session) doubt() *Doubt {
	if s.Results.Doubt != nil {
		return s.Results.Doubt
	}
	return &s.own
}

// shaped compares structured content with the output schema that the tool has.
func (s *Session) shaped(name string, c *cleansed) {
	s.mu.Lock()
	t := s.tools.known[name]
	s.mu.Unlock()
	if t.shape == nil {
		return
	}
	members, err := protocol.Members(c.body)
	if err != nil || members["structuredContent"] == nil || string(members["isError"]) == "true" {
		return
	}
	shape, err := t.shape()
	if err != nil {
		c.findings = append(c.findings, "the structured content was not checked: "+bounded(err.Error()))
		return
	}
	if shape == nil {
		return
	}
	if wrong := shape.Check(members["structuredContent"]); wrong != "" {
		c.findings = append(c.findings, sanitize.Finding{Kind: sanitize.Schema, Count: 1, Detail: wrong}.String())
	}
}

// shapeOf is a tool's output schema, read when a result is first compared with it; nil without one.
func shapeOf(d protocol.ToolDefinition) func() (*sanitize.Shape, error) {
	members, err := protocol.Members(d.Raw)
	schema := members["outputSchema"]
	if err != nil || schema == nil {
		return nil
	}
	return sync.OnceValues(func() (*sanitize.Shape, error) { return sanitize.NewShape(schema) })
}

// fit keeps a result that is too long, and puts its beginning in its place.
func (s *Session) fit(id approvals.CallID, c *cleansed) {
	limit := s.Results.Limit
	if limit <= 0 || int64(len(c.body)) <= limit {
		return
	}
	size, where := len(c.body), "It was not kept."
	if s.Results.Keep != nil {
		at, err := s.Results.Keep(id, c.body)
		if err != nil {
			s.Logger.Error("a result that is too long could not be kept", "server", s.Server.Name, "call", id, "err", err)
		} else {
			where = "The whole of it is kept for the person: " + at + "."
		}
	}
	c.body = sanitize.Shorten(c.body, limit, where)
	c.findings = append(c.findings, sanitize.Finding{Kind: sanitize.Size, Count: 1, Detail: fmt.Sprintf("%d bytes. %s", size, where)}.String())
}

// passed is a message of the server's that is no answer to a call, as it may go on.
func (s *Session) passed(method string, m protocol.Message) protocol.Message {
	body := s.body(m)
	if body == nil || quiet[method] {
		return m
	}
	if listings[method] { // what a model reads of these was accepted as it stands
		now, secrets := s.redactor().JSON(body)
		s.noted(method, texts(secrets))
		return withBody(m, now)
	}
	c := s.cleanse(body)
	if c.instructions != "" && m.Kind == protocol.Response {
		s.doubt().Raise(fmt.Sprintf("A moment ago an answer of %s (%s) read like instructions to the agent: %q", s.Server.Name, bounded(method), c.instructions))
	}
	if m.Result != nil && len(c.findings) > 0 {
		c.body = sanitize.Label(c.body, string(s.Server.Name), c.findings, c.instructions != "")
	}
	s.noted(method, c.findings)
	return withBody(m, c.body)
}

// quiet are methods whose messages hold no text of a server's.
var quiet = map[string]bool{protocol.MethodPing: true, protocol.MethodCancelled: true, protocol.MethodToolsChange: true}

// listings are methods whose answers are accepted by a person, as they stand: only secrets go.
var listings = map[string]bool{
	protocol.MethodToolsList: true, methodPrompts: true, methodResources: true, methodTemplates: true,
	protocol.MethodInitialize: true, protocol.MethodDiscover: true,
}

func texts(found []redact.Finding) []string {
	var all []string
	for _, f := range found {
		all = append(all, f.String())
	}
	return all
}

func (s *Session) noted(method string, findings []string) {
	if len(findings) == 0 || !s.first(method+"\x00"+strings.Join(findings, "\x00")) {
		return
	}
	s.Logger.Warn("something was found in what a server sent", "server", s.Server.Name, "session", s.ID, "method", bounded(method), "err", strings.Join(findings, "; "))
	if s.Results.Noted != nil {
		s.Results.Noted(bounded(method), findings)
	}
}

// maxNoted bounds what a session notes: a server could fill the record with it.
const maxNoted = 200

// first says whether something is noted for the first time, and still is.
func (s *Session) first(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notes[what] || len(s.notes) >= maxNoted {
		return false
	}
	if s.notes == nil {
		s.notes = map[string]bool{}
	}
	s.notes[what] = true
	return true
}

// body is what a message carries: its result, error or params.
func (s *Session) body(m protocol.Message) jsontext.Value {
	switch {
	case m.Result != nil:
		return m.Result
	case m.Error != nil:
		return m.Error
	}
	return m.Params
}

// withBody leaves a message whose body has not changed as it is.
func withBody(m protocol.Message, body jsontext.Value) protocol.Message {
	for _, now := range []jsontext.Value{m.Params, m.Result, m.Error} {
		if len(now) > 0 && len(body) == len(now) && &body[0] == &now[0] {
			return m
		}
	}
	if body == nil {
		return m
	}
	return m.WithBody(body)
}

// asks judges what a server asks of its client: the message as it may go on, or why it may not.
func (s *Session) asks(m protocol.Message) (protocol.Message, error) {
	params, found, err := sanitize.Ask(m.Method, m.Params, s.may())
	if err != nil {
		return m, err
	}
	var findings []string
	for _, f := range found {
		findings = append(findings, f.String())
	}
	params, secrets := s.redactor().JSON(params)
	s.noted(m.Method, append(findings, texts(secrets)...))
	return withBody(m, params), nil
}

// askedIn is a result of a modern server's that asks its client, with each question as it may go on.
// The error says why one may not be asked.
func (s *Session) askedIn(result jsontext.Value) (jsontext.Value, error) {
	members, err := protocol.Members(result)
	if err != nil || members["inputRequests"] == nil {
		return result, err
	}
	questions, err := protocol.Members(members["inputRequests"])
	if err != nil {
		return result, err
	}
	var changed []protocol.Member
	for name, q := range questions {
		parts, err := protocol.Members(q, "method", "params")
		if err != nil {
			return result, err
		}
		params, _, err := sanitize.Ask(protocol.Text(parts["method"]), parts["params"], s.may())
		if err != nil {
			return result, err
		}
		if !slices.Equal(params, parts["params"]) {
			now, err := protocol.Edit(q, protocol.Member{Name: "params", Value: params})
			if err != nil {
				return result, err
			}
			changed = append(changed, protocol.Member{Name: name, Value: now})
		}
	}
	if changed == nil {
		return result, nil
	}
	all, err := protocol.Edit(members["inputRequests"], changed...)
	if err != nil {
		return result, err
	}
	return protocol.Edit(result, protocol.Member{Name: "inputRequests", Value: all})
}

// withQuestions is an answer to a call with the questions in it as they may go on; forbidden has
// looked at them.
func (s *Session) withQuestions(m protocol.Message) protocol.Message {
	members, err := protocol.Members(m.Result, "resultType")
	if err != nil || protocol.Text(members["resultType"]) != inputRequired {
		return m
	}
	result, err := s.askedIn(m.Result)
	if err != nil {
		return m
	}
	return withBody(m, result)
}

// asksOf is the answer to a request that is no call, or an error in its place when it asks the client
// for what it may not be asked.
func (s *Session) asksOf(req, m protocol.Message) protocol.Message {
	why := s.forbidden(req, m.Result)
	if err := s.badPage(m.Error); err != nil {
		why = "a page to be opened (" + err.Error() + ")"
	}
	if why == "" {
		return s.withQuestions(m)
	}
	s.noted(req.Method, []string{"not asked: " + why})
	now, err := protocol.Parse(protocol.NewError(m.ID, protocol.CodeInternal, "garita does not pass this answer on: the server asks for "+why+", which it may not"))
	if err != nil {
		return m
	}
	return now
}

// codePageRequired is the error by which a server says that a person must open a page first.
const codePageRequired = "-32042"

// badPage says why a page that an error asks to be opened may not be, nil when it asks for none.
func (s *Session) badPage(object jsontext.Value) error {
	members, err := protocol.Members(object, "code", "data")
	if object == nil || err != nil || string(members["code"]) != codePageRequired {
		return nil
	}
	data, err := protocol.Members(members["data"], "elicitations")
	if err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	var pages []jsontext.Value
	if err := json.Unmarshal(data["elicitations"], &pages); err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	for _, p := range pages {
		if _, _, err := sanitize.Ask("elicitation/create", p, s.may()); err != nil {
			return err
		}
	}
	return nil
}

// redacted is a text for the record without secrets.
func (s *Session) redacted(text string) string {
	if text == "" {
		return ""
	}
	return sanitize.Text(s.redactor().Log(text))
}

// shownTo ends the doubt about what the agent does, once a person has seen it with the question.
func (s *Session) shownTo(call approvals.Call, d approvals.Decision) {
	if call.Doubt != "" && d.ByPerson() {
		s.doubt().Settle()
	}
}
