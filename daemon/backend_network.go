package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/store"
)

// networkChanged: a person allowed a server a host, or took that back.
const networkChanged store.Kind = "network.changed"

// Network implements httpapi.Backend.
func (d *Daemon) Network(ctx context.Context, server string) (api.Network, error) {
	s, err := d.configured(server)
	if err != nil {
		return api.Network{}, err
	}
	l := s.Spec.Network
	out := api.Network{
		Server: server, Allow: ruleTexts(l.Endpoints), LAN: ruleTexts(l.LAN), HostPorts: []int{}, PublicWeb: l.PublicWeb, Ask: l.Ask,
		Deny: ruleTexts(l.Deny), None: l.Empty(),
		Granted: d.hostGrants(s.Name), Live: d.ways.liveOf(ctx, s.Name), Tried: []api.NetworkTried{},
	}
	out.SSH = sshOf(l)
	for _, p := range l.HostPorts {
		out.HostPorts = append(out.HostPorts, int(p))
	}
	for _, t := range slices.DeleteFunc(d.ways.proposal(s.Name), d.answered(s.Name)) {
		out.Tried = append(out.Tried, api.NetworkTried{
			Kind: string(t.Kind), Host: t.Host, Port: int(t.Port), Address: t.Address, Why: t.Why, Propose: t.Propose, Key: t.Key,
			Count: t.Count, First: t.First, Last: t.At,
		})
	}
	return out, nil
}

// answered tells those refusals whose host somebody has let the server reach for longer than a session since.
func (d *Daemon) answered(server sandbox.ServerName) func(tried) bool {
	standing := slices.DeleteFunc(d.gate.Grants(), func(g approvals.Grant) bool {
		return g.Server != server || g.Scope == approvals.ScopeSession || ended(g, time.Now())
	})
	return func(t tried) bool {
		return slices.ContainsFunc(standing, func(g approvals.Grant) bool {
			e, err := sandbox.ParseEndpoint(grants.Host(g))
			return err == nil && e.Matches(t.Host, t.Port)
		})
	}
}

func ruleTexts(list []sandbox.Endpoint) []string {
	out := []string{}
	for _, e := range list {
		out = append(out, e.Rule())
	}
	return out
}

func (d *Daemon) hostGrants(server sandbox.ServerName) []api.NetworkGrant {
	out := []api.NetworkGrant{}
	for _, g := range d.gate.Grants() {
		if host := cmp.Or(grants.Host(g), grants.UploadHost(g), grants.CredentialsHost(g), keyedHost(g)); host != "" && g.Server == server && !ended(g, time.Now()) {
			out = append(out, api.NetworkGrant{Grant: string(g.ID), Host: host, Words: grants.Words(g)})
		}
	}
	return out
}

// liveOf lists the open connections of a server's sandboxes, the oldest first, with the bytes that have
// passed by now.
func (w *ways) liveOf(ctx context.Context, server sandbox.ServerName) []api.LiveConnection {
	out := []api.LiveConnection{}
	for _, o := range w.all() {
		if o.launch.Server != server {
			continue
		}
		now := o.passed(ctx)
		o.mu.Lock()
		for _, c := range o.live {
			out = append(out, api.LiveConnection{
				Sandbox: string(o.launch.ID), Session: string(o.session.ID), Agent: w.d.agentName(o.session.Principal), ID: int64(c.ID), //nolint:gosec // counted from 1
				Host: c.Host, Port: int(c.Port), Address: c.Address.String(), Rule: c.Rule, Opened: c.Opened,
				Sent: now[c.ID].Sent, Received: now[c.ID].Received,
			})
		}
		o.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b api.LiveConnection) int { return a.Opened.Compare(b.Opened) })
	return out
}

// passedTime bounds how long the wall is waited for when it is asked what has passed.
const passedTime = 2 * time.Second

// passed are the open connections as the wall has them; without those of which it tells nothing in time.
func (o *way) passed(ctx context.Context) map[uint64]sandbox.Connection {
	o.mu.Lock()
	some := len(o.live) > 0
	o.mu.Unlock()
	if !some {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, passedTime)
	defer cancel()
	all, err := o.current().Live(ctx)
	if err != nil {
		return nil
	}
	now := map[uint64]sandbox.Connection{}
	for _, c := range all {
		now[c.ID] = c
	}
	return now
}

// ChangeNetwork implements httpapi.Backend: it edits servers.yaml, and holds for what runs at once.
func (d *Daemon) ChangeNetwork(ctx context.Context, peer httpapi.Peer, server string, c api.NetworkChange) (api.Network, error) {
	s, err := d.configured(server)
	if err != nil {
		return api.Network{}, err
	}
	if err := d.mayDecide(ctx, peer, fmt.Sprintf("change what %s may reach", server)); err != nil {
		return api.Network{}, err
	}
	if _, err = changedSSH(s.Spec.Network, c); err != nil {
		return api.Network{}, fmt.Errorf("change what %s may reach: %w: %w", server, err, errdefs.ErrInvalidArgument)
	}
	e := event(networkChanged, approvals.Principal{UID: d.uid}, map[string]any{"host": c.Host, "allow": c.Allow, "forget": c.Forget, "by": deciderOf(peer)})
	e.Server = s.Name
	if _, err := d.db.AppendDurable(ctx, e); err != nil {
		return api.Network{}, fmt.Errorf("record it: %w: %w", err, errdefs.ErrUnavailable)
	}
	err = d.config.Update(s.Name, func(now *sandbox.Server) (err error) {
		now.Spec.Network, err = changedSSH(now.Spec.Network, c)
		s = *now
		return err
	})
	if err != nil {
		return api.Network{}, err
	}
	if !c.Allow {
		d.revokeHost(ctx, s.Name, c.Host, deciderOf(peer))
	}
	d.ways.settled(s.Name, s.Spec.Network)
	if err := d.ways.refresh(ctx); err != nil {
		return api.Network{}, err
	}
	return d.Network(ctx, server)
}

func deciderOf(peer httpapi.Peer) string {
	if peer.Page {
		return "page"
	}
	return fmt.Sprintf("cli pid %d", peer.PID)
}

// changed is l with a host more, or less. A host that is taken back and was not listed is denied.
func changed(l sandbox.Allowlist, c api.NetworkChange) (sandbox.Allowlist, error) {
	switch {
	case c.Allow && c.Forget:
		return l, errors.New("a host is allowed, or forgotten")
	case c.Host == "public-web":
		if c.Allow && l.Empty() {
			l.Ask = true
		}
		l.PublicWeb = c.Allow
		return l, nil
	case c.Allow:
		return allowed(l, c.Host)
	}
	e, err := config.ParseDenial(c.Host)
	if err != nil {
		return l, err
	}
	had := len(l.Endpoints) + len(l.LAN)
	l.Endpoints, l.LAN = withoutHost(l.Endpoints, e), withoutHost(l.LAN, e)
	switch {
	case c.Forget:
		l.Deny = withoutHost(l.Deny, e)
	case len(l.Endpoints)+len(l.LAN) == had && !slices.Contains(l.Deny, e):
		l.Deny = append(slices.Clone(l.Deny), e)
	}
	return l, nil
}

// allowed is l with one host more, which is not denied any more.
func allowed(l sandbox.Allowlist, host string) (sandbox.Allowlist, error) {
	e, err := config.ParseRule(host)
	if err != nil {
		return l, err
	}
	if l.Empty() { // the first host: what else it wants is asked about
		l.Ask = true
	}
	l.Deny = slices.DeleteFunc(slices.Clone(l.Deny), func(o sandbox.Endpoint) bool { return o.Host == e.Host && (o.Port == 0 || o.Port == e.Port) })
	if rule := l.Denies(e.Host, e.Port); rule != "" {
		return l, fmt.Errorf("%s is denied by %s, which stands under network.deny; take that back first: garita network deny SERVER %s --forget", e, rule, rule)
	}
	if !slices.Contains(l.Endpoints, e) {
		l.Endpoints = append(slices.Clone(l.Endpoints), e)
	}
	return l, nil
}

// withoutHost is list without e; where e has no port, without its host at each port.
func withoutHost(list []sandbox.Endpoint, e sandbox.Endpoint) []sandbox.Endpoint {
	return slices.DeleteFunc(slices.Clone(list), func(o sandbox.Endpoint) bool { return o.Host == e.Host && (e.Port == 0 || o.Port == e.Port) })
}

// revokeHost ends what answers had permitted about a host.
func (d *Daemon) revokeHost(ctx context.Context, server sandbox.ServerName, host, by string) {
	denied, err := config.ParseDenial(host)
	if err != nil {
		return
	}
	for _, g := range d.gate.Grants() {
		e, err := sandbox.ParseEndpoint(cmp.Or(grants.Host(g), grants.UploadHost(g), grants.CredentialsHost(g), keyedHost(g)))
		if err == nil && g.Server == server && len(withoutHost([]sandbox.Endpoint{e}, denied)) == 0 {
			if err := d.gate.Revoke(ctx, g.ID, by); err != nil {
				d.log.Warn("a permission was revoked, but not on record", "server", server, "err", err)
			}
		}
	}
	for _, o := range d.ways.all() {
		if o.launch.Server == server {
			for _, e := range o.oncePassed(denied) {
				o.answer(ctx, client.NetworkAsked{Host: e.Host, Port: e.Port}, false, "") // and what was let pass once
			}
		}
	}
}
