package door

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// all is one session with all servers that a token may reach: a server to its client, and the client
// of each server. Tools and prompts have the server's name before their own; resources are found by
// who lists them.
type all struct {
	o       Options
	access  Access
	client  Client
	ctx     context.Context // of the session
	runs    sync.WaitGroup
	members []*member // by name

	mu      sync.Mutex
	greet   jsontext.Value       // the params of initialize; nil in the modern era
	open    map[protocol.ID]bool // the client's requests in work; true when it cancelled
	flights map[string]*flight
	asked   map[string]question // what servers asked the client, by our number
	count   int64
	names   map[string]map[string]owned // of tools and prompts, by the method that lists them
	owners  map[string]*member          // of resources
}

// owned is a tool or prompt of a server, under the name that it has there.
type owned struct {
	member *member
	name   string
}

// flight is a request to a server that was not answered.
type flight struct {
	number string
	name   string // the server's
	run    *run
	id     protocol.ID           // of the client, whose request it is
	token  string                // its progress token
	listen *listening            // it is part of a subscription
	ours   chan protocol.Message // or it is ours
}

// question is a request of a server to the client.
type question struct {
	run   *run
	id    protocol.ID
	token jsontext.Value
}

// serveAll runs a session with all servers for c.
func serveAll(ctx context.Context, o Options, a Access, c Client) error {
	ctx, stop := context.WithCancel(ctx)
	x := &all{
		o: o, access: a, client: c, ctx: ctx, open: map[protocol.ID]bool{}, flights: map[string]*flight{}, asked: map[string]question{},
		names: map[string]map[string]owned{protocol.MethodToolsList: {}, "prompts/list": {}}, owners: map[string]*member{},
	}
	for _, name := range slices.Sorted(slices.Values(o.Backend.Servers(a))) {
		x.members = append(x.members, &member{x: x, name: name})
	}
	defer x.runs.Wait()
	defer stop()
	defer x.close()
	for {
		m, err := c.Read()
		if err != nil {
			return nil // the client is gone
		}
		x.fromClient(m)
	}
}

func (x *all) close() {
	for _, m := range x.members {
		m.mu.Lock()
		if m.run != nil {
			_ = m.run.pipe.Close()
		}
		m.mu.Unlock()
	}
}

func (x *all) greeting() jsontext.Value {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.greet
}

func (x *all) number(f *flight) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f.number = x.next()
	x.flights[f.number] = f
}

// next is a number that was never used. x.mu is held.
func (x *all) next() string {
	x.count++
	return strconv.FormatInt(x.count, 10)
}

func (x *all) forget(f *flight) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.flights, f.number)
}

// request answers one request of the client.
func (x *all) request(m protocol.Message) {
	defer x.done(m.ID)
	result, err := x.handle(m)
	var s *serverError
	var p *protocol.ParseError
	switch {
	case errors.As(err, &s):
		x.write(protocol.NewErrorAnswer(m.ID, s.object))
	case errors.As(err, &p):
		x.write(protocol.NewError(m.ID, p.Code, p.Why))
	case err != nil:
		x.write(protocol.NewError(m.ID, protocol.CodeInternal, err.Error()))
	case result != nil:
		x.write(protocol.NewResult(m.ID, result))
	}
}

// begin notes that a request is in work, so that it can be cancelled before a server has it.
func (x *all) begin(id protocol.ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open[id] = false
}

func (x *all) done(id protocol.ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.open, id)
}

// handle is the answer to m; nil when another gives it.
func (x *all) handle(m protocol.Message) (jsontext.Value, error) {
	switch m.Method {
	case protocol.MethodInitialize:
		return x.initialize(m)
	case protocol.MethodDiscover:
		return x.discover(m)
	case protocol.MethodListen:
		return nil, x.listen(m)
	case protocol.MethodPing, "logging/setLevel":
		return x.toAll(m)
	case protocol.MethodToolsList, "prompts/list", "resources/list", "resources/templates/list":
		return x.list(m)
	case protocol.MethodToolsCall, "prompts/get":
		return nil, x.byName(m)
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return x.byURI(m)
	case "completion/complete":
		return x.complete(m)
	}
	if isTask(m.Method) {
		return nil, &protocol.ParseError{Code: protocol.CodeNoMethod, Why: noTasks}
	}
	return nil, &protocol.ParseError{Code: protocol.CodeNoMethod, Why: "no such method for all servers together: " + m.Method}
}

// toAll passes m to each server that takes it, and answers for them.
func (x *all) toAll(m protocol.Message) (jsontext.Value, error) {
	modern := x.greeting() == nil
	if m.Method == protocol.MethodPing && !modern {
		return jsontext.Value("{}"), nil
	}
	if modern {
		return nil, &protocol.ParseError{Code: protocol.CodeNoMethod, Why: "method not found: " + m.Method}
	}
	x.gather(func(ctx context.Context, mb *member) error {
		if mb.can("logging") {
			_, err := mb.ask(ctx, m.Method, m.Params)
			return err
		}
		return nil
	})
	return jsontext.Value("{}"), nil
}

// can tells whether a greeted server has a capability; in the modern era it has to be asked.
func (m *member) can(capability string) bool {
	greeting := m.greeted()
	if greeting == nil {
		return m.x.greeting() == nil
	}
	return memberOf(greeting, "capabilities", capability) != nil
}

// memberOf is a value inside JSON objects; nil when it is not there.
func memberOf(v jsontext.Value, path ...string) jsontext.Value {
	for _, name := range path {
		if v == nil || v.Kind() != '{' {
			return nil
		}
		members, err := protocol.Members(v)
		if err != nil {
			return nil
		}
		v = members[name]
	}
	return v
}

// gather calls f for all servers at once, and says of each why it failed; nil for those that did not.
func (x *all) gather(f func(context.Context, *member) error) []error {
	ctx, cancel := context.WithTimeout(x.ctx, x.o.Wait)
	defer cancel()
	errs := make([]error, len(x.members))
	var wg sync.WaitGroup
	for i, m := range x.members {
		wg.Go(func() { errs[i] = f(ctx, m) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			x.o.Log.Warn("a server was left out", "server", x.members[i].name, "err", err)
		}
	}
	return errs
}

// initialize greets all servers as the client greets us.
func (x *all) initialize(m protocol.Message) (jsontext.Value, error) {
	members, err := protocol.Members(m.Params, "protocolVersion")
	if err != nil {
		return nil, err
	}
	version := protocol.Revision(protocol.Text(members["protocolVersion"]))
	if version.Era() != protocol.LegacyEra {
		version = protocol.V20251125
	}
	x.mu.Lock()
	x.greet = m.Params
	x.mu.Unlock()
	errs := x.gather(func(ctx context.Context, mb *member) error {
		_, err := mb.running(ctx)
		return err
	})
	greetings := make([]jsontext.Value, len(x.members))
	for i, mb := range x.members {
		if greetings[i] = mb.greeted(); greetings[i] == nil {
			mb.leave()
		}
	}
	capabilities, instructions := x.together(greetings, errs)
	return fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":%s,"serverInfo":%s,"instructions":%s}`,
		protocol.Quote(string(version)), capabilities, serverInfo, protocol.Quote(instructions)), nil
}

// serverInfo is how all servers together introduce themselves.
const serverInfo = `{"name":"garita","version":"1"}`

// together is what all servers can do, and what they say of themselves. Those that failed are named.
func (x *all) together(greetings []jsontext.Value, errs []error) (capabilities jsontext.Value, instructions string) {
	capabilities = jsontext.Value(`{"tools":{"listChanged":true}}`)
	var words []string
	for i, m := range x.members {
		if errs[i] != nil {
			capabilities = merge(capabilities, jsontext.Value(`{"prompts":{"listChanged":true},"resources":{"listChanged":true}}`)) // it may come yet
			words = append(words, fmt.Sprintf("Server %q is not available: %v", m.name, errs[i]))
			continue
		}
		capabilities = merge(capabilities, offered(memberOf(greetings[i], "capabilities")))
		if s := protocol.Text(memberOf(greetings[i], "instructions")); s != "" {
			words = append(words, fmt.Sprintf("Server %q (its tools begin with %s__):\n%s", m.name, serverPart(m.name), s))
		}
	}
	return capabilities, strings.Join(words, "\n\n")
}

// discover asks all servers of the modern era what they can do.
func (x *all) discover(m protocol.Message) (jsontext.Value, error) {
	greetings := make([]jsontext.Value, len(x.members))
	errs := x.gather(func(ctx context.Context, mb *member) error {
		answer, err := mb.ask(ctx, m.Method, m.Params)
		for i := range x.members {
			if x.members[i] == mb {
				greetings[i] = answer.Result
			}
		}
		return err
	})
	capabilities, instructions := x.together(greetings, errs)
	return fmt.Appendf(nil, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":%s,"instructions":%s,"ttlMs":0,"cacheScope":"private","_meta":{%q:%s}}`,
		capabilities, protocol.Quote(instructions), protocol.MetaServerInfo, serverInfo), nil
}
