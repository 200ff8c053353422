package daemon

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/daemon/openssh"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/store"
)

// The kinds of event of the ssh agent.
const (
	agentUsed    store.Kind = "agent.used"    // a key of the person's signed in to a host
	agentRefused store.Kind = "agent.refused" // something was wanted of the agent, and not done
)

// knownHostsFile is the person's own.
func (w *ways) knownHostsFile() string { return filepath.Join(w.home, ".ssh", "known_hosts") }

// askKey decides about a key that servers.yaml does not name, while the connection waits: the person's own
// known_hosts and earlier answers count, and then the person is asked. It does not wait.
func (o *way) askKey(a client.NetworkAsked) {
	running := o.all.d.running
	if a.Key == nil || running.Err() != nil {
		return
	}
	verdict, err := openssh.Judge(o.all.knownHostsFile(), a.Host, a.Port, a.Key.Line)
	if err != nil {
		o.all.d.log.Warn("known_hosts cannot be read", "server", o.launch.Server, "err", err)
	}
	e := sandbox.Endpoint{Host: a.Host, Port: a.Port}
	switch l := o.rules(); {
	case verdict == openssh.Same:
		o.trust(a)
		o.all.asking.Go(func() { o.answer(running, a, true, "your own known_hosts") })
	case verdict == openssh.Other:
		o.refuseKey(a, fmt.Sprintf("%s has named itself by the key %s (%s), and your own known_hosts knows it by another one. Somebody may be in between, or the host has changed its key: ask those who run it.", e, a.Key.Fingerprint, a.Key.Type), true)
	case verdict == openssh.Revoked:
		o.refuseKey(a, fmt.Sprintf("%s has named itself by the key %s (%s), which your own known_hosts says is revoked.", e, a.Key.Fingerprint, a.Key.Type), true)
	case o.permitsHostKey(e, a.Key.Fingerprint, time.Now()):
		o.all.asking.Go(func() { o.answer(running, a, true, "a permission for its key") })
	case !l.Ask:
		o.refuseKey(a, fmt.Sprintf("If it is the host's: garita network allow %s %s --key %s. In servers.yaml that is network: {ssh: [{host: %q, keys: [%q]}]}.", o.launch.Server, e, a.Key.Fingerprint, e, a.Key.Fingerprint), false)
	default:
		o.ask(a)
	}
}

func (o *way) refuseKey(a client.NetworkAsked, why string, changed bool) {
	running := o.all.d.running
	o.all.asking.Go(func() {
		if err := o.current().RefuseKey(running, a, why, changed); err != nil && running.Err() == nil {
			o.all.d.log.Warn("the wall was not told of an answer", "server", o.launch.Server, "err", err)
		}
	})
}

// sshKeyOf is what a question about a key is about.
func sshKeyOf(a client.NetworkAsked) *approvals.HostKey {
	if a.Key == nil {
		return nil
	}
	return &approvals.HostKey{Type: a.Key.Type, Fingerprint: a.Key.Fingerprint}
}

// keyAsked is the fingerprint that a is about, if it is about one.
func keyAsked(a client.NetworkAsked) string {
	if a.Key == nil {
		return ""
	}
	return a.Key.Fingerprint
}

// trust notes that a host is known by a key, for as long as the sandbox runs.
func (o *way) trust(a client.NetworkAsked) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.trusted == nil {
		o.trusted = map[string]bool{}
	}
	o.trusted[sandbox.Endpoint{Host: a.Host, Port: a.Port}.String()+" "+a.Key.Fingerprint] = true
}

// permitsHostKey says whether a person has permitted that e is known by a key.
func (o *way) permitsHostKey(e sandbox.Endpoint, fingerprint string, now time.Time) bool {
	since := o.all.d.observed.since(o.launch.Server)
	return slices.ContainsFunc(o.all.d.gate.Grants(), func(g approvals.Grant) bool {
		host, key := grants.HostKey(g)
		at, ok := o.granted(g, host, now)
		return ok && at == e && key == fingerprint && !g.Created.Before(since)
	})
}

// keyAllowed follows a yes to a key: one that holds always is written to servers.yaml, where it can be seen
// and taken back, and needs no permission besides.
func (o *way) keyAllowed(ctx context.Context, a client.NetworkAsked) {
	o.trust(a)
	e := sandbox.Endpoint{Host: a.Host, Port: a.Port}
	for _, g := range o.all.d.gate.Grants() {
		host, key := grants.HostKey(g)
		if g.Scope != approvals.ScopeAlways || key != a.Key.Fingerprint {
			continue
		}
		if at, ok := o.granted(g, host, time.Now()); !ok || at != e {
			continue
		}
		err := o.all.d.config.Update(o.launch.Server, func(s *sandbox.Server) (err error) {
			s.Spec.Network, err = withKeys(s.Spec.Network, e, []string{a.Key.Line})
			return err
		})
		if err != nil {
			o.all.d.log.Warn("a host's key was not written to servers.yaml", "server", o.launch.Server, "err", err)
			return // the permission stays
		}
		if err := o.all.d.gate.Revoke(ctx, g.ID, "pinned in servers.yaml"); err != nil {
			o.all.d.log.Warn("a permission was revoked, but not on record", "server", o.launch.Server, "err", err)
		}
	}
}

// knownInside are the hosts that ssh knows inside: by the keys that are pinned as a whole, or that the
// person's own known_hosts has, for those of rules at which SSH is spoken. It is never empty where there is
// one, for then ssh is configured.
func (o *way) knownInside() string {
	l := o.rules()
	var lines []string
	some := false
	for _, e := range slices.Concat(l.Endpoints, l.LAN) {
		_, wild := e.Wildcard()
		if !l.OnlySSH(e.Host, e.Port) {
			continue
		}
		if some = true; wild {
			continue
		}
		for _, key := range o.keysOf(l, e) {
			if line := openssh.KnownHostsLine(e.Host, e.Port, key); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	if !some && !l.Ask {
		return ""
	}
	return strings.Join(append([]string{"# Hosts whose keys are known outside."}, lines...), "\n") + "\n"
}

// keysOf are the keys, as a whole, by which e is known.
func (o *way) keysOf(l sandbox.Allowlist, e sandbox.Endpoint) (keys []string) {
	h, _ := l.SSHAt(e.Host, e.Port)
	for _, k := range h.Keys {
		if k.Whole() {
			keys = append(keys, string(k))
		}
	}
	known, err := openssh.Known(o.all.knownHostsFile(), e.Host, e.Port)
	if err != nil {
		o.all.d.log.Warn("known_hosts cannot be read", "server", o.launch.Server, "err", err)
	}
	for _, line := range known {
		if k, err := sandbox.ParseSSHKey(line); err == nil && (len(h.Keys) == 0 || h.Pinned(k.Fingerprint())) {
			keys = append(keys, string(k))
		}
	}
	return keys
}

// startIn starts the sandbox behind the way, and its agent where it has one.
func (o *way) startIn(ctx context.Context, running *client.Engine, io sandbox.Stdio) (sandbox.Instance, error) {
	agent, err := o.agentSocket()
	if err != nil {
		return nil, err
	}
	if agent != nil {
		defer agent.Close()
		io.Agent = agent
	}
	i, err := o.start(func(network *os.File) (sandbox.Instance, error) {
		return running.StartNetworked(ctx, o.launch, io, network)
	})
	if err == nil && agent != nil {
		if no := o.serveAgent(agent); no != nil {
			o.all.d.log.Error("a sandbox has no ssh agent", "server", o.launch.Server, "err", no)
		}
	}
	return i, err
}

// agentSocket is a socket that is not bound yet, for a sandbox to which keys are lent; nil for others.
func (o *way) agentSocket() (*os.File, error) {
	if !o.launch.Network.UsesAgent() {
		return nil, nil
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("make the agent's socket: %w", err)
	}
	return os.NewFile(uintptr(fd), "agent"), nil
}

// serveAgent answers at a socket that has become the sandbox's, until the sandbox has ended.
func (o *way) serveAgent(socket *os.File) error {
	l, err := net.FileListener(socket)
	if err != nil {
		return fmt.Errorf("serve the agent: %w", err)
	}
	ctx, cancel := context.WithCancel(o.all.d.running)
	stop := o.untilClosed(cancel)
	o.all.asking.Go(func() {
		defer stop()
		defer cancel()
		a := &openssh.Agent{
			Dial: func(ctx context.Context) (net.Conn, error) { return openssh.DialAgent(ctx, os.LookupEnv) },
			Lends: func(f string) bool {
				return slices.ContainsFunc(o.rules().SSH, func(h sandbox.SSHHost) bool { return h.Lends(f) })
			},
			May:     o.mayUseAgent,
			Refused: func(u openssh.Use, why string) { o.agentRefused(u, "", why) },
		}
		a.Serve(ctx, l)
	})
	return nil
}

// lender finds the host of the rules at which a key is lent and that is known by the key with which it has
// signed the session.
func (o *way) lender(u openssh.Use) (sandbox.SSHHost, bool) {
	for _, h := range o.rules().SSH {
		if h.Lends(u.Key) && o.knows(h, u.HostKey) {
			return h, true
		}
	}
	return sandbox.SSHHost{}, false
}

// knows says whether h is known by a key: pinned, or else found in the person's known_hosts or permitted,
// when a connection was made.
func (o *way) knows(h sandbox.SSHHost, fingerprint string) bool {
	if len(h.Keys) > 0 {
		return h.Pinned(fingerprint)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.trusted[h.Endpoint.String()+" "+fingerprint]
}

// mayUseAgent decides about one signature, and records it: the person is asked, unless an answer holds.
func (o *way) mayUseAgent(ctx context.Context, u openssh.Use) error {
	h, ok := o.lender(u)
	if !ok {
		o.agentRefused(u, "", "No host of network.ssh to which this key is lent is known by that key.")
		return errAgent
	}
	host := h.Endpoint.String()
	if !o.permitsKey(u, host) && !o.askAgent(ctx, u, host) {
		o.agentRefused(u, host, "It was asked about, and not allowed.")
		return errAgent
	}
	if _, ok := o.lender(u); !ok || ctx.Err() != nil { // it has changed meanwhile
		o.agentRefused(u, host, "The key was taken back while it was asked about.")
		return errAgent
	}
	o.mu.Lock()
	calls := o.inFlight()
	o.mu.Unlock()
	o.record(agentUsed, map[string]any{"host": host, "user": u.User, "key": u.Key, "comment": u.Comment, "host_key": u.HostKey, "calls": calls})
	return nil
}

var errAgent = fmt.Errorf("the agent may not be used")

// agentRefused records what was refused; what is wanted over and over is on record at 1, 10, 100 times.
func (o *way) agentRefused(u openssh.Use, host, why string) {
	times, worth := o.agentRepeats.note(why, time.Now())
	if !worth {
		return
	}
	o.mu.Lock()
	calls := o.inFlight()
	o.mu.Unlock()
	o.record(agentRefused, map[string]any{"host": host, "user": u.User, "key": u.Key, "comment": u.Comment, "host_key": u.HostKey, "why": why, "times": times, "calls": calls})
}

// permitsKey says whether an earlier answer lets the key be used at host.
func (o *way) permitsKey(u openssh.Use, host string) bool {
	since := o.all.d.observed.since(o.launch.Server)
	return slices.ContainsFunc(o.all.d.gate.Grants(), func(g approvals.Grant) bool {
		return !g.Created.Before(since) && o.wants().permits(g, u.Key, signedInAs(u, host), time.Now())
	})
}

// signedInAs is what a permission to use a key is for: one user at one host.
func signedInAs(u openssh.Use, host string) string { return u.User + "@" + host }

// askAgent asks a person, about one use of a sandbox at a time. A no holds for a while.
func (o *way) askAgent(ctx context.Context, u openssh.Use, host string) bool {
	ctx, cancel := context.WithTimeout(ctx, wallWait)
	defer cancel()
	select {
	case o.agentTurn <- struct{}{}:
		defer func() { <-o.agentTurn }()
	case <-ctx.Done():
		return false
	}
	key := asking{host: signedInAs(u, host), what: askedAgent, key: u.Key}
	o.mu.Lock()
	refused := time.Since(o.refused[key]) < noAgain
	o.mu.Unlock()
	if refused || o.permitsKey(u, host) {
		return !refused
	}
	d, err := o.all.d.gate.Ask(ctx, o.agentQuestion(u, host))
	if err != nil && ctx.Err() == nil {
		o.all.d.log.Warn("nobody could be asked about a key", "server", o.launch.Server, "err", err)
	}
	if d.Outcome == approvals.Denied {
		o.mu.Lock()
		o.refused[key] = time.Now()
		o.mu.Unlock()
	}
	return err == nil && d.Allowed()
}

// askedAgent tells a question about a key of the person's from others.
const askedAgent client.NetworkWhat = "agent"

func (o *way) agentQuestion(u openssh.Use, host string) approvals.Question {
	o.mu.Lock()
	calls := o.inFlight()
	o.mu.Unlock()
	during := "while no call is under way"
	if len(calls) > 0 {
		words := make([]string, len(calls))
		for i, id := range calls {
			words[i] = string(id)
		}
		during = "during " + strings.Join(words, ", ")
	}
	return approvals.Question{
		About: approvals.Call{
			Session: o.session.ID, Principal: o.session.Principal, Server: o.launch.Server, Spec: o.session.Spec, Instance: o.launch.ID, Class: approvals.Write,
			Sentence: fmt.Sprintf("sign in as %s at %s with your ssh key %s (%s)", u.User, host, cmp.Or(u.Comment, "without a comment"), u.Key), At: time.Now().UTC(),
		},
		Subject: approvals.Subject{Secret: &approvals.SecretUse{
			Secret: u.Key, Hosts: []string{signedInAs(u, host)}, Agent: &approvals.AgentUse{User: u.User, Comment: u.Comment, HostKey: u.HostKey},
		}},
		Why: approvals.Decision{
			Effect: approvals.Ask, Class: approvals.Write, Rule: "network.ssh: agent of " + host,
			Reason: fmt.Sprintf("%s wants to sign in as %s at %s with your own key, %s. The host has proved that it has the key %s. Whoever is signed in can do there what that key can.", o.launch.Server, u.User, host, during, u.HostKey),
		},
	}
}
