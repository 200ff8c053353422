package door

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// isModern tells whether a message claims to be of the modern era, or of one that is to come.
func isModern(h http.Header, m protocol.Message) bool {
	header := protocol.Revision(h.Get(protocol.HeaderVersion))
	if header != "" && header.Era() != protocol.LegacyEra {
		return true
	}
	meta, err := protocol.Meta(m.Params)
	return err == nil && meta[protocol.MetaVersion] != nil
}

// postModern answers one request of the modern era, which says all about itself.
func (d *Door) postModern(v visit, m protocol.Message) {
	if fault := checkModern(v.r.Header, m); fault != nil {
		fault.answer(v.w, m.ID)
		return
	}
	s, err := d.join(v)
	if err != nil {
		rpcError(v.w, http.StatusServiceUnavailable, m.ID, protocol.CodeInternal, err.Error())
		return
	}
	defer s.lease.release()
	switch fault := s.checkParams(v.r, m); {
	case fault != nil:
		fault.answer(v.w, m.ID)
	case m.Kind == protocol.Request:
		d.ask(v, s, m)
	default:
		s.tell(v, m)
	}
}

// ask has a request answered. That its sender hangs up cancels it.
func (d *Door) ask(v visit, s *shared, m protocol.Message) {
	c, out, err := s.expect(m)
	if err != nil {
		parseError(v.w, err)
		return
	}
	defer s.forget(c)
	at := take(c.stream)
	_ = s.pipe.send(v.r.Context(), out) // a session that has ended answers all that wait
	if !d.send(v, at, manner{status: statusOf, prefer: prefersEvents(v.r)}) {
		s.cancel(c)
	}
}

// tell passes a notification on. A cancelled one is not: its request's id may be another's, too, and
// it is hanging up that cancels.
func (s *shared) tell(v visit, m protocol.Message) {
	if m.Method != protocol.MethodCancelled && s.pipe.send(v.r.Context(), m) != nil {
		rpcError(v.w, http.StatusServiceUnavailable, "", protocol.CodeInternal, errGone.Error())
		return
	}
	v.w.WriteHeader(http.StatusAccepted)
}

// fault is why a modern request is refused.
type fault struct {
	status int
	code   int
	words  string
	data   jsontext.Value
}

func (f *fault) answer(w http.ResponseWriter, id protocol.ID) {
	if f.data == nil {
		rpcError(w, f.status, id, f.code, f.words)
		return
	}
	rpcErrorData(w, f.status, id, f.code, f.words, f.data)
}

func badRequest(code int, words string) *fault {
	return &fault{status: http.StatusBadRequest, code: code, words: words}
}

// checkModern tells what is wrong with what a message says about itself.
func checkModern(h http.Header, m protocol.Message) *fault {
	var f *fault
	switch version := h.Get(protocol.HeaderVersion); {
	case m.Kind == protocol.Request:
		f = checkMeta(h, m)
	case m.Kind != protocol.Notification:
		return badRequest(protocol.CodeInvalidRequest, "neither a request nor a notification")
	case version != string(protocol.V20260728):
		f = unsupported(version)
	}
	if f != nil {
		return f
	}
	return mismatch(protocol.CheckHeaders(h, m, nil))
}

func mismatch(err error) *fault {
	if err == nil {
		return nil
	}
	return badRequest(protocol.CodeHeaderMismatch, "header mismatch: "+err.Error())
}

// checkMeta tells what is wrong with a request's _meta and with the header that repeats it.
func checkMeta(h http.Header, m protocol.Message) *fault {
	meta, err := protocol.Meta(m.Params)
	if err != nil {
		return badRequest(protocol.CodeInvalidParams, err.Error())
	}
	version := protocol.Text(meta[protocol.MetaVersion])
	capabilities := meta[protocol.MetaCapabilities]
	header := h.Values(protocol.HeaderVersion)
	switch {
	case version == "":
		return badRequest(protocol.CodeInvalidParams, "_meta has no "+protocol.MetaVersion)
	case len(header) == 0:
		return badRequest(protocol.CodeHeaderMismatch, "the "+protocol.HeaderVersion+" header is missing: it repeats the version that _meta names")
	case len(header) != 1 || header[0] != version:
		return badRequest(protocol.CodeHeaderMismatch, "the "+protocol.HeaderVersion+" header does not say what _meta says")
	case version != string(protocol.V20260728):
		return unsupported(version)
	case capabilities == nil || capabilities.Kind() != '{':
		return badRequest(protocol.CodeInvalidParams, "_meta has no "+protocol.MetaCapabilities)
	}
	return nil
}

// unsupported says which revisions there are.
func unsupported(requested string) *fault {
	list := string(protocol.Quote(string(protocol.V20260728)))
	for _, r := range protocol.Legacy {
		list += "," + string(protocol.Quote(string(r)))
	}
	f := badRequest(protocol.CodeUnsupportedVersion, "unsupported protocol version")
	f.data = fmt.Appendf(nil, `{"supported":[%s],"requested":%s}`, list, protocol.Quote(requested))
	return f
}

// checkParams compares the arguments that the tool which m calls wants in headers with those. Where
// they differ, the list of tools may be an old one: it is asked for again, once.
func (s *shared) checkParams(r *http.Request, m protocol.Message) *fault {
	params, fault := s.paramsOf(r.Context(), m)
	if fault != nil || protocol.CheckHeaders(r.Header, m, params) == nil {
		return fault
	}
	s.tools.stale()
	if params, fault = s.paramsOf(r.Context(), m); fault != nil {
		return fault
	}
	return mismatch(protocol.CheckHeaders(r.Header, m, params))
}

// paramsOf is the arguments that the tool which m calls wants in headers.
func (s *shared) paramsOf(ctx context.Context, m protocol.Message) ([]protocol.ParamHeader, *fault) {
	if m.Kind != protocol.Request || m.Method != protocol.MethodToolsCall {
		return nil, nil
	}
	call, err := protocol.ParseToolCall(m.Params)
	if err != nil {
		return nil, nil // the session says what is wrong
	}
	if s.tools.unknown() {
		s.list(ctx, m)
	}
	params, broken := s.tools.of(call.Name)
	if broken {
		return nil, badRequest(protocol.CodeInvalidParams, "unknown tool: its definition cannot be called over HTTP")
	}
	return params, nil
}

// statusOf is the HTTP status of an answer that comes first.
func statusOf(raw []byte) int {
	m, err := protocol.Parse(raw)
	if err != nil || m.Error == nil {
		return http.StatusOK
	}
	members, err := protocol.Members(m.Error, "code")
	if err != nil {
		return http.StatusOK
	}
	switch string(members["code"]) {
	case "-32601":
		return http.StatusNotFound
	case "-32700", "-32600", "-32602", "-32020", "-32021", "-32022":
		return http.StatusBadRequest
	}
	return http.StatusOK
}
