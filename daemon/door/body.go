package door

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// bodyTime bounds how long a request's body may take to come in.
const bodyTime = 2 * time.Minute

// message reads the one message (or batch) of a POST. It has answered when it returns false.
func (d *Door) message(v visit) (protocol.Message, bool) {
	kind, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		rpcError(v.w, http.StatusUnsupportedMediaType, "", protocol.CodeInvalidRequest, "Content-Type is not application/json")
		return protocol.Message{}, false
	}
	if json, events := accepts(v.r); !json || !events {
		rpcError(v.w, http.StatusNotAcceptable, "", protocol.CodeInvalidRequest, "Accept must name application/json and text/event-stream")
		return protocol.Message{}, false
	}
	body, err := d.body(v)
	if err != nil {
		bodyError(v.w, err)
		return protocol.Message{}, false
	}
	m, err := protocol.Parse(body)
	if err != nil {
		parseError(v.w, err)
		return protocol.Message{}, false
	}
	return m, true
}

func (d *Door) body(v visit) ([]byte, error) {
	c := http.NewResponseController(v.w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTime)) // where it cannot be set, the server's own holds
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	return io.ReadAll(http.MaxBytesReader(v.w, v.r.Body, int64(d.MaxBody)))
}

func bodyError(w http.ResponseWriter, err error) {
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		rpcError(w, http.StatusRequestEntityTooLarge, "", protocol.CodeInvalidRequest, protocol.ErrTooLong.Error())
		return
	}
	rpcError(w, http.StatusBadRequest, "", protocol.CodeInvalidRequest, "the request's body ended early")
}

func parseError(w http.ResponseWriter, err error) {
	var p *protocol.ParseError
	if !errors.As(err, &p) {
		p = &protocol.ParseError{Code: protocol.CodeInternal, Why: err.Error()}
	}
	rpcError(w, http.StatusBadRequest, p.ID, p.Code, p.Why)
}

// accepts tells which of the two kinds of answer the sender takes.
func accepts(r *http.Request) (json, events bool) {
	for _, header := range r.Header["Accept"] {
		for one := range strings.SplitSeq(header, ",") {
			kind, _, _ := strings.Cut(one, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				events = true
			case "*/*":
				json, events = true, true
			}
		}
	}
	return json, events
}

// prefersEvents tells whether the sender names events before JSON. Both are as good to those that
// name them the other way round, as all SDKs do.
func prefersEvents(r *http.Request) bool {
	accept := strings.Join(r.Header["Accept"], ",")
	events, json := strings.Index(accept, "text/event-stream"), strings.Index(accept, "application/json")
	return events >= 0 && json > events
}

// plain answers in words.
func plain(w http.ResponseWriter, status int, words string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, words+"\n") // the client has gone, or it has it
}

// rpcError answers with a JSON-RPC error; without an id it is of null.
func rpcError(w http.ResponseWriter, status int, id protocol.ID, code int, words string) {
	jsonBody(w, status, protocol.NewError(id, code, words))
}

// rpcErrorData is an rpcError that carries data.
func rpcErrorData(w http.ResponseWriter, status int, id protocol.ID, code int, words string, data jsontext.Value) {
	object := fmt.Appendf(nil, `{"code":%d,"message":%s,"data":%s}`, code, protocol.Quote(words), data)
	jsonBody(w, status, protocol.NewErrorAnswer(id, object))
}

func jsonBody(w http.ResponseWriter, status int, raw []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // the client has gone, or it has it
}
