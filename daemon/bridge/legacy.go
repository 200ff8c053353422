package bridge

import (
	"crypto/sha256"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// toLegacy translates between a modern client and a legacy server.
type toLegacy struct {
	*link
	o Options

	handshake
	logging
	listening

	calls   map[protocol.ID]*legacyCall // that the client waits for, by its id
	waiting []protocol.Message          // what came before the handshake was done

	askers    []*legacyCall              // calls that the server may ask the client for, oldest first
	suspended map[string]*legacyCall     // of these, those the client is to come back to, by requestState
	questions map[protocol.ID]*legacyAsk // what the server asks and has no answer to, by its id
	byToken   map[string]*legacyCall     // calls by the progress token that the server knows
	held      int                        // bytes kept of waiting messages, calls and answers
}

// legacyCall is a request of the client's that the server has not answered, or whose answer the
// client has not fetched yet.
type legacyCall struct {
	id     protocol.ID // the client's, of its latest try; "" while it is suspended
	at     protocol.ID // the server's; "" once it has answered
	method string

	kept int // bytes of it that count as held

	// What the latest try says of the client.
	capabilities jsontext.Value
	level        int // of levels; -1: nothing is to be logged
	token        jsontext.Value

	// Of calls that may be suspended.
	digest    [sha256.Size]byte // of what it calls, since it was suspended first
	sent      protocol.Message  // as the server got it
	toldToken jsontext.Value    // the progress token that the server knows
	rounds    int
	asks      []*legacyAsk // not answered yet, oldest first
	state     string       // the requestState it is suspended under
	expiry    *time.Timer
	answer    *protocol.Message // that came while it was suspended
}

// said is what a modern request says of its client, in _meta.
type said struct {
	capabilities jsontext.Value
	info         jsontext.Value // nil when absent
	level        int            // of levels; -1 when absent
	token        jsontext.Value // nil when absent
}

func newToLegacy(o Options) *toLegacy {
	return &toLegacy{
		o:         o,
		calls:     map[protocol.ID]*legacyCall{},
		suspended: map[string]*legacyCall{},
		questions: map[protocol.ID]*legacyAsk{},
		byToken:   map[string]*legacyCall{},
		logging:   logging{level: -1},
		listening: listening{listens: map[protocol.ID]*listen{}, uris: map[string]*subscribed{}},
	}
}

// ended stops the clocks: there is nobody to give a call up to.
func (t *toLegacy) ended() {
	for _, c := range t.suspended {
		c.expiry.Stop()
	}
}

func (t *toLegacy) fromClient(m protocol.Message) {
	switch {
	case m.Kind == protocol.Response:
		t.log.Debug("a modern client does not answer requests: its answer was dropped")
	case m.Kind == protocol.Notification:
		t.clientNotes(m)
	case t.inFlight(m.ID):
		t.refuse(m.ID, protocol.CodeInvalidRequest, "a request with this id is still in flight")
	default:
		t.clientAsks(m)
	}
}

func (t *toLegacy) inFlight(id protocol.ID) bool {
	return t.calls[id] != nil || t.listens[id] != nil ||
		slices.ContainsFunc(t.waiting, func(m protocol.Message) bool { return m.ID == id })
}

func (t *toLegacy) clientAsks(m protocol.Message) {
	who, refusal := validate(m)
	switch {
	case refusal != nil:
		t.say(refusal)
	case slices.Contains(tasks, m.Method):
		t.refuse(m.ID, protocol.CodeNoMethod, noTasks)
	case slices.Contains(removed, m.Method):
		t.refuse(m.ID, protocol.CodeNoMethod, m.Method+" is not of revision "+string(protocol.V20260728))
	case t.phase == failed:
		t.refuse(m.ID, protocol.CodeInternal, t.why)
	case t.phase != ready:
		t.wait(m)
		t.shake(who)
	case m.Method == protocol.MethodDiscover:
		t.discover(m)
	case m.Method == protocol.MethodListen:
		t.listen(m)
	case slices.Contains(mayAsk, m.Method) && members(m.Params)["requestState"] != nil:
		t.resume(m, who)
	default:
		t.forward(m, who)
	}
}

// removed are the requests that the modern era no longer has.
var removed = []string{protocol.MethodInitialize, protocol.MethodPing, methodSetLevel, methodSubscribe, methodUnsubscribe}

// validate reads what every modern request must say; refusal is the error answer where it does not.
func validate(m protocol.Message) (who said, refusal []byte) {
	bad := func(why string) (said, []byte) {
		return said{}, protocol.NewError(m.ID, protocol.CodeInvalidParams, why)
	}
	meta, err := protocol.Meta(object(m.Params))
	if err != nil {
		return bad("params: " + err.Error())
	}
	who = said{
		capabilities: meta[protocol.MetaCapabilities].Clone(), info: meta[protocol.MetaClientInfo], // a clone lets go of the rest
		level: -1, token: meta["progressToken"].Clone(),
	}
	version := meta[protocol.MetaVersion]
	switch {
	case version == nil || version.Kind() != '"':
		return bad(`_meta has no "` + protocol.MetaVersion + `"`)
	case protocol.Text(version) != string(protocol.V20260728):
		return said{}, unsupportedVersion(m.ID, version)
	case !isObject(who.capabilities):
		return bad(`_meta has no "` + protocol.MetaCapabilities + `"`)
	case who.info != nil && !isObject(who.info):
		return bad(`"` + protocol.MetaClientInfo + `" in _meta is not an object`)
	}
	if level := meta[protocol.MetaLogLevel]; level != nil {
		if who.level = slices.Index(levels, protocol.Text(level)); who.level < 0 {
			return bad(`"` + protocol.MetaLogLevel + `" in _meta is no log level`)
		}
	}
	return who, nil
}

// supported is what a modern client may speak here.
var supported = quoteAll([]string{string(protocol.V20260728)})

func unsupportedVersion(id protocol.ID, requested jsontext.Value) []byte {
	return newErrorWith(id, protocol.CodeUnsupportedVersion, "unsupported protocol version",
		set("supported", supported), set("requested", requested))
}

// forward sends a request on, without what the modern era alone says in one.
func (t *toLegacy) forward(m protocol.Message, who said) {
	again := slices.Contains(mayAsk, m.Method)
	var out []protocol.Member
	if again {
		out = dropAll([]string{"inputResponses", "requestState", "task"})
	}
	params, err := editMeta(object(m.Params), dropAll(modernMeta), out...)
	switch {
	case err != nil:
		t.refuse(m.ID, protocol.CodeInvalidParams, "params: "+err.Error())
		return
	case len(t.calls)+len(t.suspended) >= t.o.Calls, t.held > 0 && t.held+len(params)+len(who.capabilities) > t.o.Bytes:
		t.refuse(m.ID, protocol.CodeInternal, "too much is in flight already; try again when something has been answered")
		return
	}
	c := &legacyCall{id: m.ID, method: m.Method, capabilities: who.capabilities, level: who.level, token: who.token}
	sent := withParams(m, params)
	t.hold(c, len(c.capabilities)+len(c.token))
	if again {
		t.keep(c, sent)
	}
	t.calls[c.id] = c
	t.tellLevel()
	t.whenTold(c, func() { t.sendCall(c, sent) })
}

// keep makes c a call that may be suspended and repeated.
func (t *toLegacy) keep(c *legacyCall, sent protocol.Message) {
	t.askers = append(t.askers, c)
	if c.token != nil {
		c.toldToken = c.token
		t.byToken[string(c.token)] = c
	}
	c.sent = sent
	t.hold(c, len(sent.Raw))
}

// hold counts bytes that a call makes the bridge keep.
func (t *toLegacy) hold(c *legacyCall, n int) {
	c.kept += n
	t.held += n
}

// sendCall gives the call to the server under a new id.
func (t *toLegacy) sendCall(c *legacyCall, m protocol.Message) {
	c.at = t.newID()
	t.ask(c.at, m.WithID(c.at).Raw, func(answer protocol.Message) { t.serverAnswers(c, answer) })
}

// forget is the end of a call, however it ended. What the server still asks for it is declined.
func (t *toLegacy) forget(c *legacyCall) {
	if c.id != "" {
		delete(t.calls, c.id)
	}
	delete(t.awaited, c.at)
	t.wake(c)
	for _, a := range c.asks {
		t.decline(a)
	}
	c.asks = nil
	t.askers = slices.DeleteFunc(t.askers, func(other *legacyCall) bool { return other == c })
	if t.byToken[string(c.toldToken)] == c {
		delete(t.byToken, string(c.toldToken))
	}
	t.hold(c, -c.kept)
	c.sent = protocol.Message{}
}

// serverAnswers keeps the answer for a client that has yet to come back, or passes it on.
func (t *toLegacy) serverAnswers(c *legacyCall, m protocol.Message) {
	c.at = ""
	if c.state == "" {
		t.answerCall(c, m)
		return
	}
	if t.held+len(m.Raw) > t.o.Bytes {
		t.log.Warn("the answer to a suspended call was too large to be kept", "call", c.method)
		m, _ = protocol.Parse(protocol.NewError(m.ID, protocol.CodeInternal, "the server answered before it was asked again, with more than can be kept"))
	}
	t.hold(c, len(m.Raw))
	c.answer = &m
}

// answerCall passes the server's answer on as one of the modern era.
func (t *toLegacy) answerCall(c *legacyCall, m protocol.Message) {
	if m.Error != nil {
		t.answerError(c, m)
		return
	}
	result, err := t.modernResult(c.method, m.Result)
	if err != nil {
		t.fail(c, "the server's answer cannot be read: "+err.Error())
		return
	}
	id := c.id
	t.forget(c)
	t.tell(m.WithBody(result).WithID(id))
}

func (t *toLegacy) answerError(c *legacyCall, m protocol.Message) {
	code := codeOf(m.Error)
	if code == codeURLRequired && slices.Contains(mayAsk, c.method) && t.urlRequired(c, m.Error) {
		return
	}
	id := c.id
	t.forget(c)
	t.tell(withCode(m, modernCode(code, c.method)).WithID(id))
}

// fail ends a call with an error of ours, at the server, too.
func (t *toLegacy) fail(c *legacyCall, why string) {
	id := c.id
	if c.at != "" {
		t.send(protocol.NewCancelled(c.at, why))
	}
	t.forget(c)
	t.refuse(id, protocol.CodeInternal, why)
}

// modernResult is a result with what the modern era requires in it.
func (t *toLegacy) modernResult(method string, result jsontext.Value) (jsontext.Value, error) {
	more := []protocol.Member{setText("resultType", "complete")}
	if slices.Contains(cacheable, method) {
		more = append(more, set("ttlMs", jsontext.Value("0")), setText("cacheScope", "private"))
	}
	return editMeta(result, []protocol.Member{set(protocol.MetaServerInfo, t.serverInfo)}, more...)
}

func (t *toLegacy) clientNotes(m protocol.Message) {
	switch {
	case m.Method == protocol.MethodCancelled:
		t.clientCancels(m)
	case m.Method == protocol.MethodInitialized, m.Method == noteRootsChange:
		// The handshake is ours, and roots are asked for in calls alone.
	case t.phase == ready:
		t.send(m.Raw)
	case t.phase != failed:
		t.wait(m)
	}
}

func (t *toLegacy) clientCancels(m protocol.Message) {
	id := protocol.Cancelled(m.Params)
	if i := slices.IndexFunc(t.waiting, func(w protocol.Message) bool { return id != "" && w.ID == id }); i >= 0 {
		t.held -= len(t.waiting[i].Raw)
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return
	}
	if l := t.listens[id]; l != nil {
		t.endListen(l)
		return
	}
	c := t.calls[id]
	if c == nil {
		return
	}
	params, err := protocol.Edit(m.Params, set("requestId", jsontext.Value(c.at)))
	if err == nil && c.at != "" {
		t.send(m.WithBody(params).Raw)
	}
	t.forget(c)
}

func (t *toLegacy) fromServer(m protocol.Message) {
	if m.Kind == protocol.Request {
		t.serverAsks(m)
		return
	}
	switch m.Method {
	case protocol.MethodProgress:
		t.progress(m)
	case noteMessage:
		t.message(m)
	case protocol.MethodCancelled:
		t.serverWithdraws(protocol.Cancelled(m.Params))
	case protocol.MethodToolsChange, notePromptsChange, noteResourceChange, noteUpdated:
		t.changed(m)
	case noteElicited, "notifications/tasks/status", noteAcknowledged: // not of both eras, and the last is ours to say
	default:
		t.tell(m)
	}
}

// progress goes to whoever waits for the call now, under the token of its latest try.
func (t *toLegacy) progress(m protocol.Message) {
	c := t.byToken[string(members(m.Params)["progressToken"])]
	switch {
	case c == nil || string(c.token) == string(c.toldToken) && c.state == "":
		t.tell(m)
	case c.state != "" || c.token == nil: // nobody waits, or wants to know
	default:
		if params, err := protocol.Edit(m.Params, set("progressToken", c.token)); err == nil {
			t.tell(m.WithBody(params))
		}
	}
}
