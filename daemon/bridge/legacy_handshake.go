package bridge

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// phase is how far the handshake with a legacy server is.
type phase int

const (
	idle phase = iota
	shaking
	ready
	failed
)

// handshake is initialize, which the bridge performs with the server for the client.
type handshake struct {
	phase      phase
	why        string         // it failed
	client     jsontext.Value // what the server is told of the client
	told       []string       // the capabilities that the server was told of
	initResult jsontext.Value // the server's
	offered    jsontext.Value // the server's capabilities, without tasks
	serverInfo jsontext.Value // nil when it gave none
}

// wait keeps what cannot be sent before the handshake is done.
func (t *toLegacy) wait(m protocol.Message) {
	if len(t.waiting) >= t.o.Calls || t.held > 0 && t.held+len(m.Raw) > t.o.Bytes {
		if m.Kind == protocol.Request {
			t.refuse(m.ID, protocol.CodeInternal, "too much waits already for the server to start")
		}
		return
	}
	t.waiting = append(t.waiting, m)
	t.held += len(m.Raw)
}

// shake begins the handshake, for the client as it described itself in its first request. Of its
// capabilities the server is told those that a call can be suspended for; what a later request
// declares less is declined when it comes to it.
func (t *toLegacy) shake(who said) {
	if t.phase != idle {
		return
	}
	t.phase = shaking
	var capabilities []protocol.Member
	for _, name := range []string{"elicitation", "sampling", "roots"} {
		if c := at(who.capabilities, name); isObject(c) {
			if name == "roots" {
				c = emptyObject // their changes are not told of any more
			}
			capabilities = append(capabilities, set(name, c))
			t.handshake.told = append(t.handshake.told, name)
		}
	}
	declared, _ := protocol.Edit(nil, capabilities...) // of an object
	info := who.info
	if info == nil {
		info = jsontext.Value(`{"name":"unnamed","version":"0"}`) // legacy servers require one
	}
	t.client = fmt.Appendf(nil, `{"protocolVersion":"","capabilities":%s,"clientInfo":%s}`, declared, info)
	t.initialize(protocol.Legacy[0])
}

func (t *toLegacy) initialize(r protocol.Revision) {
	params, _ := protocol.Edit(t.client, setText("protocolVersion", string(r))) // of an object
	t.askWithin(t.o.Handshake, t.newID(), protocol.MethodInitialize, params, func(m protocol.Message) { t.initialized(r, m) })
}

// initialized is the server's answer to initialize.
func (t *toLegacy) initialized(asked protocol.Revision, m protocol.Message) {
	result := members(m.Result, "protocolVersion", "capabilities", "serverInfo", "instructions")
	offered, err := withoutTasks(object(result["capabilities"]))
	version := protocol.Revision(protocol.Text(result["protocolVersion"]))
	switch older := newest(Supported(m)); {
	case m.Error != nil && older.Era() == protocol.LegacyEra && older < asked: // as servers of 2024 say what they speak
		t.initialize(older)
		return
	case m.Error != nil:
		t.shaken("initialize failed: " + protocol.Text(members(m.Error)["message"]))
		return
	case err != nil || version == "":
		t.shaken("the server's answer to initialize cannot be read")
		return
	case version.Era() != protocol.LegacyEra:
		t.shaken("the server initialized with a revision of MCP that the gateway does not know: " + string(version))
		return
	}
	t.initResult, t.offered = m.Result, offered
	if isObject(result["serverInfo"]) {
		t.serverInfo = result["serverInfo"]
	}
	t.send(protocol.NewNotification(protocol.MethodInitialized, emptyObject))
	t.shaken("")
}

// newest is the newest legacy revision of these, "" when none is.
func newest(of []protocol.Revision) protocol.Revision {
	for _, r := range protocol.Legacy {
		if slices.Contains(of, r) {
			return r
		}
	}
	return ""
}

// shaken ends the handshake; why is empty when it succeeded. What waited for it goes its way.
func (t *toLegacy) shaken(why string) {
	t.phase, t.why = ready, why
	if why != "" {
		t.phase = failed
	}
	waited := t.waiting
	t.waiting = nil
	for _, m := range waited {
		t.held -= len(m.Raw)
		t.fromClient(m)
	}
}

// discover answers with what the server said of itself when it was initialized.
func (t *toLegacy) discover(m protocol.Message) {
	result, err := editMeta(t.initResult, []protocol.Member{set(protocol.MetaServerInfo, t.serverInfo)},
		setText("resultType", "complete"), set("supportedVersions", supported), set("capabilities", t.offered),
		set("ttlMs", jsontext.Value("0")), setText("cacheScope", "private"), drop("protocolVersion"), drop("serverInfo"))
	if err != nil {
		t.refuse(m.ID, protocol.CodeInternal, "the server's answer to initialize cannot be read")
		return
	}
	t.say(protocol.NewResult(m.ID, result))
}

// newErrorWith is an error answer with data.
func newErrorWith(id protocol.ID, code int, message string, data ...protocol.Member) []byte {
	d, err := protocol.Edit(nil, data...)
	if err != nil {
		return protocol.NewError(id, code, message)
	}
	return protocol.NewErrorAnswer(id, fmt.Appendf(nil, `{"code":%d,"message":%s,"data":%s}`, code, protocol.Quote(message), d))
}
