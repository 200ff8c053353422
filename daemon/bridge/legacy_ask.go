package bridge

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// legacyAsk is a question of a legacy server: a request of its own that waits for an answer, or, with
// no id, a page that it wants opened before the call is repeated (-32042).
type legacyAsk struct {
	id  protocol.ID // the server's
	key string      // in inputRequests and inputResponses
	q   question

	kept int // bytes of it that count as held
}

// serverAsks answers a server's request, or makes it a question of one of the client's calls.
func (t *toLegacy) serverAsks(m protocol.Message) {
	q := question{m.Method, m.Params}
	switch {
	case m.Method == protocol.MethodPing:
		t.send(protocol.NewResult(m.ID, emptyObject))
		return
	case q.needs() == nil:
		t.send(protocol.NewError(m.ID, protocol.CodeNoMethod, "the client has no "+m.Method))
		return
	case !isObject(object(m.Params)):
		t.send(protocol.NewError(m.ID, protocol.CodeInvalidParams, "params is not an object"))
		return
	case t.questions[m.ID] != nil:
		t.log.Debug("a request under the id of one that is not answered yet was dropped", "call", m.Method)
		return
	case len(t.askers) == 0:
		t.send(protocol.NewError(m.ID, protocol.CodeNoMethod, m.Method+" is possible during tools/call, prompts/get and resources/read alone"))
		return
	}
	a := &legacyAsk{id: m.ID, q: q, key: m.Method + "-" + string(t.newID())}
	if len(t.questions) >= t.o.Questions || t.held+len(m.Raw) > t.o.Bytes {
		t.decline(a)
		return
	}
	t.questions[a.id] = a
	a.kept = len(m.Raw)
	t.held += a.kept
	t.assign(a)
}

// assign gives a question to a call, or declines it when there is none that can take it.
func (t *toLegacy) assign(a *legacyAsk) {
	c := t.asker(a.q)
	if c == nil {
		t.decline(a)
		return
	}
	c.asks = append(c.asks, a)
	if c.state == "" {
		t.suspend(c)
	}
}

// asker is the call that a question is taken to belong to; a legacy server does not say. It is the
// oldest one that waits for the server and whose client declared the capability: exact for a server
// that does one thing at a time. A wrong guess costs little: the answer goes to the server under
// the id it asked with, and only the other call has to be fetched again. Calls that have asked
// half of what they may come later, and suspended ones last.
func (t *toLegacy) asker(q question) *legacyCall {
	var best *legacyCall
	for _, c := range t.askers {
		if c.at != "" && q.declaredIn(c.capabilities) && (best == nil || t.burden(c) < t.burden(best)) {
			best = c
		}
	}
	return best
}

// burden orders the calls that a question may belong to, the least burdened first.
func (t *toLegacy) burden(c *legacyCall) int {
	rounds := max(0, c.rounds-t.o.Rounds/2)
	if c.state != "" {
		return t.o.Rounds + 1 + rounds
	}
	return rounds
}

// decline answers a question that is put to nobody.
func (t *toLegacy) decline(a *legacyAsk) {
	t.close(a)
	switch {
	case a.id == "":
	case a.q.method == methodElicit && slices.Contains(t.handshake.told, "elicitation"):
		t.send(protocol.NewResult(a.id, jsontext.Value(`{"action":"decline"}`)))
	default:
		t.send(protocol.NewError(a.id, protocol.CodeNoMethod, "the client does not support "+a.q.method+" here"))
	}
}

// close is the end of a question, however it ended.
func (t *toLegacy) close(a *legacyAsk) {
	delete(t.questions, a.id)
	t.held -= a.kept
	a.kept = 0
}

// suspend answers a call with what the server asks for it: the client is to call again.
func (t *toLegacy) suspend(c *legacyCall) {
	c.rounds++
	switch {
	case c.rounds > t.o.Rounds:
		t.fail(c, fmt.Sprintf("the server asked for more and more, %d times", t.o.Rounds))
		return
	case len(t.suspended) >= t.o.Suspended:
		t.fail(c, "too many calls wait for the client to answer their questions")
		return
	}
	result, err := t.inputRequired(c)
	if err == nil && c.rounds == 1 {
		c.digest, err = digest(c.method, c.sent.Params)
	}
	if err != nil {
		t.fail(c, "the server's question cannot be passed on: "+err.Error())
		return
	}
	state := unguessable()
	c.state = state
	t.suspended[state] = c
	c.expiry = t.after(t.o.SuspendedFor, func() { t.expire(state) })
	result, _ = protocol.Edit(result, setText("requestState", state)) // of an object
	id := c.id
	delete(t.calls, id)
	c.id = ""
	t.say(protocol.NewResult(id, result))
}

func (t *toLegacy) inputRequired(c *legacyCall) (jsontext.Value, error) {
	requests := map[string]jsontext.Value{}
	for _, a := range c.asks {
		params, err := protocol.Edit(object(a.q.params), drop("task"), drop("elicitationId")) // clients want some
		if err != nil {
			return nil, err
		}
		requests[a.key], _ = protocol.Edit(nil, setText("method", a.q.method), set("params", params)) // of an object
	}
	return editMeta(emptyObject, []protocol.Member{set(protocol.MetaServerInfo, t.serverInfo)},
		setText("resultType", "input_required"), set("inputRequests", objectOf(requests)))
}

// wake makes a call one that is not suspended any more.
func (t *toLegacy) wake(c *legacyCall) {
	if c.state == "" {
		return
	}
	delete(t.suspended, c.state)
	c.state = ""
	c.expiry.Stop()
}

// expire gives up a call that the client did not come back to.
func (t *toLegacy) expire(state string) {
	c := t.suspended[state]
	if c == nil { // it came back meanwhile
		return
	}
	t.log.Warn("a call was given up: its client did not come back", "call", c.method)
	for _, a := range c.asks {
		t.decline(a)
	}
	c.asks = nil
	if c.at != "" {
		t.send(protocol.NewCancelled(c.at, "the client did not come back with the answer"))
	}
	t.forget(c)
}

// resume is the client's call again, with its answers.
func (t *toLegacy) resume(m protocol.Message, who said) {
	p := members(m.Params, "inputResponses", "requestState")
	c := t.suspended[protocol.Text(p["requestState"])]
	if c == nil {
		t.refuse(m.ID, protocol.CodeInvalidParams, "there is no call with this requestState (any more); call without it")
		return
	}
	same, err := digest(m.Method, m.Params)
	answers := members(p["inputResponses"])
	switch {
	case err != nil || same != c.digest:
		t.refuse(m.ID, protocol.CodeInvalidParams, "the requestState is of another call")
		return
	case slices.ContainsFunc(c.asks, func(a *legacyAsk) bool { return answers[a.key] != nil && !isObject(answers[a.key]) }):
		t.refuse(m.ID, protocol.CodeInvalidParams, "one of inputResponses is not an object")
		return
	}
	kept := c.answer
	t.wake(c)
	c.answer = nil
	c.id, c.capabilities, c.level, c.token = m.ID, who.capabilities, who.level, who.token
	t.hold(c, len(c.sent.Raw)+len(c.capabilities)+len(c.token)-c.kept)
	t.calls[c.id] = c
	t.tellLevel()
	pages, refused := t.answerAsks(c, answers)
	switch {
	case kept != nil:
		t.answerKept(c, *kept)
	case len(c.asks) > 0:
		t.suspend(c)
	case refused:
		t.fail(c, "the page that the server asked for was not opened")
	case pages > 0:
		t.sendCall(c, c.sent)
	}
}

// answerKept gives the client what the server has answered meanwhile. A question that is open
// nevertheless was of another call.
func (t *toLegacy) answerKept(c *legacyCall, m protocol.Message) {
	open := c.asks
	c.asks = nil
	t.answerCall(c, m)
	for _, a := range open {
		if t.questions[a.id] == a {
			t.assign(a)
		}
	}
}

// answerAsks gives the server the client's answers; those that it did not give stay open. It tells
// how many were of pages to open, and whether one of them was not opened.
func (t *toLegacy) answerAsks(c *legacyCall, answers map[string]jsontext.Value) (pages int, refused bool) {
	c.asks = slices.DeleteFunc(c.asks, func(a *legacyAsk) bool {
		answer := answers[a.key]
		switch {
		case answer == nil && !a.q.declaredIn(c.capabilities): // not any more
			t.decline(a)
			refused = refused || a.id == ""
			return true
		case answer == nil:
			return false
		case a.id == "":
			t.close(a)
			pages++
			refused = refused || protocol.Text(members(answer)["action"]) != "accept"
			return true
		}
		t.close(a)
		if plain, err := protocol.Edit(answer, drop("resultType")); err == nil {
			answer = plain
		}
		t.send(protocol.NewResult(a.id, answer))
		return true
	})
	return pages, refused
}

// serverWithdraws takes back a question that the server does not wait for any more.
func (t *toLegacy) serverWithdraws(id protocol.ID) {
	a := t.questions[id]
	if a == nil {
		return
	}
	t.close(a)
	for _, c := range t.askers {
		c.asks = slices.DeleteFunc(c.asks, func(other *legacyAsk) bool { return other == a })
	}
}

// urlRequired makes the error -32042, which the modern era does not have, a question: the pages it
// names are to be opened, and the call is repeated. It reports whether the call has been answered.
func (t *toLegacy) urlRequired(c *legacyCall, object jsontext.Value) bool {
	pages := elements(at(object, "data", "elicitations"))
	if len(pages) == 0 || len(pages) > t.o.Questions {
		return false
	}
	asks := make([]*legacyAsk, len(pages))
	for i, page := range pages {
		q := question{methodElicit, page}
		if !q.byURL() {
			return false
		}
		if !q.declaredIn(c.capabilities) {
			id := c.id
			t.forget(c)
			t.say(newErrorWith(id, protocol.CodeMissingCapability, "the server needs the person to open a page, and the client does not support elicitation by URL",
				set("requiredCapabilities", q.required())))
			return true
		}
		asks[i] = &legacyAsk{q: q, key: methodElicit + "-" + strconv.Itoa(i), kept: len(page)}
	}
	for _, a := range asks {
		t.held += a.kept
	}
	c.asks = append(c.asks, asks...)
	t.suspend(c)
	return true
}
