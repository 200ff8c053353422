package daemon

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/store"
)

// notStarted is why a server is not started for want of a secret. Nothing of it is the server's fault.
type notStarted struct{ server, why, next string }

// Error names what is wanting and the next command.
func (e *notStarted) Error() string { return fmt.Sprintf("not started: %s. Next: %s", e.why, e.next) }

// Unwrap makes it a FailedPrecondition.
func (*notStarted) Unwrap() error { return errdefs.ErrFailedPrecondition }

// wanting says why a secret cannot be given to a server now; nil when it can. err is what came of looking
// for it.
func wanting(server sandbox.ServerName, g sandbox.SecretGrant, ref store.SecretRef, err error, now time.Time) error {
	which := fmt.Sprintf("%s (%s)", g.Secret, g.Where())
	set := "garita secret set " + g.Secret
	switch {
	case !g.InForce(now):
		return &notStarted{string(server), fmt.Sprintf("the leave to use the secret %s has ended", which), "take it out of servers.yaml, or change its until"}
	case errdefs.IsNotFound(err):
		return &notStarted{string(server), "missing secret " + which, set}
	case err != nil:
		return &notStarted{string(server), fmt.Sprintf("the secret %s cannot be read: %s", which, strings.TrimSuffix(err.Error(), ".")), "garita secret list"}
	case ref.Expired(now):
		return &notStarted{string(server), fmt.Sprintf("the secret %s expired on %s", which, ref.Expires.Local().Format("2 January 2006 15:04")), set}
	}
	return nil
}

// wholeReference is a value that is nothing but the place of another, as clients write it.
var wholeReference = regexp.MustCompile(`^(?:--?[A-Za-z0-9-]+=)?(?:\$\{(?:env:|input:)?([A-Za-z_][A-Za-z0-9_.-]*)\}|\{env:([A-Za-z_][A-Za-z0-9_]*)\}|\$\{\{ *([A-Za-z_][A-Za-z0-9_. ]*)\}\})$`)

// reference is one within another text: "Bearer ${TOKEN}".
var reference = regexp.MustCompile(`\$\{(?:env:|input:)?[A-Za-z_][A-Za-z0-9_.-]*\}`)

// unexpanded finds a reference that nobody has put a value in place of: as it is, it would look to the
// server like one, until its first call fails.
func unexpanded(srv sandbox.Server) error {
	refuse := func(value, where string) error {
		m := wholeReference.FindStringSubmatch(value)
		if m == nil {
			return nil
		}
		name := strings.TrimSpace(m[1] + m[2] + m[3])
		return &notStarted{
			string(srv.Name), fmt.Sprintf("missing variable %s (%s); servers.yaml puts nothing in place of a reference", name, where),
			fmt.Sprintf("write the value there, or, if it is a secret: garita secret set NAME, then garita secret grant NAME %s", srv.Name),
		}
	}
	for name, value := range srv.Spec.Env {
		if err := refuse(value, "env."+name); err != nil {
			return err
		}
	}
	for name, value := range srv.Source.Headers {
		if ref := reference.FindString(value); ref != "" {
			return refuse(ref, "headers."+name)
		}
	}
	for i, w := range slices.Concat(srv.Source.Command, srv.Source.Args) {
		if err := refuse(w, fmt.Sprintf("word %d of its command", i+1)); err != nil {
			return err
		}
	}
	return nil
}

// watch notes that a call is under way in a sandbox; what it returns says which secrets it had. An error
// says that the sandbox must not be used any more.
func (s *secrets) watch(c approvals.Call) (stop func() []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[holdingOf(c)]
	if h == nil {
		return func() []string { return nil }, nil
	}
	if h.stale != "" {
		return nil, fmt.Errorf("%s, and its server was started before that; call it again: %w", h.stale, errdefs.ErrUnavailable)
	}
	one := &carrying{tool: c.Tool}
	for _, g := range h.given {
		if g.grant.Weaker() {
			one.note(g.grant.Secret, g.ref.Version)
		}
	}
	h.calls[c.ID] = one
	return func() []string {
		defer s.cutIdle(h)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(h.calls, c.ID)
		return one.used
	}, nil
}

// note adds a secret to what a call has had.
func (c *carrying) note(secret string, version int64) {
	if what := fmt.Sprintf("%s, version %d", secret, version); !slices.Contains(c.used, what) {
		c.used = append(c.used, what)
	}
}

// underWay are a sandbox's calls, in order, and their tools. s.mu is held.
func (h *holding) underWay() (ids []approvals.CallID, tools []string) {
	for id, c := range h.calls {
		ids = append(ids, id)
		tools = append(tools, c.tool)
	}
	slices.Sort(ids)
	return ids, tools
}

// mayUse decides whether a secret may be used while calls of these tools are under way: one that is for
// some tools only while nothing else could be at work.
func mayUse(g sandbox.SecretGrant, tools []string, now time.Time) bool {
	if !g.InForce(now) {
		return false
	}
	if len(g.Tools) == 0 {
		return true
	}
	return len(tools) > 0 && !slices.ContainsFunc(tools, func(t string) bool { return !g.Covers(t) })
}

// wanted answers the wall, which holds a request until it knows whether a secret may be put into it. It
// does not wait.
func (s *secrets) wanted(o *way, w client.SecretWanted) {
	s.mu.Lock()
	g, ok := s.givenTo(o.launch.ID, w.Secret)
	var tools []string
	if ok {
		_, tools = s.held[o.launch.ID].underWay()
	}
	s.mu.Unlock()
	allow := ok && !g.dropped && mayUse(g.grant, tools, time.Now())
	ctx := s.d.running
	s.using.Go(func() {
		if allow && (g.grant.Ask || !s.d.observed.since(o.launch.Server).IsZero()) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer o.untilClosed(cancel)()
			allow = s.ask(ctx, o.wants(), w.Secret, sandbox.Endpoint{Host: w.Host, Port: w.Port})
		}
		if err := o.current().Leave(ctx, w.Use, allow); err != nil && ctx.Err() == nil {
			s.d.log.Warn("the wall was not told whether a secret may be used", "server", o.launch.Server, "err", err)
		}
	})
}

// givenTo is one secret of a sandbox. s.mu is held.
func (s *secrets) givenTo(id sandbox.InstanceID, name string) (given, bool) {
	h := s.held[id]
	if h == nil {
		return given{}, false
	}
	i := slices.IndexFunc(h.given, func(g given) bool { return g.grant.Secret == name })
	if i < 0 {
		return given{}, false
	}
	return h.given[i], true
}

// wanter is who wants to use a secret: a sandbox, or a session with a server at a URL.
type wanter struct {
	session  gateway.Options
	server   sandbox.ServerName
	instance sandbox.InstanceID // "" for none
}

func (o *way) wants() wanter { return wanter{o.session, o.launch.Server, o.launch.ID} }

// ask says whether a person permits a use, now or earlier.
func (s *secrets) ask(ctx context.Context, who wanter, secret string, toward sandbox.Endpoint) bool {
	if s.permitted(who, secret, toward) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, wallWait)
	defer cancel()
	d, err := s.d.gate.Ask(ctx, who.secretQuestion(secret, toward.String()))
	if err != nil && ctx.Err() == nil {
		s.d.log.Warn("nobody could be asked about a secret", "server", who.server, "err", err)
	}
	return err == nil && d.Allowed()
}

// permitted says whether a person has permitted a use earlier.
func (s *secrets) permitted(who wanter, secret string, toward sandbox.Endpoint) bool {
	since := s.d.observed.since(who.server)
	return slices.ContainsFunc(s.d.gate.Grants(), func(g approvals.Grant) bool {
		return !g.Created.Before(since) && who.permits(g, secret, toward.String(), time.Now())
	})
}

// permits says whether g is leave to use the secret toward host.
func (w wanter) permits(g approvals.Grant, secret, host string, now time.Time) bool {
	name, toward := grants.Secret(g)
	switch {
	case name == "" || name != secret || toward != host, ended(g, now), g.Server != w.server, g.Principal != w.session.Principal, g.Spec != w.session.Spec:
		return false
	}
	return g.Scope != approvals.ScopeSession || g.Session == w.session.ID
}

func (w wanter) secretQuestion(secret, host string) approvals.Question {
	return approvals.Question{
		About: approvals.Call{
			Session: w.session.ID, Principal: w.session.Principal, Server: w.server, Spec: w.session.Spec, Instance: w.instance,
			Class: approvals.Write, Sentence: fmt.Sprintf("use the secret %s toward %s", secret, host), At: time.Now().UTC(),
		},
		Subject: approvals.Subject{Secret: &approvals.SecretUse{Secret: secret, Hosts: []string{host}}},
		Why: approvals.Decision{
			Effect: approvals.Ask, Class: approvals.Write, Rule: "ask: true of the secret " + secret,
			Reason: fmt.Sprintf("%s wants to send the secret %s to %s, and servers.yaml says that each use is asked about.", w.server, secret, host),
		},
	}
}

// seen records a sentinel that was in a request: the value was sent, or not.
func (s *secrets) seen(o *way, e client.SecretSeen) {
	s.mu.Lock()
	h := s.held[o.launch.ID]
	g, ok := s.givenTo(o.launch.ID, e.Secret)
	var calls []approvals.CallID
	if h != nil {
		calls, _ = h.underWay()
		for _, c := range h.calls {
			if e.Sent {
				c.note(e.Secret, e.Version)
			}
		}
	}
	s.mu.Unlock()
	host := sandbox.Endpoint{Host: e.Host, Port: e.Port}.String()
	s.d.observed.used(o.launch.Server, e.Secret, !e.Sent)
	if !e.Sent || !ok {
		o.record(store.SecretRefused, map[string]any{
			"name": e.Secret, "version": e.Version, "host": host, "in": e.Place.In, "place": e.Place.Name, "why": e.Why, "connection": e.Connection, "calls": calls,
		})
		return
	}
	g.ref.Version = e.Version // it may have been changed since
	if err := s.vault.RecordUse(context.WithoutCancel(s.d.running), h.use(g, calls, host)); err != nil {
		s.d.log.Error("cannot record the use of a secret", "server", o.launch.Server, "err", err)
	}
	s.d.events.Publish("secret", e.Secret, nil)
}

// admit starts a session's server anew before a call, where what it was started with is not true any
// more. A call under way is not broken off.
func (s *secrets) admit(id approvals.SessionID, next func() error) func() error {
	return func() error {
		if err := s.renewSandbox(id); err != nil {
			return err
		}
		return next()
	}
}

func (s *secrets) renewSandbox(id approvals.SessionID) error {
	s.mu.Lock()
	var old *holding
	for _, h := range s.held {
		if h.session.ID == id && id != "" && h.stale != "" {
			old = h
		}
	}
	busy, why := 0, ""
	if old != nil {
		busy, why = len(old.calls), old.stale
	}
	s.mu.Unlock()
	switch {
	case old == nil:
		return nil
	case busy > 0:
		return fmt.Errorf("%s, and the server is started anew once its calls under way have ended; call it again then: %w", why, errdefs.ErrUnavailable)
	}
	if old.address != "" {
		s.cut(old)
		return nil
	}
	ctx := context.WithoutCancel(s.d.running)
	s.d.log.Info("a server is started anew", "server", old.server.Name, "why", why)
	if session := s.d.live.of(id); session != nil {
		session.LetGo(old.id, why)
	}
	return s.d.supervisor.StopOne(ctx, old.id)
}

// settle brings what a sandbox was given to what is true now. An error says that it must not be used.
func (s *secrets) settle(ctx context.Context, id sandbox.InstanceID) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	h := s.of(id)
	if h == nil {
		return nil
	}
	s.review(context.WithoutCancel(ctx), h, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(h.given, func(g given) bool { return g.dropped && g.grant.Mode != sandbox.SecretPlaceholder }) {
		return fmt.Errorf("start %s: %w: %w", h.server.Name, errGone, errdefs.ErrUnavailable)
	}
	return nil
}

// secretsInWords is which secrets a server may use, and toward whom.
func secretsInWords(all []sandbox.SecretGrant, now time.Time) string {
	var words []string
	for _, g := range all {
		if !g.InForce(now) {
			continue
		}
		if g.Weaker() {
			words = append(words, fmt.Sprintf("the secret %s itself", g.Secret))
			continue
		}
		words = append(words, fmt.Sprintf("the secret %s toward %s", g.Secret, strings.Join(hostTexts(g.Hosts), ", ")))
	}
	if len(words) == 0 {
		return "no secret"
	}
	return strings.Join(words, "; ")
}

// hostTexts are hosts as people write them: the usual port goes without saying.
func hostTexts(list []sandbox.Endpoint) []string {
	out := ruleTexts(list)
	for i, text := range out {
		out[i] = strings.TrimSuffix(text, fmt.Sprintf(":%d", sandbox.DefaultPort))
	}
	return out
}
