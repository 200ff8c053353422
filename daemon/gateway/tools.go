package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

const (
	// relistEvery is the shortest time between two listings that a server's word of a change makes
	// us do, and how old a list may be that it said has changed: some say so at each listing.
	relistEvery = time.Second
	// relistAtMost is how far that time grows while nothing really changes.
	relistAtMost = time.Minute
	// remembered is how many earlier lists are known again, to tell a server that alternates.
	remembered = 8
)

// toolbox is what is known of the server's tools.
type toolbox struct {
	known  map[string]tool // the whole list, as it was when last seen whole
	listed bool            // known is of this life of the server
	life   int             // counts the lives
	stale  bool            // the server says that it has changed
	at     time.Time       // when it was seen
	digest string          // of known, as far as the client may see it; "" before there is one
	past   []string        // digests before it, newest last
	seen   string          // the digest of what the client has, or was told has changed; "" before it has a whole list

	ours, theirs listing // lists being read page by page: by us, by the client

	changed  []byte        // the client is to be told by this that the list has changed, if it has
	watching bool          // somebody looks whether it has
	wait     time.Duration // before the next look
}

func newToolbox() toolbox {
	return toolbox{known: map[string]tool{}, wait: relistEvery}
}

// forget is for a new life of the server, which may list other tools: no page of the last one counts.
func (b *toolbox) forget() {
	b.listed = false
	b.life++
	b.ours, b.theirs = listing{}, listing{}
}

// listing is one reading of a paginated list. Pages are joined by their cursors: "" stands for the
// first, a quoted string for others.
type listing struct {
	next  map[string]string // from a page's cursor to the following one's; end on the last
	tools map[string]found
	bytes int // of tools, as far as they were listed
	// doubled are names that the page added last had a second tool under, as far as they are told.
	doubled []string
}

// found is a tool and the page it stood on first.
type found struct {
	tool
	page string
}

// end follows the last page.
const end = "end"

// add takes in a page. take says what is known of a tool, false when there is none of its name for anybody.
// It returns which of its tools are new and exist for the client, and whether another page really follows.
func (l *listing) add(at string, page protocol.ToolPage, take func(protocol.ToolDefinition) (tool, bool)) (kept []protocol.ToolDefinition, more bool) {
	if at == "" || l.next == nil {
		l.next, l.tools, l.bytes = map[string]string{}, map[string]found{}, 0
	}
	l.doubled = nil
	here := make(map[string]bool, len(page.Tools)) // on this page
	for _, d := range page.Tools {
		if f, twice := l.tools[d.Name]; twice && (f.page != at || here[d.Name]) {
			if len(l.doubled) < remembered {
				l.doubled = append(l.doubled, d.Name)
			}
			continue // the first one counts; a second one under the name would hide it
		}
		here[d.Name] = true
		t, ok := take(d)
		if !ok {
			continue
		}
		l.tools[d.Name] = found{t, at}
		l.bytes += len(d.Raw)
		if t.held == "" {
			kept = append(kept, d)
		}
	}
	l.next[at] = end
	if page.NextCursor != nil && !l.leadsTo(string(page.NextCursor), at) && len(l.next) < maxPages && len(l.tools) < maxTools && l.bytes < maxListed {
		l.next[at] = string(page.NextCursor)
	}
	return kept, l.next[at] != end
}

// leadsTo says whether the pages from one on come to another, as they do when a cursor does not advance.
func (l *listing) leadsTo(from, to string) bool {
	for range len(l.next) + 1 {
		if from == to {
			return true
		}
		following, ok := l.next[from]
		if !ok || following == end {
			return false
		}
		from = following
	}
	return true
}

// whole says whether every page from the first to the last has been seen.
func (l *listing) whole() bool {
	at := ""
	for range len(l.next) + 1 {
		following, ok := l.next[at]
		if !ok || following == end {
			return ok
		}
		at = following
	}
	return false
}

// listing returns what to do with the answer to a tools/list: learn from it, and leave of it what
// exists for this client. Answers that are no page of tools stay as they are.
func (s *Session) listing(params jsontext.Value, l *listing) func(protocol.Message) protocol.Message {
	asked, _ := protocol.Members(params, "cursor")
	at := string(asked["cursor"])
	life := s.toolsLife()
	return func(m protocol.Message) protocol.Message {
		page, err := protocol.ParseToolPage(m.Result)
		switch {
		case m.Result == nil:
			return m
		case err != nil:
			return unreadable(m, "tools", err)
		}
		kept, more := s.learn(life, l, at, page)
		return s.asSeen(m, page, kept, more)
	}
}

// toolsLife is the life of the server that tools are learnt of.
func (s *Session) toolsLife() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools.life
}

// learn takes one page in.
func (s *Session) learn(life int, l *listing, at string, page protocol.ToolPage) (kept []protocol.ToolDefinition, more bool) {
	whole := false
	var doubled []string
	defer func() { // both may write
		s.noted(protocol.MethodToolsList, doubled)
		s.listed(approvals.ItemTool, whole)
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	if life != s.tools.life { // of a life that is over: for who asked, and nobody else
		l = &listing{}
	}
	kept, more = l.add(at, page, func(d protocol.ToolDefinition) (tool, bool) {
		t := s.asTool(d) // pinned for all its clients, whoever may see it
		return t, s.allowed(d.Name)
	})
	for _, name := range l.doubled {
		doubled = append(doubled, fmt.Sprintf("a second tool named %q was left out", bounded(name)))
	}
	if !more && page.NextCursor != nil {
		s.Logger.Warn("pagination does not advance, or does not end", "server", s.Server.Name, "cursor", bounded(string(page.NextCursor)))
	}
	if whole = l.whole(); whole && life == s.tools.life {
		s.tools.complete(l)
		if l == &s.tools.theirs {
			s.tools.seen = s.tools.digest
		}
		s.Tools(definitions(s.tools.known))
	}
	return kept, more
}

// complete makes a whole list the one that is known.
func (b *toolbox) complete(l *listing) {
	b.known = make(map[string]tool, len(l.tools))
	for name, f := range l.tools {
		b.known[name] = f.tool
	}
	b.listed, b.stale, b.at = true, false, time.Now()
	if d := digestOf(b.known); d != b.digest {
		b.past = append(b.past, b.digest)
		b.past = b.past[max(0, len(b.past)-remembered):]
		b.digest = d
	}
}

// asSeen is a page as the client may see it.
func (s *Session) asSeen(m protocol.Message, page protocol.ToolPage, kept []protocol.ToolDefinition, more bool) protocol.Message {
	result := m.Result
	var err error
	if len(kept) < len(page.Tools) {
		result, err = protocol.WithTools(result, raws(kept))
	}
	if err == nil && !more && page.NextCursor != nil {
		result, err = protocol.Without(result, "nextCursor")
	}
	if err != nil {
		return unreadable(m, "tools", err)
	}
	if string(result) == string(m.Result) {
		return m
	}
	return m.WithBody(result)
}

func raws(tools []protocol.ToolDefinition) []jsontext.Value {
	out := make([]jsontext.Value, 0, len(tools))
	for _, t := range tools {
		out = append(out, t.Raw)
	}
	return out
}

// tool is the definition of a tool the server has listed, asking it for its list where that is not known.
func (s *Session) tool(ctx context.Context, name string) (tool, error) {
	if !s.knowsTools() {
		if err := s.list(ctx); err != nil {
			return tool{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools.seen == "" { // who calls has a list, from wherever
		s.tools.seen = s.tools.digest
	}
	t, ok := s.tools.known[name]
	if !ok {
		d := protocol.ToolDefinition{Name: name}
		return tool{definition: d, describe: s.Describe(d)}, fmt.Errorf("tool %q: %w", name, errdefs.ErrNotFound)
	}
	return t, nil
}

func (s *Session) knowsTools() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.tools
	return s.way.alive() && b.listed && (!b.stale || time.Since(b.at) < relistEvery)
}

// list asks the server for its tools, for ourselves.
func (s *Session) list(ctx context.Context) error {
	select {
	case turn := <-s.lists:
		defer func() { s.lists <- turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.knowsTools() {
		return nil // somebody else has asked meanwhile
	}
	way, life := s.link(), s.toolsLife()
	said := s.said()
	params := said.params()
	for range maxPages {
		m, err := way.ask(ctx, protocol.MethodToolsList, params, s.startLimit()+s.callLimit())
		if err != nil {
			return fmt.Errorf("list the tools of %s: %w", s.Server.Name, err)
		}
		if m.Result == nil {
			return nil // it has no tools
		}
		page, err := protocol.ParseToolPage(m.Result)
		if err != nil {
			return fmt.Errorf("list the tools of %s: %w", s.Server.Name, err)
		}
		members, _ := protocol.Members(params)
		if _, more := s.learn(life, &s.tools.ours, string(members["cursor"]), page); !more {
			return nil
		}
		if params, err = protocol.With(orEmpty(said.params()), "cursor", page.NextCursor); err != nil {
			return err
		}
	}
	return fmt.Errorf("list the tools of %s: over %d pages", s.Server.Name, maxPages)
}

func orEmpty(v jsontext.Value) jsontext.Value {
	if v == nil {
		return jsontext.Value(`{}`)
	}
	return v
}

// toolsChanged notes that the server says its list has changed. The client is told if that is so:
// one look at a time, further apart while nothing changes.
func (s *Session) toolsChanged(ctx context.Context, way *link, m protocol.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.tools
	b.stale = true
	if m.Raw != nil {
		b.changed = m.Raw
	}
	if b.watching || b.changed == nil || s.closing {
		return
	}
	b.watching = true
	s.background.Go(func() { s.lookForChange(ctx, way) })
}

// lookAgain is for a new life of a server: what the client has seen of the one before may be no more.
func (s *Session) lookAgain(ctx context.Context, way *link) {
	s.mu.Lock()
	seen := s.tools.seen != "" && s.hello.era == protocol.LegacyEra
	s.mu.Unlock()
	if seen {
		s.toolsChanged(ctx, way, protocol.Message{Raw: protocol.NewNotification(protocol.MethodToolsChange, jsontext.Value(`{}`))})
	}
}

func (s *Session) lookForChange(ctx context.Context, way *link) {
	for s.pause(ctx, way) {
		if again := s.looked(s.list(ctx)); !again {
			return
		}
	}
}

// pause waits until it is time to look; false when there is nobody to look at any more.
func (s *Session) pause(ctx context.Context, way *link) bool {
	s.mu.Lock()
	wait := s.tools.wait - time.Since(s.tools.at)
	s.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-way.ended:
	}
	s.mu.Lock()
	s.tools.watching = false
	s.mu.Unlock()
	return false
}

// looked tells the client of a change in what it has seen, and says whether another look is due.
func (s *Session) looked(err error) bool {
	s.mu.Lock()
	b := &s.tools
	changed, note := err == nil && b.seen != "" && b.digest != b.seen, b.changed
	unstable := changed && slices.Contains(b.past[:max(0, len(b.past)-1)], b.digest)
	switch {
	case changed && !unstable:
		b.wait = relistEvery
	default:
		b.wait = min(2*b.wait, relistAtMost)
	}
	if changed {
		b.seen = b.digest
	}
	again := b.stale && err == nil
	if !again {
		b.watching, b.changed = false, nil
	}
	s.mu.Unlock()
	if unstable {
		s.Logger.Warn("unstable tools: a list comes back that had been replaced", "server", s.Server.Name)
	}
	if changed && note != nil {
		s.say(note)
	}
	return again
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

// digestOf is the same for the same tools in any order. Those that do not exist for clients are none.
func digestOf(tools map[string]tool) string {
	all := make([]string, 0, len(tools))
	for name, t := range tools {
		if t.held != "" {
			continue
		}
		all = append(all, name+"\x00"+string(t.pin))
	}
	slices.Sort(all)
	return string(sum([]byte(strings.Join(all, "\x00"))))
}

func definitions(tools map[string]tool) []protocol.ToolDefinition {
	out := make([]protocol.ToolDefinition, 0, len(tools))
	for _, t := range tools {
		out = append(out, t.definition)
	}
	return out
}
