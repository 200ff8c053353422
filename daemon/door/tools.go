package door

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// toolHeaders is which arguments of a server's tools go into headers, as far as it was listed.
type toolHeaders struct {
	mu     sync.Mutex
	known  bool      // all tools were listed
	failed time.Time // when they last could not be
	params map[string][]protocol.ParamHeader
	broken map[string]bool // cannot be called over HTTP
	asking sync.Mutex      // one list at a time
}

func (t *toolHeaders) unknown() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.known && time.Since(t.failed) > listTime
}

// fail keeps the next calls from asking again at once.
func (t *toolHeaders) fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = time.Now()
}

// stale has the tools listed again before the next call.
func (t *toolHeaders) stale() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = false
}

func (t *toolHeaders) of(tool string) (params []protocol.ParamHeader, broken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.params[tool], t.broken[tool]
}

// learn reads a page of tools; with all of them known it is the last. It returns the tools that can
// be called over HTTP, and calls warn for each of the others.
func (t *toolHeaders) learn(page protocol.ToolPage, all bool, warn func(tool string, why error)) []jsontext.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.params == nil {
		t.params, t.broken = map[string][]protocol.ParamHeader{}, map[string]bool{}
	}
	t.known = t.known || all
	callable := make([]jsontext.Value, 0, len(page.Tools))
	for _, tool := range page.Tools {
		params, err := protocol.ParamHeaders(tool.InputSchema)
		if err != nil {
			t.broken[tool.Name] = true
			warn(tool.Name, err)
			continue
		}
		delete(t.broken, tool.Name)
		t.params[tool.Name] = params
		callable = append(callable, tool.Raw)
	}
	return callable
}

func (s *shared) warn(tool string, err error) {
	s.d.Log.Warn("a tool was left out: it cannot be called over HTTP", "server", s.key.server, "tool", tool, "err", err)
}

// callable is the answer to tools/list without the tools that cannot be called over HTTP.
func (s *shared) callable(c *call, result jsontext.Value) jsontext.Value {
	page, err := protocol.ParseToolPage(result)
	if err != nil {
		return result
	}
	tools := s.tools.learn(page, c.first && page.NextCursor == nil, s.warn)
	if len(tools) == len(page.Tools) {
		return result
	}
	fewer, err := protocol.WithTools(result, tools)
	if err != nil {
		return result
	}
	return fewer
}

// What listing a server's tools may cost, when it is we who ask.
const (
	listTime = 20 * time.Second
	maxPages = 100
)

// list asks the server for all its tools, on behalf of m's sender. Where that fails, m is passed on
// as one whose tool wants no headers: nothing behind the door goes by them.
func (s *shared) list(ctx context.Context, m protocol.Message) {
	s.tools.asking.Lock()
	defer s.tools.asking.Unlock()
	if !s.tools.unknown() {
		return // another has asked
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var cursor jsontext.Value
	for range maxPages {
		page, err := s.page(ctx, m, cursor)
		if err != nil {
			s.tools.fail()
			s.d.Log.Debug("tools could not be listed", "server", s.key.server, "err", err)
			return
		}
		cursor = page.NextCursor
		s.tools.learn(page, cursor == nil, s.warn)
		if cursor == nil {
			return
		}
	}
}

// page asks for one page of tools.
func (s *shared) page(ctx context.Context, m protocol.Message, cursor jsontext.Value) (protocol.ToolPage, error) {
	params, err := listParams(m, cursor)
	if err != nil {
		return protocol.ToolPage{}, err
	}
	c := &call{ours: make(chan protocol.Message, 1)}
	s.number(c)
	defer s.forget(c)
	ask, err := protocol.Parse(protocol.NewRequest(protocol.ID(c.number), protocol.MethodToolsList, params))
	if err == nil {
		err = s.pipe.send(ctx, ask)
	}
	if err != nil {
		return protocol.ToolPage{}, err
	}
	select {
	case answer := <-c.ours:
		if answer.Result == nil {
			return protocol.ToolPage{}, fmt.Errorf("tools/list: %s", answer.Error)
		}
		return protocol.ParseToolPage(answer.Result)
	case <-s.pipe.gone:
		return protocol.ToolPage{}, errGone
	case <-ctx.Done():
		s.cancel(c)
		return protocol.ToolPage{}, ctx.Err()
	}
}

// listParams says of itself what m says of itself.
func listParams(m protocol.Message, cursor jsontext.Value) (jsontext.Value, error) {
	meta, err := protocol.Meta(m.Params)
	if err != nil {
		return nil, err
	}
	var params jsontext.Value
	for _, key := range []string{protocol.MetaVersion, protocol.MetaCapabilities, protocol.MetaClientInfo} {
		if meta[key] == nil {
			continue
		}
		if params, err = protocol.WithMeta(params, key, meta[key]); err != nil {
			return nil, err
		}
	}
	switch {
	case cursor == nil:
		return params, nil
	case params == nil:
		params = jsontext.Value("{}")
	}
	return protocol.With(params, "cursor", cursor)
}
