package bridge

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// toModern translates between a legacy client and a modern server.
type toModern struct {
	*link
	o Options

	begun        bool // the client has sent initialize, and it did not fail
	revision     protocol.Revision
	capabilities jsontext.Value // the client's, as it declared them, without tasks
	info         jsontext.Value // the client's clientInfo; nil when it sent none
	level        jsontext.Value // the log level it wants; nil until it says
	offered      jsontext.Value // the server's capabilities

	calls map[protocol.ID]*modernCall // by the client's id
	asked map[protocol.ID]modernAsk   // what the client was asked, by the id it was asked under
	held  int                         // bytes of calls kept to be repeated

	subscriptions
}

// modernCall is a request of the client's that is not answered yet.
type modernCall struct {
	id     protocol.ID
	method string
	at     protocol.ID      // its id at the server; "" while the client is asked
	sent   protocol.Message // as the server got it first, kept where it may have to be repeated

	kept    int // bytes of it that count as held
	rounds  int
	state   jsontext.Value            // the server's requestState, byte for byte; nil for none
	open    []protocol.ID             // what the client has not answered yet
	answers map[string]jsontext.Value // what it has
	urls    []string                  // elicitationIds that we gave
}

func newToModern(o Options) *toModern {
	return &toModern{
		o: o, calls: map[protocol.ID]*modernCall{}, asked: map[protocol.ID]modernAsk{},
		subscriptions: subscriptions{uris: map[string]*modernListen{}, pending: map[protocol.ID]string{}},
	}
}

func (t *toModern) ended() {
	for _, l := range t.uris {
		l.timer.Stop()
	}
}

func (t *toModern) fromClient(m protocol.Message) {
	switch {
	case m.Kind == protocol.Response:
		t.clientAnswers(m)
	case m.Kind == protocol.Notification:
		t.clientNotes(m)
	case t.calls[m.ID] != nil || t.pending[m.ID] != "":
		t.refuse(m.ID, protocol.CodeInvalidRequest, "a request with this id is still in flight")
	default:
		t.clientAsks(m)
	}
}

func (t *toModern) clientAsks(m protocol.Message) {
	switch {
	case m.Method == protocol.MethodPing:
		t.say(protocol.NewResult(m.ID, emptyObject))
	case m.Method == protocol.MethodInitialize:
		t.initialize(m)
	case !t.begun:
		t.refuse(m.ID, protocol.CodeInvalidRequest, "the first request is to be initialize")
	case m.Method == methodSetLevel:
		t.setLevel(m)
	case m.Method == methodSubscribe:
		t.subscribe(m)
	case m.Method == methodUnsubscribe:
		t.unsubscribe(m)
	case slices.Contains(tasks, m.Method):
		t.refuse(m.ID, protocol.CodeNoMethod, noTasks)
	case m.Method == protocol.MethodDiscover || m.Method == protocol.MethodListen:
		t.refuse(m.ID, protocol.CodeNoMethod, m.Method+" is not of revision "+string(t.revision)+", which this connection has")
	default:
		t.forward(m)
	}
}

// initialize negotiates the revision and asks the server who it is.
func (t *toModern) initialize(m protocol.Message) {
	p := members(m.Params, "protocolVersion", "capabilities", "clientInfo")
	declared, err := withoutTasks(object(p["capabilities"]))
	switch {
	case t.begun:
		t.refuse(m.ID, protocol.CodeInvalidRequest, "this connection has been initialized")
		return
	case protocol.Text(p["protocolVersion"]) == "" || err != nil:
		t.refuse(m.ID, protocol.CodeInvalidParams, "initialize names no protocolVersion, or capabilities that are none")
		return
	}
	t.begun, t.capabilities, t.revision = true, declared, negotiated(protocol.Text(p["protocolVersion"]))
	if isObject(p["clientInfo"]) {
		t.info = p["clientInfo"]
	}
	params, _ := t.withMeta(emptyObject) // of an object
	c := &modernCall{id: m.ID, method: m.Method, at: t.newID()}
	t.calls[c.id] = c
	t.askWithin(t.o.Handshake, c.at, protocol.MethodDiscover, params, func(answer protocol.Message) { t.discovered(c, answer) })
}

// negotiated is the revision a client gets: its own, or the newest it may know.
func negotiated(wanted string) protocol.Revision {
	if r := protocol.Revision(wanted); r.Era() == protocol.LegacyEra {
		return r
	}
	return protocol.Legacy[0]
}

// discovered answers initialize with what the server said of itself.
func (t *toModern) discovered(c *modernCall, answer protocol.Message) {
	t.forget(c)
	result, why := t.initializeResult(answer)
	if why != "" {
		t.begun = false
		t.refuse(c.id, protocol.CodeInternal, why)
		return
	}
	t.offered = at(answer.Result, "capabilities")
	t.say(protocol.NewResult(c.id, result))
}

func (t *toModern) initializeResult(answer protocol.Message) (result jsontext.Value, why string) {
	versions := Supported(answer)
	switch {
	case len(versions) > 0 && !slices.Contains(versions, protocol.V20260728):
		return nil, fmt.Sprintf("the server speaks other revisions of MCP: %s; the gateway reaches it by %s", versions, protocol.V20260728)
	case answer.Error != nil:
		return nil, "server/discover failed: " + protocol.Text(members(answer.Error)["message"])
	}
	offered, err := withoutTasks(object(at(answer.Result, "capabilities")))
	if err != nil || len(versions) == 0 {
		return nil, "the server's answer to server/discover cannot be read"
	}
	info := at(answer.Result, "_meta", protocol.MetaServerInfo)
	if !isObject(info) {
		info = jsontext.Value(`{"name":"unnamed","version":"0"}`) // legacy clients require one
	}
	result, err = editMeta(answer.Result, []protocol.Member{drop(protocol.MetaServerInfo)},
		setText("protocolVersion", string(t.revision)), set("capabilities", offered), set("serverInfo", info),
		drop("supportedVersions"), drop("resultType"), drop("ttlMs"), drop("cacheScope"))
	if err != nil {
		return nil, "the server's answer to server/discover cannot be read"
	}
	return result, ""
}

// setLevel is kept by the bridge: in the modern era each request says how much is to be logged.
func (t *toModern) setLevel(m protocol.Message) {
	level := members(m.Params, "level")["level"]
	if !slices.Contains(levels, protocol.Text(level)) {
		t.refuse(m.ID, protocol.CodeInvalidParams, "there is no such log level")
		return
	}
	t.level = level
	t.say(protocol.NewResult(m.ID, emptyObject))
}

// withMeta is params with what each request of the modern era says of the client. What the client
// itself wrote there is no word of the gateway's, and goes.
func (t *toModern) withMeta(params jsontext.Value, more ...protocol.Member) (jsontext.Value, error) {
	return editMeta(params, []protocol.Member{
		setText(protocol.MetaVersion, string(protocol.V20260728)),
		set(protocol.MetaCapabilities, t.capabilities),
		set(protocol.MetaClientInfo, t.info),
		set(protocol.MetaLogLevel, t.level),
	}, more...)
}

// forward sends a request on.
func (t *toModern) forward(m protocol.Message) {
	again := slices.Contains(mayAsk, m.Method)
	var out []protocol.Member
	if again {
		out = dropAll([]string{"inputResponses", "requestState", "task"})
	}
	params, err := t.withMeta(object(m.Params), out...)
	switch {
	case err != nil:
		t.refuse(m.ID, protocol.CodeInvalidParams, "params: "+err.Error())
		return
	case len(t.calls) >= t.o.Calls, again && t.held > 0 && t.held+len(params) > t.o.Bytes:
		t.refuse(m.ID, protocol.CodeInternal, "too much is in flight already; try again when something has been answered")
		return
	}
	sent := withParams(m, params)
	c := &modernCall{id: m.ID, method: m.Method}
	if again {
		c.sent = sent
		t.hold(c, len(sent.Raw))
	}
	t.calls[c.id] = c
	t.sendCall(c, sent)
}

// sendCall gives the call to the server under a new id.
func (t *toModern) sendCall(c *modernCall, m protocol.Message) {
	c.at = t.newID()
	t.ask(c.at, m.WithID(c.at).Raw, func(answer protocol.Message) { t.serverAnswers(c, answer) })
}

// forget is the end of a call, however it ended.
func (t *toModern) forget(c *modernCall) {
	delete(t.calls, c.id)
	delete(t.awaited, c.at)
	t.hold(c, -c.kept)
	c.sent = protocol.Message{}
}

// hold counts bytes that a call makes the bridge keep.
func (t *toModern) hold(c *modernCall, n int) {
	c.kept += n
	t.held += n
}

func (t *toModern) clientNotes(m protocol.Message) {
	switch m.Method {
	case protocol.MethodInitialized:
		t.listenForChanges()
	case protocol.MethodCancelled:
		t.clientCancels(m)
	case noteRootsChange, protocol.MethodProgress: // the modern era has neither from a client
	default:
		t.send(m.Raw)
	}
}

// clientCancels tells the server, by the id that it knows now, and takes back what the client is asked.
func (t *toModern) clientCancels(m protocol.Message) {
	c := t.calls[protocol.Cancelled(m.Params)]
	if c == nil || c.method == protocol.MethodInitialize {
		return
	}
	t.takeBack(c)
	if c.at != "" {
		params, err := protocol.Edit(m.Params, set("requestId", jsontext.Value(c.at)))
		if err == nil {
			t.send(m.WithBody(params).Raw)
		}
	}
	t.forget(c)
}

// serverAnswers is the server's answer to a call, or its questions.
func (t *toModern) serverAnswers(c *modernCall, m protocol.Message) {
	if m.Error != nil {
		t.forget(c)
		t.tell(withCode(m, legacyCode(codeOf(m.Error), c.method, t.revision)).WithID(c.id))
		return
	}
	kind := members(m.Result, "resultType")["resultType"]
	switch {
	case kind == nil || protocol.Text(kind) == "complete":
		t.completed(c, m)
	case protocol.Text(kind) == "input_required" && slices.Contains(mayAsk, c.method):
		t.questions(c, m.Result)
	default:
		t.fail(c, "the server answered with a result of the type "+string(kind)+", which revision "+string(t.revision)+" does not have")
	}
}

func (t *toModern) completed(c *modernCall, m protocol.Message) {
	result, err := legacyResult(c.method, m.Result)
	if err != nil {
		t.fail(c, "the server's answer cannot be read: "+err.Error())
		return
	}
	t.forget(c)
	for _, id := range c.urls {
		t.say(protocol.NewNotification(noteElicited, fmt.Appendf(nil, `{"elicitationId":%s}`, protocol.Quote(id))))
	}
	t.tell(m.WithBody(result).WithID(c.id))
}

// fail ends a call with an error of ours.
func (t *toModern) fail(c *modernCall, why string) {
	t.takeBack(c)
	t.forget(c)
	t.refuse(c.id, protocol.CodeInternal, why)
}

func (t *toModern) fromServer(m protocol.Message) {
	if m.Kind == protocol.Request {
		t.log.Debug("a modern server may not ask: its request was dropped", "call", m.Method)
		return
	}
	switch m.Method {
	case noteAcknowledged:
		t.acknowledged(m)
	case protocol.MethodCancelled:
		t.listenEnded(protocol.Cancelled(m.Params), "the server ended it")
	case protocol.MethodToolsChange, notePromptsChange, noteResourceChange, noteUpdated:
		t.changed(m)
	default:
		t.tell(m)
	}
}

// legacyResult is a result without what the modern era alone has in it.
func legacyResult(method string, result jsontext.Value) (jsontext.Value, error) {
	out := []protocol.Member{drop("resultType")}
	if slices.Contains(cacheable, method) {
		out = append(out, drop("ttlMs"), drop("cacheScope"))
	}
	if s := members(result)["structuredContent"]; method == protocol.MethodToolsCall && s != nil && !isObject(s) {
		out = append(out, drop("structuredContent")) // an object up to 2025-11-25; the content says the same
	}
	if method == protocol.MethodToolsList {
		tools, err := legacyTools(members(result)["tools"])
		if err != nil {
			return nil, err
		}
		out = append(out, set("tools", tools))
	}
	return editMeta(result, []protocol.Member{drop(protocol.MetaServerInfo)}, out...)
}
