package bridge

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// modernAsk is what a legacy client was asked for a modern server: its answer is one of the
// inputResponses of the call's repetition.
type modernAsk struct {
	call   *modernCall
	key    string // in inputRequests and inputResponses
	method string
}

// questions puts the server's inputRequests to the client, all of them or none.
func (t *toModern) questions(c *modernCall, result jsontext.Value) {
	m := members(result, "inputRequests", "requestState")
	requests := members(m["inputRequests"])
	c.at, c.state, c.answers = "", m["requestState"].Clone(), map[string]jsontext.Value{}
	t.hold(c, len(c.sent.Raw)+len(c.state)-c.kept)
	c.rounds++
	switch {
	case t.held > t.o.Bytes && len(c.state) > 0:
		t.fail(c, "the server's requestState is too large to be kept")
	case c.rounds > t.o.Rounds:
		t.fail(c, fmt.Sprintf("the server asked for more and more, %d times", t.o.Rounds))
	case c.state != nil && c.state.Kind() != '"', c.state == nil && len(requests) == 0:
		t.fail(c, "the server asks for input, and neither for what nor for which call")
	case len(requests) == 0:
		t.repeat(c)
	case len(t.asked)+len(requests) > t.o.Questions:
		t.fail(c, "the server asks too many questions at once")
	default:
		t.put(c, requests)
	}
}

func (t *toModern) put(c *modernCall, requests map[string]jsontext.Value) {
	asks := make([]question, 0, len(requests))
	for _, key := range names(requests) {
		r := members(requests[key], "method", "params")
		q := question{protocol.Text(r["method"]), r["params"]}
		if !q.declaredIn(t.capabilities) {
			t.fail(c, fmt.Sprintf("the server needs %s for this, which the client does not support", q.name()))
			return
		}
		asks = append(asks, q)
	}
	for i, key := range names(requests) {
		t.putOne(c, key, asks[i])
	}
}

func (t *toModern) putOne(c *modernCall, key string, q question) {
	if q.byURL() && at(q.params, "elicitationId") == nil { // 2025-11-25 requires one
		id := unguessable()
		if params, err := protocol.Edit(q.params, setText("elicitationId", id)); err == nil {
			q.params = params
			c.urls = append(c.urls, id)
		}
	}
	id := t.newID()
	c.open = append(c.open, id)
	t.asked[id] = modernAsk{c, key, q.method}
	t.say(protocol.NewRequest(id, q.method, q.params))
}

// clientAnswers takes one answer; the last one of a round repeats the call.
func (t *toModern) clientAnswers(m protocol.Message) {
	a, ok := t.asked[m.ID]
	if !ok {
		t.log.Debug("an answer to no question was dropped")
		return
	}
	delete(t.asked, m.ID)
	c := a.call
	c.open = slices.DeleteFunc(c.open, func(id protocol.ID) bool { return id == m.ID })
	switch {
	case isObject(m.Result) && t.held+len(m.Result) > t.o.Bytes:
		t.fail(c, "the client's answers are too large to be kept")
		return
	case isObject(m.Result):
		c.answers[a.key] = m.Result
		t.hold(c, len(m.Result))
	case a.method == methodElicit:
		c.answers[a.key] = jsontext.Value(`{"action":"cancel"}`)
	default:
		t.fail(c, fmt.Sprintf("the client answered the server's %s with an error: %s", a.method, protocol.Text(members(m.Error)["message"])))
		return
	}
	if len(c.open) == 0 {
		t.repeat(c)
	}
}

// repeat calls again with the client's answers and the server's state.
func (t *toModern) repeat(c *modernCall) {
	more := []protocol.Member{set("requestState", c.state)}
	if len(c.answers) > 0 {
		more = append(more, set("inputResponses", objectOf(c.answers)))
	}
	params, err := protocol.Edit(c.sent.Params, more...)
	if err != nil {
		t.fail(c, "the call cannot be repeated: "+err.Error())
		return
	}
	c.answers = nil
	t.sendCall(c, c.sent.WithBody(params))
}

// takeBack ends the questions of a call that nobody waits for any more.
func (t *toModern) takeBack(c *modernCall) {
	for _, id := range c.open {
		delete(t.asked, id)
		t.say(protocol.NewCancelled(id, "the call it belongs to has ended"))
	}
	c.open = nil
}

// legacyTools is the tools without an outputSchema that is not of an object: up to 2025-11-25 there
// is none, and clients refuse the whole list for it.
func legacyTools(list jsontext.Value) (jsontext.Value, error) {
	tools := elements(list) // whatever else it is, it is the client's to judge
	changed := false
	for i, tool := range tools {
		schema := at(tool, "outputSchema")
		if schema == nil || protocol.Text(at(schema, "type")) == "object" {
			continue
		}
		without, err := protocol.Edit(tool, drop("outputSchema"))
		if err != nil {
			return nil, err
		}
		tools[i], changed = without, true
	}
	if !changed {
		return list, nil
	}
	return arrayOf(tools), nil
}
