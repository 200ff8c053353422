package door

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

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

// fly sends m to the server of f; what a run that has ended leaves is answered.
func (x *all) fly(f *flight, m protocol.Message) {
	x.number(f)
	if f.run.pipe.send(x.ctx, m.WithID(protocol.ID(f.number))) != nil || f.run.pipe.isGone() {
		x.ended(f.run)
	}
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

// listening is one subscription of the client, at all servers.
type listening struct {
	id protocol.ID // the client's request

	mu    sync.Mutex
	heard map[*flight]bool // servers that acknowledged, or ended
	open  int              // servers that have not ended
	of    int              // servers
	all   chan struct{}    // closed when all were heard
	acked bool             // the client was told
	about jsontext.Value   // what they acknowledged
	queue [][]byte         // what came before that
}

// ackTime bounds how long a server may keep a subscription from being acknowledged.
const ackTime = 10 * time.Second

// listen subscribes at all servers.
func (x *all) listen(m protocol.Message) error {
	l := &listening{id: m.ID, heard: map[*flight]bool{}, open: len(x.members), of: len(x.members), all: make(chan struct{})}
	for _, mb := range x.members {
		f := &flight{name: mb.name, id: m.ID, listen: l}
		var err error
		if f.run, err = mb.running(x.ctx); err != nil {
			l.over(x, f)
			continue
		}
		x.fly(f, m)
	}
	late := time.NewTimer(ackTime)
	defer late.Stop()
	if len(x.members) > 0 {
		select {
		case <-l.all:
		case <-late.C:
		case <-x.ctx.Done():
		}
	}
	l.acknowledge(x)
	return nil
}

// subscribed passes on what a server says to a subscription.
func (x *all) subscribed(r *run, m protocol.Message, id jsontext.Value) {
	x.mu.Lock()
	f := x.flights[number(id)]
	x.mu.Unlock()
	if f == nil || f.run != r || f.listen == nil {
		return
	}
	m = withSubscription(m, m.Params, f.id)
	l := f.listen
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Method == "notifications/subscriptions/acknowledged" {
		l.about = merge(l.about, memberOf(m.Params, "notifications"))
		l.hear(f)
		return
	}
	if !l.acked {
		l.queue = append(l.queue, m.Raw)
		return
	}
	x.write(m.Raw)
}

// hear notes that a server acknowledged, or ended. l.mu is held.
func (l *listening) hear(f *flight) {
	if l.heard[f] {
		return
	}
	l.heard[f] = true
	if len(l.heard) == l.of {
		close(l.all)
	}
}

// acknowledge tells the client what all servers together acknowledged, and what came since. Where
// all have ended by then, so has the subscription.
func (l *listening) acknowledge(x *all) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = true
	x.write(protocol.NewNotification("notifications/subscriptions/acknowledged", fmt.Appendf(nil,
		`{"_meta":{%q:%s},"notifications":%s}`, protocol.MetaSubscription, l.id, merge(l.about, jsontext.Value("{}")))))
	for _, raw := range l.queue {
		x.write(raw)
	}
	l.queue = nil
	if l.open == 0 {
		l.end(x)
	}
}

// over is called when the subscription at one server has ended; the last one ends it all.
func (l *listening) over(x *all, f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hear(f)
	if l.open--; l.open == 0 && l.acked {
		l.end(x)
	}
}

func (l *listening) end(x *all) {
	x.write(protocol.NewResult(l.id, fmt.Appendf(nil, `{"resultType":"complete","_meta":{%q:%s}}`, protocol.MetaSubscription, l.id)))
}
