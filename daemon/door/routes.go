package door

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// forward passes m to a server; its answer goes to the client as it comes.
func (x *all) forward(mb *member, m protocol.Message) error {
	r, err := mb.running(x.ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", mb.name, err)
	}
	x.fly(&flight{name: mb.name, run: r, id: m.ID, token: string(progressToken(m.Params))}, m)
	return nil
}

// fly sends m to the server of f, unless it was cancelled; what a run that has ended leaves is
// answered.
func (x *all) fly(f *flight, m protocol.Message) {
	if !x.depart(f) {
		return
	}
	if f.run.pipe.send(x.ctx, m.WithID(protocol.ID(f.number))) != nil || f.run.pipe.isGone() {
		x.ended(f.run)
	}
}

// depart numbers a flight; false when its request was cancelled.
func (x *all) depart(f *flight) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open[f.id] {
		return false
	}
	f.number = x.next()
	x.flights[f.number] = f
	return true
}

// byName passes a call of a tool or prompt to the server whose it is.
func (x *all) byName(m protocol.Message) error {
	name := protocol.Text(memberOf(m.Params, "name"))
	of, ok := x.find(m, name)
	if !ok {
		return &protocol.ParseError{Code: protocol.CodeInvalidParams, Why: "unknown name: " + name}
	}
	params, err := protocol.Replace(m.Params, "name", protocol.Quote(of.name))
	if err != nil {
		return err
	}
	return x.forward(of.member, m.WithBody(params))
}

// find is whose a name is; where it is not known, all are listed again.
func (x *all) find(m protocol.Message, name string) (owned, bool) {
	method := "prompts/list"
	if m.Method == protocol.MethodToolsCall {
		method = protocol.MethodToolsList
	}
	look := func() (owned, bool) {
		x.mu.Lock()
		defer x.mu.Unlock()
		of, ok := x.names[method][name]
		return of, ok
	}
	if of, ok := look(); ok {
		return of, true
	}
	x.gathered(method, m)
	return look()
}

// lists is what each list is of, by method.
var lists = map[string]struct{ member, capability string }{
	protocol.MethodToolsList:   {"tools", "tools"},
	"prompts/list":             {"prompts", "prompts"},
	"resources/list":           {"resources", "resources"},
	"resources/templates/list": {"resourceTemplates", "resources"},
}

// maxPage is how many entries one page has.
const maxPage = 1000

// list is a page of what all servers list, in the order of their names, each as it does.
func (x *all) list(m protocol.Message) (jsontext.Value, error) {
	from, err := offset(memberOf(m.Params, "cursor"))
	if err != nil {
		return nil, err
	}
	entries := x.gathered(m.Method, m)
	from = min(from, len(entries))
	to := min(from+maxPage, len(entries))
	result := map[string]jsontext.Value{lists[m.Method].member: array(entries[from:to])}
	if to < len(entries) {
		result["nextCursor"] = protocol.Quote(base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(to))))
	}
	if x.greeting() == nil {
		result["resultType"], result["ttlMs"], result["cacheScope"] = jsontext.Value(`"complete"`), jsontext.Value("0"), jsontext.Value(`"private"`)
	}
	return object(result), nil
}

// offset is where a page begins.
func offset(cursor jsontext.Value) (int, error) {
	if cursor == nil {
		return 0, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(protocol.Text(cursor))
	if err == nil {
		if n, err := strconv.Atoi(string(b)); err == nil && n >= 0 {
			return n, nil
		}
	}
	return 0, &protocol.ParseError{Code: protocol.CodeInvalidParams, Why: "that cursor is none of ours"}
}

// gathered is all entries of a list; names and owners are remembered. Servers that fail are left out.
func (x *all) gathered(method string, m protocol.Message) []jsontext.Value {
	var mu sync.Mutex
	of := map[*member][]jsontext.Value{}
	x.gather(func(ctx context.Context, mb *member) error {
		entries, err := mb.list(ctx, method, m)
		mu.Lock()
		defer mu.Unlock()
		of[mb] = entries
		return err
	})
	var entries []jsontext.Value
	names := map[string]bool{}
	for _, mb := range x.members {
		for _, e := range of[mb] {
			e, name := x.own(method, mb, e)
			if !names[name] {
				entries = append(entries, e)
			}
			names[name] = name != ""
		}
	}
	return entries
}

// list is all entries of one server.
func (m *member) list(ctx context.Context, method string, of protocol.Message) (all []jsontext.Value, err error) {
	if _, err := m.running(ctx); err != nil {
		return nil, err
	}
	if !m.can(lists[method].capability) {
		return nil, nil
	}
	var cursor jsontext.Value
	seen := map[string]bool{}
	for range maxPages {
		params, err := listParams(of, cursor)
		if err != nil {
			return all, err
		}
		answer, err := m.ask(ctx, method, params)
		if noMethod(err) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		entries, err := protocol.Elements(memberOf(answer.Result, lists[method].member))
		if err != nil {
			return all, err
		}
		all = append(all, entries...)
		cursor = memberOf(answer.Result, "nextCursor")
		if cursor == nil || cursor.Kind() != '"' || seen[string(cursor)] {
			return all, nil
		}
		seen[string(cursor)] = true
	}
	return all, nil
}

// own is an entry as all servers together show it, and the name it has there; "" for a resource.
func (x *all) own(method string, mb *member, entry jsontext.Value) (jsontext.Value, string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch method {
	case "resources/list":
		x.claim(mb, protocol.Text(memberOf(entry, "uri")))
		return entry, ""
	case "resources/templates/list":
		prefix, _, _ := strings.Cut(protocol.Text(memberOf(entry, "uriTemplate")), "{")
		x.claim(mb, prefix+"{")
		return entry, ""
	}
	name := protocol.Text(memberOf(entry, "name"))
	shown := exposed(mb.name, name)
	x.names[method][shown] = owned{mb, name}
	named, err := protocol.Replace(entry, "name", protocol.Quote(shown))
	if err != nil {
		return entry, shown
	}
	return named, shown
}

// claim makes mb the owner of a resource, or of a template's beginning, that has none. x.mu is held.
func (x *all) claim(mb *member, uri string) {
	if x.owners[uri] == nil {
		x.owners[uri] = mb
	}
}

// byURI asks the server that lists a resource; where none does, those whose templates it fits, and
// then each that has resources, until one has it.
func (x *all) byURI(m protocol.Message) (jsontext.Value, error) {
	uri := protocol.Text(memberOf(m.Params, "uri"))
	if mb := x.owner(m, uri); mb != nil {
		return nil, x.forward(mb, m)
	}
	var last error = &protocol.ParseError{Code: protocol.CodeInvalidParams, Why: "no server has this resource"}
	for _, mb := range x.members {
		if !mb.can("resources") {
			continue
		}
		answer, err := mb.ask(x.ctx, m.Method, m.Params)
		if err == nil {
			x.mu.Lock()
			x.owners[uri] = mb
			x.mu.Unlock()
			return answer.Result, nil
		}
		if !noMethod(err) {
			last = err
		}
	}
	return nil, last
}

// owner is the server that has a resource, as far as lists and templates tell.
func (x *all) owner(m protocol.Message, uri string) *member {
	if mb := x.known(uri); mb != nil {
		return mb
	}
	x.gathered("resources/list", m)
	x.gathered("resources/templates/list", m)
	return x.known(uri)
}

func (x *all) known(uri string) *member {
	x.mu.Lock()
	defer x.mu.Unlock()
	if mb := x.owners[uri]; mb != nil {
		return mb
	}
	var found *member
	longest := 1 // a template that begins with a variable says nothing
	for key, mb := range x.owners {
		prefix, isTemplate := strings.CutSuffix(key, "{")
		if isTemplate && len(prefix) > longest && strings.HasPrefix(uri, prefix) {
			found, longest = mb, len(prefix)
		}
	}
	return found
}

// complete passes a completion to the server whose prompt or resource it is about.
func (x *all) complete(m protocol.Message) (jsontext.Value, error) {
	ref := memberOf(m.Params, "ref")
	if uri := protocol.Text(memberOf(ref, "uri")); uri != "" {
		prefix, _, _ := strings.Cut(uri, "{")
		if mb := x.owner(m, prefix); mb != nil {
			return nil, x.forward(mb, m)
		}
	}
	of, ok := x.find(m, protocol.Text(memberOf(ref, "name")))
	if !ok {
		return nil, &protocol.ParseError{Code: protocol.CodeInvalidParams, Why: "no server has what this completes"}
	}
	ref, err := protocol.Replace(ref, "name", protocol.Quote(of.name))
	if err != nil {
		return nil, err
	}
	params, err := protocol.Replace(m.Params, "ref", ref)
	if err != nil {
		return nil, err
	}
	return nil, x.forward(of.member, m.WithBody(params))
}
