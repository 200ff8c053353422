package gateway

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

// Pins is what a person has accepted of what the server shows of itself, whoever listed it. Calls may
// overlap, and do not wait for anything but Listed, which may write.
type Pins interface {
	// Judge takes in one item as the server lists it, and says how it stands.
	Judge(approvals.Item) Standing
	// Listed says that a page of a kind has been judged, and whether all of the kind now has been.
	Listed(kind approvals.ItemKind, whole bool)
	// Held says why an item is not to be asked for, one clause; "" when it may be.
	Held(kind approvals.ItemKind, name string) string
}

// Standing is how an item stands.
type Standing struct {
	Pin  sandbox.Digest // what it is taken for: the accepted pin, or, of what is held, the item as it is
	Held string         // why it does not exist for clients; "" when it does
}

// Methods that show what a server has, or ask for one of it.
const (
	methodPrompts      = "prompts/list"
	methodPrompt       = "prompts/get"
	methodResources    = "resources/list"
	methodTemplates    = "resources/templates/list"
	methodResource     = "resources/read"
	methodComplete     = "completion/complete"
	methodPromptsNew   = "notifications/prompts/list_changed"
	methodResourcesNew = "notifications/resources/list_changed"
)

// maxTTL is how long a client may keep what it was shown: what a person accepts or refuses changes it.
const maxTTL = time.Minute

// catalog is a kind of list: where its items stand, and by what they are called.
type catalog struct {
	kind         approvals.ItemKind
	member, name string
}

var catalogs = map[string]catalog{
	methodPrompts:   {approvals.ItemPrompt, "prompts", "name"},
	methodResources: {approvals.ItemResource, "resources", "uri"},
	methodTemplates: {approvals.ItemTemplate, "resourceTemplates", "uriTemplate"},
}

// shows returns what to do with the answer to a list of prompts or resources: leave of it what exists for
// clients. An element that has no name is left out.
func (s *Session) shows(c catalog, params jsontext.Value) func(protocol.Message) protocol.Message {
	asked, _ := protocol.Members(params, "cursor")
	return func(m protocol.Message) protocol.Message {
		members, err := protocol.Members(m.Result)
		if m.Result == nil || err != nil || members[c.member] == nil {
			return m
		}
		all, err := protocol.Elements(members[c.member])
		if err != nil {
			return unreadable(m, c.member, err)
		}
		kept := slices.DeleteFunc(slices.Clone(all), func(v jsontext.Value) bool {
			item, _ := protocol.Members(v)
			name := protocol.Text(item[c.name])
			return name == "" || s.judge1(approvals.Item{Kind: c.kind, Name: name, Definition: v}).Held != ""
		})
		s.listed(c.kind, asked["cursor"] == nil && members["nextCursor"] == nil)
		if len(kept) == len(all) {
			return m
		}
		result, err := protocol.Replace(m.Result, c.member, joined(kept))
		if err != nil {
			return unreadable(m, c.member, err)
		}
		return m.WithBody(result)
	}
}

func joined(list []jsontext.Value) jsontext.Value {
	out := jsontext.Value{'['}
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}

// unreadable is the answer in the place of a list that cannot be read: nobody knows what it would show.
func unreadable(m protocol.Message, what string, err error) protocol.Message {
	e, bad := protocol.Parse(protocol.NewError(m.ID, protocol.CodeInternal, fmt.Sprintf("the server's list of %s cannot be read, and was kept back: %v", what, err)))
	if bad != nil {
		return protocol.Message{}
	}
	return e
}

// judge1 says how an item stands; where nobody keeps pins, as it is.
func (s *Session) judge1(it approvals.Item) Standing {
	if s.Pins == nil {
		return Standing{}
	}
	return s.Pins.Judge(it)
}

func (s *Session) listed(kind approvals.ItemKind, whole bool) {
	if s.Pins != nil {
		s.Pins.Listed(kind, whole)
	}
}

// asTool is a tool as it stands.
func (s *Session) asTool(d protocol.ToolDefinition) tool {
	t := tool{definition: d, pin: pin(d), describe: s.Describe(d), shape: shapeOf(d)}
	if s.Pins != nil {
		standing := s.Pins.Judge(itemOf(d))
		t.pin, t.held = standing.Pin, standing.Held
	}
	return t
}

func itemOf(d protocol.ToolDefinition) approvals.Item {
	return approvals.Item{Kind: approvals.ItemTool, Name: d.Name, Definition: d.Raw}
}

// introduced is what a server says of itself when it is met, without the instructions where those are
// held back. method is what it answers.
func (s *Session) introduced(method string, m protocol.Message) protocol.Message {
	m = s.offers(m)
	members, err := protocol.Members(m.Result)
	if s.Pins == nil || m.Result == nil || err != nil {
		return m
	}
	info, _ := protocol.Members(members["serverInfo"])
	said := said(members["instructions"], info)
	standing := s.Pins.Judge(approvals.Item{Kind: approvals.ItemInstructions, Name: method, Definition: said})
	s.Pins.Listed(approvals.ItemInstructions, true)
	if standing.Held == "" {
		return m
	}
	s.Logger.Warn("what a server says of itself is held back", "server", s.Server.Name, "why", standing.Held)
	edits := []protocol.Member{{Name: "instructions"}}
	if info != nil {
		named, _ := protocol.Edit(members["serverInfo"], protocol.Member{Name: "title"}, protocol.Member{Name: "description"}, protocol.Member{Name: "icons"})
		edits = append(edits, protocol.Member{Name: "serverInfo", Value: named})
	}
	result, err := protocol.Edit(m.Result, edits...)
	if err != nil {
		return unreadable(m, "capabilities", err)
	}
	return m.WithBody(result)
}

// said is what a server says of itself that a model may read.
func said(instructions jsontext.Value, info map[string]jsontext.Value) jsontext.Value {
	members := []protocol.Member{{Name: "instructions", Value: instructions}}
	for _, name := range []string{"title", "description"} {
		members = append(members, protocol.Member{Name: name, Value: info[name]})
	}
	v, err := protocol.Edit(nil, members...)
	if err != nil {
		return jsontext.Value(`{}`)
	}
	return v
}

// private is an answer that may be kept for a while, as one that is for this client alone and not for
// long: what it shows depends on who asks and on what a person decides next.
func private(m protocol.Message) protocol.Message {
	members, err := protocol.Members(m.Result)
	if m.Result == nil || err != nil {
		return m
	}
	var edits []protocol.Member
	if scope := members["cacheScope"]; scope != nil && protocol.Text(scope) != "private" {
		edits = append(edits, protocol.Member{Name: "cacheScope", Value: jsontext.Value(`"private"`)})
	}
	if ttl := members["ttlMs"]; ttl != nil && !shortly(ttl) {
		edits = append(edits, protocol.Member{Name: "ttlMs", Value: jsontext.Value(strconv.FormatInt(maxTTL.Milliseconds(), 10))})
	}
	if len(edits) == 0 {
		return m
	}
	result, err := protocol.Edit(m.Result, edits...)
	if err != nil {
		return m
	}
	return m.WithBody(result)
}

// shortly says whether a time to live is a number and not too long.
func shortly(ttl jsontext.Value) bool {
	ms, err := strconv.ParseFloat(string(ttl), 64)
	return err == nil && ms >= 0 && ms <= float64(maxTTL.Milliseconds())
}

// withheldItem says why a request asks for something that does not exist for clients, "" when it does.
func (s *Session) withheldItem(m protocol.Message) string {
	if s.Pins == nil {
		return ""
	}
	members, err := protocol.Members(m.Params)
	if err != nil {
		return ""
	}
	ref, uri := members, protocol.Text(members["uri"])
	switch m.Method {
	case methodPrompt:
	case methodResource, methodSubscribe, methodUnsubscribe:
		return s.heldURI(uri)
	case methodComplete:
		if ref, err = protocol.Members(members["ref"]); err != nil {
			return ""
		}
		if uri = protocol.Text(ref["uri"]); uri != "" {
			return s.heldURI(uri)
		}
	default:
		return ""
	}
	name := protocol.Text(ref["name"])
	if why := s.Pins.Held(approvals.ItemPrompt, name); why != "" {
		return fmt.Sprintf("there is no prompt %q: %s", bounded(name), why)
	}
	return ""
}

func (s *Session) heldURI(uri string) string {
	why := s.Pins.Held(approvals.ItemResource, uri)
	if why == "" {
		why = s.Pins.Held(approvals.ItemTemplate, uri)
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("there is no resource %q: %s", bounded(uri), why)
}

// Reviewed has what the server lists judged again after a person has decided about it, and tells the
// client what has changed in what exists for it. It may be called at any time, by anybody.
func (s *Session) Reviewed() {
	s.mu.Lock()
	b := &s.tools
	for name, t := range b.known {
		b.known[name] = s.asTool(t.definition)
	}
	b.ours, b.theirs = listing{}, listing{} // what is being read was judged before
	b.digest = digestOf(b.known)
	changed := b.seen != "" && b.digest != b.seen
	if changed {
		b.seen = b.digest
	}
	var notes [][]byte
	if changed {
		notes = s.changeNotes(protocol.MethodToolsChange, "toolsListChanged")
	}
	notes = append(notes, s.changeNotes(methodPromptsNew, "promptsListChanged")...)
	notes = append(notes, s.changeNotes(methodResourcesNew, "resourcesListChanged")...)
	s.mu.Unlock()
	for _, raw := range notes {
		s.say(raw)
	}
}

// changeNotes is how the client is told that a list has changed: in the modern era once for each
// subscription to that, else by itself. Lists that it has not asked for are no news. s.mu is held.
func (s *Session) changeNotes(method, filter string) [][]byte {
	if s.hello.era != protocol.ModernEra {
		if !s.hello.answered || method != protocol.MethodToolsChange && !s.asked1[method] {
			return nil
		}
		return [][]byte{protocol.NewNotification(method, jsontext.Value(`{}`))}
	}
	var notes [][]byte
	for id, wanted := range s.listens {
		if string(wanted[filter]) == "true" {
			notes = append(notes, protocol.NewNotification(method, fmt.Appendf(nil, `{"_meta":{%q:%s}}`, protocol.MetaSubscription, id)))
		}
	}
	return notes
}

// maxListens bounds the subscriptions of a client that are remembered.
const maxListens = 100

// noteAsked remembers which lists a client has seen, and what it wants to be told of.
func (s *Session) noteAsked(m protocol.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m.Method {
	case methodPrompts:
		s.asked1[methodPromptsNew] = true
	case methodResources, methodTemplates:
		s.asked1[methodResourcesNew] = true
	case protocol.MethodListen:
		members, _ := protocol.Members(m.Params)
		if wanted, err := protocol.Members(members["notifications"]); err == nil && len(s.listens) < maxListens {
			s.listens[m.ID] = wanted
		}
	}
}

// listenOver forgets a subscription that has ended.
func (s *Session) listenOver(id protocol.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listens, id)
}
