package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/pins"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// firstUse is how long the first listing of a kind may take; what comes later is new.
const firstUse = 10 * time.Minute

// maxShown bounds the items that are remembered of one server.
const maxShown = 20_000

// itemKey names an item of one server.
type itemKey struct {
	kind approvals.ItemKind
	name string
}

func (k itemKey) String() string { return string(k.kind) + "/" + k.name }

// shown is an item as it was last listed.
type shown struct {
	now     approvals.Pin // as it is
	verdict pins.Verdict
	held    string // "" when it exists for clients
	at      time.Time
}

// pinned is what is accepted of all servers, in memory; garita.lock is the truth about configured ones.
type pinned struct {
	d *Daemon

	mu    sync.Mutex // guards the fields below and what is in the books
	books map[sandbox.ServerName]*book
	names *pins.Names // of all tools

	writing sync.Mutex     // of the lock; taken before mu
	asking  sync.WaitGroup // questions that wait
}

// book is what is accepted of one server, and what it has shown since.
type book struct {
	all    *pinned
	server sandbox.ServerName
	known  bool // what is accepted; not while garita.lock cannot be read

	accepted map[itemKey]approvals.Pin
	refused  map[itemKey]sandbox.Digest
	open     map[approvals.ItemKind]time.Time // first listings under way, since when
	closed   map[approvals.ItemKind]bool      // kinds that were listed whole once
	shown    map[itemKey]shown
	read     map[sandbox.Digest]reading // of definitions as they were written
	unsaved  bool
	notes    []note // for the record

	asked   sandbox.Digest // the last set of held items that was asked about
	askedAt time.Time
	cancel  context.CancelFunc // withdraws the question
}

// reading is what is known of a definition, by its bytes.
type reading struct {
	pin   approvals.Pin
	found []approvals.PinFinding
	err   error
}

// note is one thing for the record.
type note struct {
	kind store.Kind
	body map[string]any
}

// What the record says of items.
const (
	pinAccepted store.Kind = "pin.accepted"
	pinCosmetic store.Kind = "pin.cosmetic"
	pinHeld     store.Kind = "pin.held"
	pinRefused  store.Kind = "pin.refused"
)

func newPinned(d *Daemon) *pinned {
	p := &pinned{d: d, books: map[sandbox.ServerName]*book{}, names: &pins.Names{}}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range d.config.Servers() {
		p.book(s.Name)
	}
	return p
}

// book is a server's. p.mu is held.
func (p *pinned) book(server sandbox.ServerName) *book {
	b := p.books[server]
	if b == nil {
		b = &book{
			all: p, server: server, shown: map[itemKey]shown{}, read: map[sandbox.Digest]reading{},
			open: map[approvals.ItemKind]time.Time{}, known: true, cancel: func() {},
		}
		b.load()
		p.books[server] = b
	}
	return b
}

// load reads what was accepted. A pin whose definition is not what its digest says is none.
func (b *book) load() {
	saved, known := b.all.d.config.Pins(b.server)
	b.known = known
	b.accepted, b.refused, b.closed = map[itemKey]approvals.Pin{}, map[itemKey]sandbox.Digest{}, map[approvals.ItemKind]bool{}
	for kind, all := range saved.Accepted {
		b.closed[approvals.ItemKind(kind)] = true
		for name, x := range all {
			it := approvals.Item{Kind: approvals.ItemKind(kind), Name: name, Definition: x.Definition}
			p, err := pins.Pin(it)
			if err != nil || p.Digest != x.Digest {
				b.all.d.log.Warn("garita.lock: a pin is not what its digest says, and counts for nothing", "server", b.server, "item", kind+"/"+name, "err", err)
				continue
			}
			p.Accepted, p.By = x.At, x.By
			b.accept(p)
		}
	}
	for kind, all := range saved.Refused {
		for name, digest := range all {
			b.refused[itemKey{approvals.ItemKind(kind), name}] = digest
		}
	}
}

func (b *book) accept(p approvals.Pin) {
	b.accepted[itemKey{p.Kind, p.Name}] = p
	if p.Kind == approvals.ItemTool {
		b.all.names.Add(b.server, p.Name)
	}
}

// saved is what garita.lock is to say.
func (b *book) saved() config.Pins {
	out := config.Pins{Accepted: map[string]map[string]config.Pin{}, Refused: map[string]map[string]sandbox.Digest{}}
	for kind := range b.closed {
		out.Accepted[string(kind)] = map[string]config.Pin{}
	}
	for k, p := range b.accepted {
		if out.Accepted[string(k.kind)] == nil {
			out.Accepted[string(k.kind)] = map[string]config.Pin{}
		}
		out.Accepted[string(k.kind)][k.name] = config.Pin{Digest: p.Digest, At: p.Accepted, By: p.By, Definition: p.Definition}
	}
	for k, digest := range b.refused {
		if out.Refused[string(k.kind)] == nil {
			out.Refused[string(k.kind)] = map[string]sandbox.Digest{}
		}
		out.Refused[string(k.kind)][k.name] = digest
	}
	return out
}

// sessionPins is one server's book as a session uses it.
type sessionPins struct {
	*book
	about approvals.Call // who lists: for the question
}

var _ gateway.Pins = sessionPins{}

// pinsOf is a session's way to what is accepted of its server.
func (d *Daemon) pinsOf(o gateway.Options) sessionPins {
	d.pins.mu.Lock()
	defer d.pins.mu.Unlock()
	return sessionPins{d.pins.book(o.Server.Name), approvals.Call{
		Principal: o.Principal, Server: o.Server.Name, Spec: o.Spec, Workspace: o.Workspace, Mode: o.Server.Spec.Workspace,
		External: o.Server.Source.External(),
	}}
}

// Judge implements gateway.Pins.
func (b sessionPins) Judge(it approvals.Item) gateway.Standing {
	b.all.mu.Lock()
	defer b.all.mu.Unlock()
	r := b.reading(it)
	if r.err != nil {
		return gateway.Standing{Held: "its definition cannot be read"}
	}
	key := itemKey{it.Kind, it.Name}
	old, had := b.shown[key]
	if had && old.now.Digest == r.pin.Digest {
		return gateway.Standing{Pin: old.verdict.Pin.Digest, Held: old.held}
	}
	return b.show(key, r, had)
}

// reading looks a definition through, once.
func (b *book) reading(it approvals.Item) reading {
	key := pins.Digest(append([]byte(string(it.Kind)+"\x00"+it.Name+"\x00"), it.Definition...))
	r, ok := b.read[key]
	if ok {
		return r
	}
	if r.pin, r.err = pins.Pin(it); r.err == nil {
		r.found = pins.Scan(it, b.server, b.all.names)
	}
	if len(b.read) >= maxShown {
		clear(b.read)
	}
	b.read[key] = r
	return r
}

// show judges an item that is not as it was last shown.
func (b *book) show(key itemKey, r reading, had bool) gateway.Standing {
	v := b.judge(key, r)
	s := shown{now: r.pin, verdict: v, held: v.Held, at: time.Now().UTC().Truncate(time.Second)}
	switch {
	case v.Held != "" && b.refused[key] == r.pin.Digest:
		s.held = "a person has seen it and does not want it"
	case v.Held != "":
		b.note(pinHeld, key, map[string]any{"why": v.Held, "digest": r.pin.Digest, "drift": v.Drift.Kind, "findings": v.Findings})
	case v.Accept != "" && v.Drift.Kind == approvals.NoDrift:
		if len(b.accepted) >= maxShown { // data without end: judged anew each time
			break
		}
		p := v.Pin
		p.Accepted, p.By = s.at, v.Accept
		b.accept(p)
		b.unsaved = true
	case v.Accept != "":
		b.note(pinCosmetic, key, map[string]any{"digest": r.pin.Digest, "fields": v.Drift.Fields})
		b.all.d.log.Info("a cosmetic change was accepted", "server", b.server, "item", key.String())
	}
	if had || len(b.shown) < maxShown {
		b.shown[key] = s
	}
	return gateway.Standing{Pin: v.Pin.Digest, Held: s.held}
}

func (b *book) judge(key itemKey, r reading) pins.Verdict {
	pin, ok := b.accepted[key]
	if !ok {
		return pins.Judge(nil, r.pin, r.found, nil, b.first(key))
	}
	if pin.Digest == r.pin.Digest {
		return pins.Judge(&pin, r.pin, r.found, nil, false)
	}
	before := b.reading(approvals.Item{Kind: pin.Kind, Name: pin.Name, Definition: pin.Definition})
	return pins.Judge(&pin, r.pin, r.found, before.found, false)
}

// first says whether an item is of a server's first listing.
func (b *book) first(key itemKey) bool {
	switch {
	case !b.known:
		return false
	case key.kind == approvals.ItemInstructions: // each has its own
		return true
	case b.closed[key.kind]:
		return false
	}
	if b.open[key.kind].IsZero() {
		b.open[key.kind] = time.Now()
	}
	return time.Since(b.open[key.kind]) < firstUse
}

func (b *book) note(kind store.Kind, key itemKey, body map[string]any) {
	body["kind"], body["name"] = key.kind, key.name
	b.notes = append(b.notes, note{kind, body})
}

// Listed implements gateway.Pins: what was accepted is saved, what happened recorded, and a person is asked
// about what is held back.
func (b sessionPins) Listed(kind approvals.ItemKind, whole bool) {
	b.all.mu.Lock()
	if whole && !b.closed[kind] && b.known {
		b.closed[kind], b.unsaved = true, true
		n := 0
		for k := range b.accepted {
			if k.kind == kind {
				n++
			}
		}
		b.notes = append(b.notes, note{pinAccepted, map[string]any{"kind": kind, "items": n, "by": "first use"}})
	}
	unsaved, notes := b.unsaved, b.notes
	b.unsaved, b.notes = false, nil
	b.all.mu.Unlock()
	if unsaved {
		b.save()
	}
	b.record(b.about.Principal, notes)
	b.ask(b.about)
}

// save writes what is accepted into garita.lock. Of a server that is not configured nothing is kept.
func (b *book) save() {
	d := b.all.d
	if _, configured := d.config.Server(b.server); !configured {
		return
	}
	b.all.writing.Lock()
	defer b.all.writing.Unlock()
	b.all.mu.Lock()
	saved, known := b.saved(), b.known
	b.all.mu.Unlock()
	if !known {
		return
	}
	if err := d.config.SetPins(b.server, saved); err != nil {
		d.log.Error("what was accepted of a server cannot be saved; it counts until the daemon ends", "server", b.server, "err", err)
	}
}

func (b *book) record(by approvals.Principal, notes []note) {
	d := b.all.d
	for _, n := range notes {
		e := event(n.kind, by, n.body)
		e.Server = b.server
		if _, err := d.db.Append(context.WithoutCancel(d.running), e); err != nil {
			d.log.Error("cannot record what a server shows", "server", b.server, "err", err)
		}
	}
	if len(notes) > 0 {
		d.events.Publish("server", string(b.server), nil)
	}
}

// Held implements gateway.Pins. A prompt that is in no list is none once there has been one; a resource is
// held if it is, or if only a template that is leads to it.
func (b sessionPins) Held(kind approvals.ItemKind, name string) string {
	b.all.mu.Lock()
	defer b.all.mu.Unlock()
	s, ok := b.shown[itemKey{kind, name}]
	_, accepted := b.accepted[itemKey{kind, name}]
	switch {
	case ok && s.held != "":
		return b.words(s.held)
	case ok || accepted:
		return ""
	case kind == approvals.ItemPrompt && b.closed[kind]:
		return "the server has never listed it"
	case kind == approvals.ItemTemplate:
		return b.heldTemplate(name)
	}
	return ""
}

// words are why something is held back, and what to do.
func (b *book) words(held string) string {
	return fmt.Sprintf("it is held back, because %s. A person can look at it: garita server review %s", held, b.server)
}

// heldTemplate is why the template that leads to uri is held back, "" when none is or another leads there.
func (b *book) heldTemplate(uri string) string {
	if _, listed := b.accepted[itemKey{approvals.ItemResource, uri}]; listed {
		return ""
	}
	why, longest := "", -1
	for k, s := range b.shown {
		if n := pins.Leads(k.name, uri); k.kind == approvals.ItemTemplate && n > longest {
			why, longest = s.held, n
		}
	}
	if why == "" {
		return ""
	}
	return b.words(why)
}

// heldTool is why a tool does not exist for its clients; "" when it was accepted as it is.
func (p *pinned) heldTool(c approvals.Call) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.books[c.Server]
	if b == nil {
		return ""
	}
	key := itemKey{approvals.ItemTool, c.Tool}
	if c.Pin == "" || b.accepted[key].Digest == c.Pin {
		return "" // accepted, or listed by nobody: the gate has words for that
	}
	s, ok := b.shown[key]
	if ok && s.held != "" {
		return fmt.Sprintf("%s; they can look at it with: garita server review %s", s.held, c.Server)
	}
	return fmt.Sprintf("it is not what was accepted; they can look at it with: garita server review %s", c.Server)
}

// of is the pin that calls of a tool so defined carry: the accepted one where it is that, but for how it is
// written.
func (p *pinned) of(server sandbox.ServerName, t protocol.ToolDefinition) sandbox.Digest {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.book(server)
	key := itemKey{approvals.ItemTool, t.Name}
	r := b.reading(approvals.Item{Kind: approvals.ItemTool, Name: t.Name, Definition: t.Raw})
	if r.err != nil {
		return ""
	}
	return b.judge(key, r).Pin.Digest
}

// standings is what is held against tools, from both who know.
type standings struct{ *Daemon }

func (s standings) Standing(ctx context.Context, c approvals.Call) (approvals.Standing, error) {
	standing, err := s.db.Standing(ctx, c)
	standing.Held = s.pins.heldTool(c)
	standing.Observed = s.observed.since(c.Server)
	return standing, err
}

// reload is for garita.lock having been changed by others.
func (p *pinned) reload() {
	p.mu.Lock()
	var changed []sandbox.ServerName
	for server, b := range p.books {
		if _, configured := p.d.config.Server(server); !configured {
			continue // of what is run once, nothing is in the lock
		}
		accepted, refused := b.accepted, b.refused
		b.load()
		if maps.EqualFunc(accepted, b.accepted, samePin) && maps.Equal(refused, b.refused) {
			continue
		}
		clear(b.shown)
		changed = append(changed, server)
	}
	p.mu.Unlock()
	for _, server := range slices.Sorted(slices.Values(changed)) {
		p.reviewed(server)
	}
}

// forget is for a server that is no more.
func (p *pinned) forget(server sandbox.ServerName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.books[server]; b != nil {
		b.cancel()
		delete(p.books, server)
	}
	p.names = &pins.Names{}
	for _, b := range p.books {
		for key := range b.accepted {
			if key.kind == approvals.ItemTool {
				p.names.Add(b.server, key.name)
			}
		}
	}
}

func samePin(a, b approvals.Pin) bool { return a.Digest == b.Digest }

// reviewed has the sessions of a server judge what it lists again. No lock of ours is held.
func (p *pinned) reviewed(server sandbox.ServerName) {
	for _, s := range p.d.live.at(server) {
		s.Reviewed()
	}
	p.d.events.Publish("server", string(server), nil)
}
