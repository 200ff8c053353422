package daemon

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/clientconfig"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/redact"
	"github.com/garita-dev/garita/daemon/remote/oauth"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/init/handoff"
	"github.com/garita-dev/garita/store"
)

// vault is where secrets are kept. Its methods may overlap.
type vault interface {
	// Secret is what is known of one without its value. NotFound.
	Secret(ctx context.Context, name string) (store.SecretRef, error)
	// Value is its newest value. NotFound; FailedPrecondition while the key is out of reach, saying what to do.
	Value(ctx context.Context, name string) (store.SecretRef, store.SecretValue, error)
	// RecordUse adds a use to the record.
	RecordUse(ctx context.Context, u store.SecretUse) error
}

// secrets are what servers may use: what each sandbox has of them, and what a change makes of that.
type secrets struct {
	d     *Daemon
	vault vault
	using sync.WaitGroup // questions and answers under way
	wake  chan struct{}  // something may run out earlier than was thought

	changing sync.Mutex // one change at a time

	mu   sync.Mutex // guards the fields below, and those of holdings
	held map[sandbox.InstanceID]*holding
	told map[sandbox.ServerName][]redact.Secret // what was handed to it in this life of the daemon, the newest last
	by   map[sandbox.ServerName]*redact.Redactor
}

// holding is one sandbox's secrets.
type holding struct {
	id        sandbox.InstanceID
	server    sandbox.Server
	session   gateway.Options // whose sandbox it is
	authority client.Authority
	signed    []sandbox.Endpoint // hosts that authority can sign for
	given     []given
	calls     map[approvals.CallID]*carrying // under way
	stale     string                         // why it is to be started anew; "" while it is not
	address   string                         // of a server at a URL, which has no sandbox
	cut       func(why string)               // ends the connection to such a server
}

// given is one secret that a sandbox has, or has a sentinel of.
type given struct {
	grant    sandbox.SecretGrant
	ref      store.SecretRef
	sentinel string // with a placeholder
	value    store.SecretValue
	read     time.Time // when value was
	dropped  bool      // it may not be used any more
	noted    time.Time // when a use without a call was recorded last, in sandbox.SecretSent
}

// carrying is what of secrets one call has had.
type carrying struct {
	tool string
	used []string // "NAME, version N"
}

func newSecrets(d *Daemon, v vault) *secrets {
	return &secrets{
		d: d, vault: v, wake: make(chan struct{}, 1),
		held: map[sandbox.InstanceID]*holding{}, told: map[sandbox.ServerName][]redact.Secret{}, by: map[sandbox.ServerName]*redact.Redactor{},
	}
}

// grantsOf are those of a server as it is declared now; one made up for a command has its own.
func (d *Daemon) grantsOf(srv sandbox.Server) []sandbox.SecretGrant {
	if now, ok := d.config.Server(srv.Name); ok {
		return now.Spec.Secrets
	}
	return srv.Spec.Secrets
}

// Missing implements supervisor.Secrets.
func (s *secrets) Missing(ctx context.Context, srv sandbox.Server) error {
	if err := unexpanded(srv); err != nil {
		return err
	}
	for _, g := range s.d.grantsOf(srv) {
		ref, err := s.vault.Secret(ctx, g.Secret)
		if why := wanting(srv.Name, g, ref, err, time.Now()); why != nil {
			return why
		}
	}
	return nil
}

// Equip implements supervisor.Secrets: what the server may use goes into the launch as sentinels, and
// into the frame as it is where the server has to hold it itself.
func (s *secrets) Equip(ctx context.Context, srv sandbox.Server, l *sandbox.Launch) ([]byte, error) {
	h := &holding{id: l.ID, server: srv, session: s.d.ways.expected(l.ID), calls: map[approvals.CallID]*carrying{}}
	var err error
	if h.given, err = s.gather(ctx, srv); err != nil {
		return nil, err
	}
	if len(h.given) == 0 {
		s.keep(h)
		return nil, nil
	}
	h.disguise()
	frame, err := h.equip(l)
	if err != nil {
		return nil, fmt.Errorf("give %s its secrets: %w", srv.Name, err)
	}
	s.keep(h)
	if err := s.handing(ctx, h); err != nil {
		clear(frame)
		s.forget(h.id)
		return nil, err
	}
	return frame, nil
}

// gather reads what a server may use. An error says what is wanting.
func (s *secrets) gather(ctx context.Context, srv sandbox.Server) (all []given, err error) {
	for _, g := range s.d.grantsOf(srv) {
		ref, value, err := s.vault.Value(ctx, g.Secret)
		if why := wanting(srv.Name, g, ref, err, time.Now()); why != nil {
			return nil, why
		}
		if why := unfit(g, value); why != "" {
			return nil, &notStarted{string(srv.Name), fmt.Sprintf("the secret %s (%s) cannot be used: %s", g.Secret, g.Where(), why), "garita secret set " + g.Secret}
		}
		all = append(all, given{grant: g, ref: ref, value: value, read: time.Now()})
	}
	return all, nil
}

// handing says whether what was read, which may have taken a while, may still be handed over, and records
// that it is.
func (s *secrets) handing(ctx context.Context, h *holding) error {
	if err := s.settle(ctx, h.id); err != nil {
		return err
	}
	return s.recordHanded(ctx, h)
}

// disguise makes a sentinel for each placeholder.
func (h *holding) disguise() {
	var taken []string
	for _, g := range h.given {
		taken = append(taken, g.value.Reveal())
	}
	for i := range h.given {
		if g := &h.given[i]; g.grant.Mode == sandbox.SecretPlaceholder {
			g.sentinel = sentinel(g.value.Reveal(), taken)
			taken = append(taken, g.sentinel)
		}
	}
}

// equip puts everything where the server looks for it.
func (h *holding) equip(l *sandbox.Launch) (frame []byte, err error) {
	var hosts []sandbox.Endpoint
	var direct handoff.Secrets
	l.Env = maps.Clone(l.Env)
	for _, g := range h.given {
		has := g.value.Reveal()
		if g.grant.Mode == sandbox.SecretPlaceholder {
			has = g.sentinel
			hosts = append(hosts, g.grant.Hosts...)
		}
		switch {
		case g.grant.Arg != "":
			l.Argv = append(slices.Clone(l.Argv), behind(g.grant.Arg, has)...)
		case g.grant.File != "":
			direct.Files = append(direct.Files, handoff.SecretFile{Path: g.grant.File, Content: has})
		case g.grant.Mode == sandbox.SecretEnv:
			direct.Env = append(direct.Env, g.grant.Env+"="+has)
		default:
			if l.Env == nil {
				l.Env = map[string]string{}
			}
			l.Env[g.grant.Env] = has
		}
	}
	if len(hosts) > 0 {
		if h.authority, err = client.NewAuthority(hosts); err != nil {
			return nil, err
		}
		l.Trust, h.signed = h.authority.Cert, hosts
	}
	if len(direct.Env)+len(direct.Files) == 0 {
		return nil, nil
	}
	l.Await = true
	body := handoff.EncodeSecrets(direct)
	defer clear(body)
	if len(body) > handoff.MaxFrame {
		return nil, fmt.Errorf("they are %d bytes, more than %d: %w", len(body), handoff.MaxFrame, errdefs.ErrInvalidArgument)
	}
	return handoff.Frame(handoff.Secret, body), nil
}

// behind is a flag and what stands behind it: a sentinel, never a value.
func behind(flag, sentinel string) []string {
	if strings.HasSuffix(flag, "=") {
		return []string{flag + sentinel}
	}
	return []string{flag, sentinel}
}

// leastPlaceholder is how long a value must be, in bytes, to have a placeholder.
const leastPlaceholder = 8

var whyTooShort = fmt.Sprintf("a placeholder and its value need at least %d bytes to be told from other text; with mode env there is no placeholder", leastPlaceholder)

// unfit says why a value cannot be used as g says; "" when it can.
func unfit(g sandbox.SecretGrant, value store.SecretValue) string {
	switch {
	case g.Mode == sandbox.SecretPlaceholder && len(value.Reveal()) < leastPlaceholder:
		return whyTooShort
	case g.Mode == sandbox.SecretSent && !oauth.NewSecret(value.Reveal()).FitsHeader():
		return "it has a line break or another character that no header can hold"
	}
	return ""
}

// put puts the value wherever the grant says, on a request to a server at a URL.
func (g given) put(req *http.Request) {
	for _, p := range g.grant.Places {
		switch {
		case p.In == sandbox.InHeader && p.Name == "Authorization":
			oauth.NewSecret(credentials(g.grant.Scheme, g.value.Reveal())).SetHeader(req.Header, p.Name)
		case p.In == sandbox.InHeader:
			oauth.NewSecret(g.value.Reveal()).SetHeader(req.Header, p.Name)
		case p.In == sandbox.InQuery:
			if req.URL.RawQuery != "" {
				req.URL.RawQuery += "&"
			}
			req.URL.RawQuery += url.QueryEscape(p.Name) + "=" + url.QueryEscape(g.value.Reveal())
		}
	}
}

// credentials are what stands in the header Authorization. A value that brings a scheme along stays as it is;
// a user and a password are encoded as Basic has them.
func credentials(scheme, value string) string {
	if scheme == "" || strings.Contains(value, " ") && !strings.EqualFold(scheme, "Basic") {
		return value
	}
	if strings.EqualFold(scheme, "Basic") && strings.Contains(value, ":") {
		value = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return scheme + " " + value
}

// fits says why a grant cannot be used with the value as it is; nil where that is not at hand: it shows at
// the start of the server, too.
func (s *secrets) fits(ctx context.Context, g sandbox.SecretGrant) error {
	ref, err := s.vault.Secret(ctx, g.Secret)
	if err != nil || len(ref.Command) > 0 || g.Weaker() {
		return nil
	}
	if _, value, err := s.vault.Value(ctx, g.Secret); err == nil && unfit(g, value) != "" {
		return fmt.Errorf("the value of %s does not do: %s: %w", g.Secret, unfit(g, value), errdefs.ErrInvalidArgument)
	}
	return nil
}

// keep remembers what a sandbox has, so that it is taken out of what its server says.
func (s *secrets) keep(h *holding) {
	s.mu.Lock()
	s.held[h.id] = h
	s.tell(h.server.Name, h.given)
	s.mu.Unlock()
	s.look()
}

// maxTold bounds the values that are looked for in what one server says.
const maxTold = 200

// tell adds to what is looked for in what a server says. s.mu is held.
func (s *secrets) tell(server sandbox.ServerName, given []given) {
	list := s.told[server]
	for _, g := range given {
		for _, one := range []redact.Secret{
			{Name: g.grant.Secret, Value: []byte(g.value.Reveal())}, {Name: "placeholder of " + g.grant.Secret, Value: []byte(g.sentinel)},
		} {
			if len(one.Value) > 0 && !slices.ContainsFunc(list, func(r redact.Secret) bool { return bytes.Equal(r.Value, one.Value) }) {
				list = append(list, one)
			}
		}
	}
	if len(list) == len(s.told[server]) {
		return
	}
	s.told[server] = list[max(0, len(list)-maxTold):]
	var all []redact.Secret
	for _, list := range s.told {
		all = append(all, slices.DeleteFunc(slices.Clone(list), func(r redact.Secret) bool { return len(r.Value) < leastKnown })...)
	}
	known.learn(all)
	for name, own := range s.told {
		s.by[name] = redact.New(slices.Concat(own, all)...)
	}
}

// leastKnown is how long a value must be, in bytes, to be looked for in what other servers say, and in
// the record: a shorter one can be a word that everybody uses.
const leastKnown = 8

// redactor is what takes secrets out of what a server says.
func (s *secrets) redactor(server sandbox.ServerName) *redact.Redactor {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.by[server]; r != nil {
		return r
	}
	return known.now()
}

// forget lets go of what a sandbox had: it has ended, or was not started. Its sentinels are nothing from
// here on.
func (s *secrets) forget(id sandbox.InstanceID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, id)
}

// of is one sandbox's; nil for none.
func (s *secrets) of(id sandbox.InstanceID) *holding {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[id]
}

// placeholders are what the wall may swap for a sandbox now.
func (s *secrets) placeholders(id sandbox.InstanceID) (client.Authority, []client.Placeholder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[id]
	if h == nil {
		return client.Authority{}, nil
	}
	var all []client.Placeholder
	for _, g := range h.given {
		hosts := slices.DeleteFunc(slices.Clone(g.grant.Hosts), func(e sandbox.Endpoint) bool { return !slices.Contains(h.signed, e) })
		if g.sentinel == "" || g.dropped || !g.grant.InForce(time.Now()) || g.ref.Expired(time.Now()) || len(hosts) == 0 || unfit(g.grant, g.value) != "" {
			continue // what the wall would refuse costs no other its network
		}
		all = append(all, client.Placeholder{
			Secret: g.grant.Secret, Version: g.ref.Version, Sentinel: g.sentinel, Value: client.Hide(g.value.Reveal()),
			Places: g.grant.Places, Hosts: hosts, Until: earlier(g.grant.Until, g.ref.Expires),
			Consult: g.grant.Ask || len(g.grant.Tools) > 0 || !s.d.observed.since(h.server.Name).IsZero(),
		})
	}
	return h.authority, all
}

// earlier is the first of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// recordHanded records each secret whose value a server is about to be given.
func (s *secrets) recordHanded(ctx context.Context, h *holding) error {
	s.mu.Lock()
	all := slices.Clone(h.given)
	s.mu.Unlock()
	for _, g := range all {
		if !g.grant.Weaker() {
			continue
		}
		if err := s.vault.RecordUse(ctx, h.use(g, nil, "")); err != nil {
			return fmt.Errorf("no secret is handed over without a record: %w", err)
		}
	}
	return nil
}

func (h *holding) use(g given, calls []approvals.CallID, host string) store.SecretUse {
	return store.SecretUse{
		Secret: g.grant.Secret, Version: g.ref.Version, At: time.Now().UTC(), Server: h.server.Name, Session: h.session.ID,
		Principal: h.session.Principal, Calls: calls, Mode: g.grant.Mode, Host: host,
	}
}

// errGone: what a sandbox was started with may not be used any more.
var errGone = errors.New("a secret it was started with was taken back meanwhile")

// secretsChanged puts in force what is true now of the secrets of that name, or of all: what the wall
// sends, and whether a server that holds a value itself may go on. It returns how many sandboxes it ended.
func (d *Daemon) secretsChanged(ctx context.Context, names ...string) (ended int) {
	ended, _ = d.secrets.changed(context.WithoutCancel(ctx), names) // what is wrong is in the log
	return ended
}

// changed is secretsChanged; the error says which sandboxes were cut off, as the wall could not be told.
func (s *secrets) changed(ctx context.Context, names []string) (ended int, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.held))
	s.mu.Unlock()
	var kills sync.WaitGroup
	for _, h := range all {
		if s.review(ctx, h, names) {
			ended++
			kills.Go(func() { s.kill(ctx, h) })
			continue
		}
		s.cutIdle(h)
	}
	err = errors.Join(s.d.ways.refresh(ctx), s.d.ways.swap(ctx)) // hosts to which secrets are sent are reached
	kills.Wait()
	s.look()
	return ended, err
}

// outdate has a sandbox started anew before its next call.
func (s *secrets) outdate(id sandbox.InstanceID, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.held[id]; h != nil && h.stale == "" {
		h.stale = why
	}
}

// review compares what a sandbox has with what it may have; end says that it has to go at once.
func (s *secrets) review(ctx context.Context, h *holding, names []string) (end bool) {
	grants := s.d.grantsOf(h.server)
	s.mu.Lock()
	before := slices.Clone(h.given)
	s.mu.Unlock()
	after := slices.Clone(before)
	stale := s.moved(h)
	end = stale != ""
	for i := range after {
		g := &after[i]
		if len(names) > 0 && !slices.Contains(names, g.grant.Secret) {
			continue
		}
		why, gone := s.renew(ctx, h, g, grants)
		if stale == "" {
			stale = why
		}
		end = end || gone
	}
	for _, g := range grants {
		if !slices.ContainsFunc(after, func(o given) bool { return o.grant.Secret == g.Secret }) && g.InForce(time.Now()) && stale == "" {
			stale = "the secret " + g.Secret + " was granted to it"
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h.given = after
	if h.stale == "" {
		h.stale = stale
	}
	s.tell(h.server.Name, after)
	return end
}

// renew brings one given secret to what is true now. stale says why the server has to be started anew,
// gone that it must not go on with the value it holds.
func (s *secrets) renew(ctx context.Context, h *holding, g *given, grants []sandbox.SecretGrant) (stale string, gone bool) {
	i := slices.IndexFunc(grants, func(o sandbox.SecretGrant) bool { return o.Secret == g.grant.Secret })
	if i < 0 || !grants[i].InForce(time.Now()) {
		return g.drop("the secret " + g.grant.Secret + " was taken from it")
	}
	now := grants[i]
	if g.grant.Weaker() {
		g.grant.Until = now.Until
	}
	ref, err := s.vault.Secret(ctx, now.Secret)
	if err != nil || ref.Expired(time.Now()) || g.grant.Weaker() && g.ref.Expired(time.Now()) {
		return g.drop("the secret " + now.Secret + " is not there any more")
	}
	if now.Mode != g.grant.Mode || now.Env != g.grant.Env || now.File != g.grant.File || g.sentinel != "" && !covered(now.Hosts, g.grant.Hosts) {
		stale = "the leave to use the secret " + now.Secret + " was changed"
	}
	if ref.Version == g.ref.Version && !g.dropped && !g.old(time.Now()) {
		if !g.grant.Weaker() {
			g.grant = now
		}
		return stale, false
	}
	if g.grant.Mode == sandbox.SecretSent && ref.Version != g.ref.Version || g.grant.Weaker() {
		stale = "the secret " + now.Secret + " was changed"
	}
	if g.grant.Weaker() {
		return stale, false
	}
	ref, value, err := s.vault.Value(ctx, now.Secret)
	if err != nil {
		s.d.log.Warn("a changed secret cannot be read; it is not sent any more", "server", h.server.Name, "err", err)
		return g.drop("the secret " + now.Secret + " cannot be read")
	}
	g.ref, g.value, g.grant, g.read, g.dropped = ref, value, now, time.Now(), false
	return stale, false
}

// old says that a command is to be asked for the value anew. What a server holds itself stays as it is.
func (g *given) old(now time.Time) bool {
	return len(g.ref.Command) > 0 && !g.grant.Weaker() && !now.Before(g.read.Add(commandGood))
}

// drop takes it away: what is a sentinel stays one, and its server may go on; who holds the value has to
// go, and so has a connection on which it was sent.
func (g *given) drop(why string) (stale string, gone bool) {
	again := g.dropped
	g.dropped = true
	if g.grant.Mode == sandbox.SecretPlaceholder {
		return "", false
	}
	return why, !again
}

// covered says whether an authority made for before can sign for all of now.
func covered(now, before []sandbox.Endpoint) bool {
	return !slices.ContainsFunc(now, func(e sandbox.Endpoint) bool { return !slices.Contains(before, e) })
}

// kill ends a sandbox that must not go on.
func (s *secrets) kill(ctx context.Context, h *holding) {
	if h.address != "" {
		s.cut(h)
		return
	}
	s.d.log.Info("a server is ended: a secret that it holds was taken back", "server", h.server.Name)
	if err := s.d.supervisor.Kill(ctx, h.id); err != nil {
		s.d.log.Error("a server that holds a secret taken back could not be ended", "server", h.server.Name, "err", err)
	}
}

// look has the next end of a leave looked for.
func (s *secrets) look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run puts an end to leaves and secrets when their time is over, until ctx ends.
func (s *secrets) run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait := time.Hour
		if next := s.nextEnd(); !next.IsZero() {
			wait = min(wait, max(time.Millisecond, time.Until(next)))
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
			_, _ = s.changed(ctx, nil) // what is wrong is in the log
		case <-s.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// nextEnd is when the first of what sandboxes have runs out, or is to be read anew; zero for never.
func (s *secrets) nextEnd() (next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		for _, g := range h.given {
			if g.dropped {
				continue
			}
			next = earlier(next, earlier(g.grant.Until, g.ref.Expires))
			if len(g.ref.Command) > 0 && !g.grant.Weaker() {
				next = earlier(next, g.read.Add(commandGood))
			}
		}
	}
	return next
}

// storeMoved stores the secrets that entries of a client's settings hold, before their servers are
// declared; stored are their names. Where that cannot be done the entry stays as it is, and nothing of it is
// kept. With dry nothing is stored.
func (d *Daemon) storeMoved(ctx context.Context, peer httpapi.Peer, plan *clientconfig.Plan, dry bool) (stored []string, err error) {
	for _, e := range slices.Clone(plan.Entries) {
		kept, err := d.storeEntry(ctx, peer, e, dry)
		if err == nil {
			stored = append(stored, kept...)
			continue
		}
		d.unstore(ctx, peer, kept)
		if errdefs.IsPermissionDenied(err) {
			d.unstore(ctx, peer, stored)
			return nil, err
		}
		plan.Skip(e.Name, err.Error())
	}
	return stored, nil
}

// storeEntry stores the secrets of one entry; stored are those of them that are kept, also where one fails.
func (d *Daemon) storeEntry(ctx context.Context, peer httpapi.Peer, e clientconfig.Entry, dry bool) (stored []string, err error) {
	if err := d.newSecrets(ctx, e.Secrets); err != nil {
		return nil, err
	}
	for _, s := range e.Secrets {
		if s.Value.IsZero() {
			continue // a person gives it
		}
		err := d.vault.keeper.Status(ctx).Err()
		if err == nil {
			err = checkValue([]byte(s.Value.Reveal()))
		}
		if err == nil && !dry {
			_, err = d.keepSecret(ctx, peer, api.SecretSet{Name: s.Name, Value: api.Hidden(s.Value.Reveal())}, d.db.AddSecret)
		}
		if err != nil {
			return stored, fmt.Errorf("its secret in %s cannot be kept: %w", s.Variable, err)
		}
		if dry {
			continue
		}
		stored = append(stored, s.Name)
		if len(d.granted(s.Name)) > 0 {
			return stored, fmt.Errorf("a server was granted %s meanwhile; import again", s.Name)
		}
	}
	return stored, nil
}

// unstore forgets what was stored for servers that are not declared after all.
func (d *Daemon) unstore(ctx context.Context, peer httpapi.Peer, names []string) {
	ctx = context.WithoutCancel(ctx)
	for _, name := range names {
		if err := d.db.ForgetSecret(ctx, approvals.Principal{UID: peer.UID}, deciderOf(peer), store.SecretRemoved, name); err != nil {
			d.log.Error("a secret that no server is declared for stays behind", "secret", name, "err", err)
		}
		d.vault.forget(name)
		_, _ = d.noteSecret(ctx, name) // what is wrong is in the log
	}
}
