package remote

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// maxPages bounds how much of a tool list is read for its headers.
const maxPages = 20

// corrected repeats, once, a call that the server refused for its headers, with those that its
// tool list asks for now. It reports whether there were other ones, and k is then answered for.
func (c *Conn) corrected(k *call) bool {
	if k.message.Method != protocol.MethodToolsCall || k.corrected {
		return false
	}
	k.corrected = true
	before := c.tools.of(k.message)
	if err := c.relist(k); err != nil {
		c.log.Warn("the tools of a remote server cannot be listed", "err", err)
		return false
	}
	if reflect.DeepEqual(before, c.tools.of(k.message)) {
		return false
	}
	header, err := c.headersOf(k.message, k.version)
	if err != nil {
		return false
	}
	c.exchange(k, header)
	return true
}

// relist reads the server's tools in k's name. The session does not see them: what it shows and
// calls goes by the list it asked for itself.
func (c *Conn) relist(k *call) error {
	meta, err := protocol.Members(k.message.Params, "_meta")
	if err != nil {
		return err
	}
	cursor := jsontext.Value(nil)
	for range maxPages {
		params := fmt.Appendf(nil, `{"_meta":%s}`, meta["_meta"])
		if cursor != nil {
			params = fmt.Appendf(nil, `{"_meta":%s,"cursor":%s}`, meta["_meta"], cursor)
		}
		if cursor, err = c.listPage(k, params); err != nil || cursor == nil {
			return err
		}
	}
	return nil
}

// listPage reads one page of tools, and is the cursor of the next.
func (c *Conn) listPage(k *call, params jsontext.Value) (jsontext.Value, error) {
	m, err := protocol.Parse(protocol.NewRequest(`"garita-headers"`, protocol.MethodToolsList, params))
	if err != nil {
		return nil, err
	}
	header, err := c.headersOf(m, k.version)
	if err != nil {
		return nil, err
	}
	defer within(c.opt.Limits.Accept, k.cancel, errTooSlow)()
	res, err := c.do(k.ctx, http.MethodPost, c.target(), m, header)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := c.answerIn(res, m.ID)
	if err != nil {
		return nil, err
	}
	page, err := protocol.ParseToolPage(answer.Result)
	c.learnTools(answer)
	return page.NextCursor, err
}

// answerIn is the answer to a request of our own in what came of it.
func (c *Conn) answerIn(res *http.Response, id protocol.ID) (protocol.Message, error) {
	limited := io.LimitReader(res.Body, int64(c.opt.Limits.Message))
	if mediaType(res) != "text/event-stream" {
		raw, err := io.ReadAll(limited)
		if err != nil {
			return protocol.Message{}, err
		}
		return protocol.Parse(bytes.TrimSpace(raw))
	}
	events := protocol.NewEventReader(limited, c.opt.Limits.Message)
	for {
		e, err := events.Read()
		if err != nil {
			return protocol.Message{}, err
		}
		if m, err := protocol.Parse(e.Data); carries(e) && err == nil && m.ID == id {
			return m, nil
		}
	}
}
