package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

// tool is the definition of a tool the server has listed, asking it for its list where nobody has yet.
func (s *Session) tool(ctx context.Context, name string) (tool, error) {
	if !s.knowsAll() {
		if err := s.list(ctx); err != nil {
			return tool{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tools[name]
	if !ok {
		d := protocol.ToolDefinition{Name: name}
		return tool{definition: d, describe: s.Describe(d)}, fmt.Errorf("tool %q: %w", name, errdefs.ErrNotFound)
	}
	return t, nil
}

func (s *Session) knowsAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// list asks the server for its tools, for ourselves.
func (s *Session) list(ctx context.Context) error {
	var params jsontext.Value
	for range maxPages {
		m, err := s.upstream.ask(ctx, protocol.MethodToolsList, params)
		if err != nil {
			return fmt.Errorf("list the tools of %s: %w", s.Server.Name, err)
		}
		s.noteTools(params)(m)
		if s.knowsAll() || m.Result == nil {
			return nil
		}
		page, err := protocol.ParseToolPage(m.Result)
		if err != nil {
			return fmt.Errorf("list the tools of %s: %w", s.Server.Name, err)
		}
		params = fmt.Appendf(nil, `{"cursor":%s}`, page.NextCursor)
	}
	return fmt.Errorf("list the tools of %s: over %d pages", s.Server.Name, maxPages)
}

// noteTools remembers the tools of one page once its answer comes. Asked without a cursor it is
// the first page; the list is whole when a last page has been seen.
func (s *Session) noteTools(params jsontext.Value) func(protocol.Message) {
	asked, _ := protocol.Members(params, "cursor")
	first := asked["cursor"] == nil
	return func(m protocol.Message) {
		page, err := protocol.ParseToolPage(m.Result)
		if err != nil {
			return // an error answer, or a list that cannot be read: nothing of it is known
		}
		s.remember(page, first)
	}
}

func (s *Session) remember(page protocol.ToolPage, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first {
		s.tools = map[string]tool{}
	}
	for _, d := range page.Tools {
		if _, twice := s.tools[d.Name]; !twice && s.allowed(d.Name) {
			s.tools[d.Name] = tool{definition: d, pin: pin(d), describe: s.Describe(d)}
		}
	}
	s.listed = page.NextCursor == nil
	if s.listed {
		s.Tools(definitions(s.tools))
	}
}

// relist forgets the list: the server says it has changed.
func (s *Session) relist() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed = false
}

// filtered is an answer to tools/list without the tools that do not exist for this client. Other
// answers have no "tools" array of objects with names and stay as they are.
func (s *Session) filtered(m protocol.Message) protocol.Message {
	page, err := protocol.ParseToolPage(m.Result)
	if err != nil {
		return m
	}
	kept := []jsontext.Value{}
	for _, d := range page.Tools {
		if s.allowed(d.Name) {
			kept = append(kept, d.Raw)
		}
	}
	result, err := protocol.WithTools(m.Result, kept)
	if err != nil {
		return m
	}
	m.Raw = protocol.NewResult(m.ID, result)
	return m
}

// pin is the digest of a definition, the same for the same JSON however it is spaced or ordered.
func pin(d protocol.ToolDefinition) sandbox.Digest {
	canonical := d.Raw.Clone()
	if err := canonical.Canonicalize(); err != nil {
		return ""
	}
	return sum(canonical)
}

func sum(b []byte) sandbox.Digest {
	h := sha256.Sum256(b)
	return sandbox.Digest("sha256:" + hex.EncodeToString(h[:]))
}

func definitions(tools map[string]tool) []protocol.ToolDefinition {
	out := make([]protocol.ToolDefinition, 0, len(tools))
	for _, t := range tools {
		out = append(out, t.definition)
	}
	return out
}
