package daemon

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/observe"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/store"
)

// The kinds of event about servers that a person watches.
const (
	observeStarted  store.Kind = "observe.started"
	observeEnded    store.Kind = "observe.ended"    // with how much was seen
	observeAccepted store.Kind = "observe.accepted" // the definition before and after
)

// observations are the servers that a person watches or has watched, the last time of each. They are
// gone with the daemon. The methods that others call from a nil one do nothing.
type observations struct {
	d       *Daemon
	running sync.WaitGroup // their clocks

	mu sync.Mutex // guards the field below, and those of observations
	of map[sandbox.ServerName]*observation
}

// observation is one server being watched.
type observation struct {
	server  sandbox.ServerName
	folders []string // that sessions get which name none
	since   time.Time
	until   time.Time
	ending  bool // it is not watched any more; what was seen is still being gathered
	ended   time.Time
	over    chan struct{} // closed when ended is set
	stop    context.CancelFunc
	follows sync.WaitGroup // of its sandboxes

	log    observe.Log
	blind  string
	lost   int
	mounts []string // that the person wants
	seq    int64
	more   chan struct{} // closed and replaced when seq grows
}

func newObservations(d *Daemon) *observations {
	return &observations{d: d, of: map[sandbox.ServerName]*observation{}}
}

// active is the observation that goes on of a server; nil when none does. s.mu is held.
func (s *observations) active(server sandbox.ServerName) *observation {
	if o := s.of[server]; o != nil && !o.ending {
		return o
	}
	return nil
}

// since is when the watching of a server began that goes on; zero when none does.
func (s *observations) since(server sandbox.ServerName) time.Time {
	if s == nil {
		return time.Time{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.active(server); o != nil {
		return o.since
	}
	return time.Time{}
}

// state says whether a server is watched, or what was seen of it waits; "" for neither.
func (s *observations) state(server sandbox.ServerName) string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := s.of[server]; {
	case o == nil:
		return ""
	case o.ended.IsZero():
		return "observing"
	}
	return "ended"
}

// note does something to the observation of a server that goes on, and tells who waits for it.
func (s *observations) note(server sandbox.ServerName, do func(*observation)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	o := s.of[server]
	if o == nil || !o.ended.IsZero() {
		s.mu.Unlock()
		return
	}
	do(o)
	o.tell()
	s.mu.Unlock()
	s.d.events.Publish("observation", string(server), nil)
}

// tell wakes whoever waits. observations.mu is held.
func (o *observation) tell() {
	o.seq++
	close(o.more)
	o.more = make(chan struct{})
}

// begins notes that a call is under way, and recorded how it went.
func (s *observations) begins(c approvals.Call) {
	s.note(c.Server, func(o *observation) { o.log.Begin(c.ID, c.Tool, time.Now()) })
}

func (s *observations) recorded(r store.CallRecord) {
	s.note(r.Call.Server, func(o *observation) {
		now := time.Now().UTC()
		o.log.End(r.Call.ID, now)
		if denied, known := answered(r.Decision); known {
			o.log.Note(observe.Event{Kind: observe.Tool, What: r.Call.Tool, Denied: denied, At: r.Call.At, In: r.Call.Tool})
		}
		o.changed(r.Changes, r.Call.Tool, now)
	})
}

// answered says how a call was decided; known is false where nobody did: an unanswered question is no no.
func answered(d approvals.Decision) (denied, known bool) {
	if d.Allowed() {
		return false, true
	}
	return true, d.Outcome == "" || d.Outcome == approvals.Denied || d.Outcome == approvals.Overruled
}

// changed notes changed files. observations.mu is held.
func (o *observation) changed(changes []sandbox.Change, tool string, at time.Time) {
	for _, c := range changes {
		o.log.Note(observe.Event{Kind: observe.Change, What: filepath.Join(c.Folder, c.Path), At: at, In: tool})
	}
}

// strayed notes files that were changed while no call was under way.
func (s *observations) strayed(server sandbox.ServerName, changes []sandbox.Change) {
	s.note(server, func(o *observation) { o.changed(changes, "", time.Now().UTC()) })
}

// reached notes a host that was reached, or that a person denied.
func (s *observations) reached(server sandbox.ServerName, host string, denied bool) {
	s.note(server, func(o *observation) {
		o.log.Note(observe.Event{Kind: observe.Host, What: host, Denied: denied, At: time.Now().UTC()})
	})
}

// used notes a secret that was put into a request, or refused.
func (s *observations) used(server sandbox.ServerName, secret string, denied bool) {
	s.note(server, func(o *observation) {
		o.log.Note(observe.Event{Kind: observe.Secret, What: secret, Denied: denied, At: time.Now().UTC()})
	})
}

// narrowed is what an observed server may reach without a question: what has to do with private
// networks and this machine, where an answer would reach less far than the rule. Of what answers have
// permitted, only that counts which came at since or later.
func (s *observations) narrowed(server sandbox.ServerName, l sandbox.Allowlist) (less sandbox.Allowlist, since time.Time) {
	since = s.since(server)
	if since.IsZero() {
		return l, since
	}
	l.Endpoints, l.PublicWeb, l.Ask = nil, false, true
	return l, since
}

// placed is a server with the folders that it is observed with.
func (s *observations) placed(server sandbox.Server) sandbox.Server {
	if s == nil {
		return server
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.active(server.Name); o != nil && len(o.folders) > 0 {
		server.Spec.Folders = o.folders
	}
	return server
}

// observing is the engine, which has the sandboxes of observed servers looked into.
type observing struct {
	*engine
	seen     *observations
	commands *commands
}

// Start implements sandbox.Runtime.
func (r observing) Start(ctx context.Context, l sandbox.Launch, io sandbox.Stdio) (sandbox.Instance, error) {
	watched := !r.seen.since(l.Server).IsZero()
	if watched {
		l.Observe, l.Network.Ask = true, true
	}
	if watched && l.Exec != nil {
		rules := *l.Exec
		rules.AskElse = true
		l.Exec = &rules
	}
	i, err := r.engine.Start(ctx, l, io)
	if err != nil || !watched && l.Exec == nil {
		return i, err
	}
	running, err := r.engine.get(ctx)
	if err != nil {
		return i, nil //nolint:nilerr // the engine has died since, and the sandbox with it
	}
	if watched {
		r.seen.follow(running, l)
	}
	if l.Exec != nil {
		r.commands.follow(running, l)
	}
	return i, nil
}

// sightingsWait is how long one request for what was seen waits.
const sightingsWait = 30 * time.Second

// follow takes up what is seen in a sandbox until it ends.
func (s *observations) follow(running *client.Engine, l sandbox.Launch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.active(l.Server); o != nil {
		o.follows.Go(func() { s.followed(running, o, l.ID) })
	}
}

func (s *observations) followed(running *client.Engine, o *observation, id sandbox.InstanceID) {
	after, counts := int64(0), map[string]int{}
	redact := func(text string) string { return s.d.secrets.redactor(o.server).Log(text) }
	for {
		seen, err := running.Sightings(context.Background(), id, after, sightingsWait) // it ends with the engine at the latest
		if err != nil {
			s.note(o.server, func(o *observation) { o.blind = sentenceOf(err) })
			return
		}
		if len(seen.List)+seen.Lost > 0 || seen.Blind != "" {
			s.note(o.server, func(o *observation) { o.take(seen, counts, redact) })
		}
		for _, one := range seen.List {
			after = max(after, one.Seq)
		}
		if seen.Over {
			return
		}
	}
}

func sentenceOf(err error) string { return "It was looked into only for a while: " + err.Error() + "." }

// executed is a program as rules would see it, without secrets: one that had any is not known in full.
func executed(s sandbox.Sighting, redact func(string) string) sandbox.Execution {
	x := s.Execution()
	clean := func(text string) string {
		out := redact(text)
		x.Cut = x.Cut || out != text
		return out
	}
	x.Path, x.Real = clean(x.Path), clean(x.Real)
	x.Argv = nil
	for _, w := range s.Argv {
		x.Argv = append(x.Argv, clean(w))
	}
	return x
}

// observedKinds are what of a sandbox's sightings is noted. What rules deny is no wish of the person's to be
// held to: it is denied anyway.
var observedKinds = map[sandbox.SightingKind]observe.Kind{
	sandbox.SawCommand: observe.Command, sandbox.SawMissing: observe.Path, sandbox.SawUsed: observe.Mount,
}

// take notes what was seen since the last time; counts is how often that had been, by then. redact takes
// secrets out. observations.mu is held.
func (o *observation) take(seen sandbox.Sightings, counts map[string]int, redact func(string) string) {
	for _, one := range seen.List {
		kind, known := observedKinds[one.Kind]
		if !known {
			continue
		}
		e := observe.Event{Kind: kind, What: redact(one.Path), Write: one.Write, At: one.Last}
		key := string(one.Kind) + "\x00" + one.Path + "\x00" + one.Dir
		if kind == observe.Command {
			e.Exec, key = executed(one, redact), key+"\x00"+strings.Join(one.Argv, "\x00")
		}
		e.Count = one.Count - counts[key]
		counts[key] = one.Count
		o.log.Note(e)
	}
	o.lost, o.blind = max(o.lost, seen.Lost), seen.Blind
}
