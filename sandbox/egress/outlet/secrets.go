package outlet

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/allow"
	"github.com/garita-dev/garita/sandbox/egress/authority"
	"github.com/garita-dev/garita/sandbox/egress/scan"
	"github.com/garita-dev/garita/sandbox/egress/swap"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// Secrets is what an Outlet needs to send secrets.
type Secrets struct {
	issuer *authority.Issuer
	roots  *x509.CertPool // nil: the system's
	first  *swap.Set
	left   []*swap.UnusableError // out of first
	bodies atomic.Int64          // bytes of large bodies that are in memory
}

// maxBodies bounds the bytes of large bodies that are in memory for one sandbox at the same time.
const maxBodies = 64 << 20

// OpenSecrets reads what a sandbox was given at its start, or is given by another life of the wall. A
// placeholder that cannot be used is left out, for that is no reason to have no network: see Unusable.
//
// Errors: InvalidArgument; no text of it holds a value.
func OpenSecrets(s wire.Sandbox) (*Secrets, error) {
	issuer, err := authority.Open(s.Authority)
	if err != nil {
		return nil, err
	}
	secrets := &Secrets{issuer: issuer}
	if secrets.roots, err = rootsWith(s.Host.CA + s.Outside.CA); err != nil {
		return nil, err
	}
	secrets.first, secrets.left = secrets.set(s.Placeholders)
	return secrets, nil
}

// Unusable are reports about what OpenSecrets has left out.
func (s *Secrets) Unusable() (all []wire.SecretSeen) {
	for _, e := range s.left {
		all = append(all, wire.SecretSeen{Secret: e.Secret, Version: e.Version, Why: "The wall cannot use it: " + e.Why + "."})
	}
	return all
}

func rootsWith(pem string) (*x509.CertPool, error) {
	if pem == "" {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM([]byte(pem)) {
		return nil, fmt.Errorf("the certificates to trust are not PEM: %w", errdefs.ErrInvalidArgument)
	}
	return pool, nil
}

// set is those placeholders that can be used, for the hosts for which the sandbox believes our
// certificates, and what is wrong with the others.
func (s *Secrets) set(all []wire.Placeholder) (set *swap.Set, wrong []*swap.UnusableError) {
	all = slices.Clone(all)
	for i, p := range all {
		all[i].Hosts = slices.DeleteFunc(slices.Clone(p.Hosts), func(e sandbox.Endpoint) bool {
			covered := s.issuer.Covers(e)
			if !covered {
				wrong = append(wrong, &swap.UnusableError{Secret: p.Secret, Version: p.Version, Why: fmt.Sprintf("the sandbox does not believe Garita's certificate for %s; start it anew", e)})
			}
			return !covered
		})
	}
	set, err := swap.New(all)
	return set, append(wrong, unusable(err)...)
}

// unusable are the errors of swap.New.
func unusable(err error) (all []*swap.UnusableError) {
	joined, _ := err.(interface{ Unwrap() []error }) //nolint:errorlint // it is what errors.Join makes
	if joined == nil {
		return nil
	}
	for _, one := range joined.Unwrap() {
		if e, ok := errors.AsType[*swap.UnusableError](one); ok {
			all = append(all, e)
		}
	}
	return all
}

// given is what a sandbox's server was ever given; its host may say a value long after it was taken away.
// The zero one is nothing.
type given struct {
	all    []wire.Placeholder // oldest first; each sentinel and value once
	values *scan.Scanner
}

// maxGiven bounds given.all. Secrets that commands give change every few minutes.
const maxGiven = 128

// add adds those of all that are new. Those that are among all stay, whatever else is forgotten.
func (g *given) add(all []wire.Placeholder) {
	changed := false
	for _, p := range all {
		i := slices.IndexFunc(g.all, func(old wire.Placeholder) bool {
			return old.Sentinel == p.Sentinel && old.Value.Send() == p.Value.Send()
		})
		if changed = changed || i < 0; i >= 0 {
			g.all = slices.Delete(g.all, i, i+1)
		}
		g.all = append(g.all, p)
	}
	if !changed {
		return
	}
	g.all = g.all[max(0, len(g.all)-max(maxGiven, len(all))):]
	var pairs []scan.Pair
	for _, p := range g.all {
		pairs = append(pairs, scan.Pair{Find: p.Value.Send(), Put: p.Sentinel, Name: p.Sentinel})
	}
	g.values = scan.New(pairs)
}

// valuesEver finds all values that the server was ever given, and puts sentinels in their place.
func (o *Outlet) valuesEver() *scan.Scanner {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.given.values
}

// cameInPart ends l, on which a large part of the value for a sentinel came back, and not the rest: what
// is guessed cannot be told from what is said.
func (o *Outlet) cameInPart(l *live, sentinel string) {
	o.mu.Lock()
	i := slices.IndexFunc(o.given.all, func(p wire.Placeholder) bool { return p.Sentinel == sentinel })
	var p wire.Placeholder
	if i >= 0 {
		p = o.given.all[i]
	}
	o.mu.Unlock()
	o.stayed(l, swap.Stay{Placeholder: &p, Place: sandbox.SecretPlace{In: swap.InAnswer}, Why: "A part of its value came back without the rest; the connection was ended."})
	l.end("a part of the secret " + p.Secret + " came back on it")
}

// carried is a value that was sent on a connection.
type carried struct {
	*wire.Placeholder
	until *time.Timer // its permission ends by itself; nil where it does not
}

func (c carried) stop() {
	if c.until != nil {
		c.until.Stop()
	}
}

// SetSecrets replaces the placeholders. Connections on which a value was sent that may not be sent there
// any more have been ended when it returns.
//
// Errors: InvalidArgument for those that cannot be used; all others are in force then.
func (o *Outlet) SetSecrets(all []wire.Placeholder) error {
	set, wrong := o.Secrets.set(all)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.secrets = set
	o.given.add(set.All())
	for _, l := range o.live {
		o.endIfRevoked(l)
	}
	var errs []error
	for _, e := range wrong {
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// endIfRevoked ends l if a value was sent on it that may not be sent any more. o.mu is held.
func (o *Outlet) endIfRevoked(l *live) {
	for i, c := range l.carried {
		mine := o.secrets.Current(c.Placeholder, l.target(), time.Now())
		if mine == nil {
			l.end("the secret " + c.Secret + ", which was sent on it, may not be sent there any more")
			return
		}
		if mine != c.Placeholder {
			c.stop()
			l.carried[i] = o.watch(l, mine)
		}
	}
}

// placeholders are those of the moment.
func (o *Outlet) placeholders() *swap.Set {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.secrets
}

// target is where l's requests go.
func (l *live) target() swap.Target {
	to := swap.Target{Host: l.host, Port: l.port, Clear: !l.opened}
	switch l.reach {
	case sandbox.ThisHost:
		to.Host, to.Near = sandbox.HostName, true
	case sandbox.PrivateNet:
		to.Near = allow.Address(l.address.Addr(), sandbox.PublicNet, nil) != ""
	case sandbox.PublicNet, sandbox.Nowhere:
	}
	return to
}

// opens says whether a secret may be sent on l, with TLS or without.
func (o *Outlet) opens(l *live) bool {
	return o.opensTLS(l) || o.placeholders().Opens(l.target(), time.Now())
}

// opensTLS says whether a secret may be sent on l with TLS.
func (o *Outlet) opensTLS(l *live) bool {
	to := l.target()
	to.Clear = false
	return o.placeholders().Opens(to, time.Now())
}

// commit notes that values are about to be sent on l. From here on whoever takes a secret away ends l.
// False where set is not in force any more, or l has ended.
func (o *Outlet) commit(l *live, set *swap.Set, uses []swap.Use) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.secrets != set || o.closed || o.live[l.id] != l {
		return false
	}
	for _, u := range uses {
		o.carry(l, u.Placeholder)
	}
	return true
}

// carry lists p with l, once. o.mu is held.
func (o *Outlet) carry(l *live, p *wire.Placeholder) {
	for _, c := range l.carried {
		if c.Placeholder == p {
			return
		}
	}
	l.carried = append(l.carried, o.watch(l, p))
}

// watch ends l when p's time is over.
func (o *Outlet) watch(l *live, p *wire.Placeholder) carried {
	c := carried{Placeholder: p}
	if !p.Until.IsZero() {
		c.until = time.AfterFunc(time.Until(p.Until), func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.live[l.id] == l {
				o.endIfRevoked(l)
			}
		})
	}
	return c
}

// Leave answers a use that waits. One that nobody waits for any more is forgotten.
func (o *Outlet) Leave(a wire.Leave) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if answer, waits := o.wanted[a.Use]; waits {
		answer <- a.Allow
		delete(o.wanted, a.Use)
	}
}

// consult waits for leave to send p's value on l, at most as long as a connection waits for a person.
// It says why there is none, "" when there is.
func (o *Outlet) consult(ctx context.Context, l *live, p *wire.Placeholder) string {
	answer := make(chan bool, 1)
	o.mu.Lock()
	if o.closed || len(o.wanted) >= maxWaiting {
		o.mu.Unlock()
		return "Too many uses of secrets wait for leave already."
	}
	o.uses++
	use := o.uses
	o.wanted[use] = answer
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.wanted, use)
	}()
	o.Report(wire.Event{Wanted: &wire.SecretWanted{Use: use, Secret: p.Secret, Host: l.target().Host, Port: l.port, Connection: l.id}})
	timer := time.NewTimer(o.wait)
	defer timer.Stop()
	select {
	case allow := <-answer:
		if allow {
			return ""
		}
		return "Its use was not allowed."
	case <-timer.C:
		return "Nobody answered in time whether it may be used."
	case <-ctx.Done():
	case <-o.ctx.Done():
	}
	return "The request was given up while its use was asked about."
}

// sent reports a value before it leaves.
func (o *Outlet) sent(l *live, u swap.Use) {
	s := l.sees(u.Placeholder, u.Place)
	s.Sent = true
	o.Report(wire.Event{Secret: &s})
}

// stayed reports a sentinel that was not swapped.
func (o *Outlet) stayed(l *live, one swap.Stay) {
	s := l.sees(one.Placeholder, one.Place)
	s.Why = one.Why
	o.seen.add(s)
}

func (l *live) sees(p *wire.Placeholder, place sandbox.SecretPlace) wire.SecretSeen {
	return wire.SecretSeen{Secret: p.Secret, Version: p.Version, Host: l.target().Host, Port: l.port, Connection: l.id, Place: place}
}

// seen reports sentinels that stayed; the same again and again is told once in a while, and of many
// different ones only some.
type seen struct {
	report func(wire.SecretSeen)

	mu    sync.Mutex // guards the fields below
	since time.Time
	told  map[wire.SecretSeen]bool // since then
}

// maxSeen bounds what is reported in the time of again: a sandbox can send sentinels to thousands of places.
const maxSeen = 64

func (s *seen) add(one wire.SecretSeen) {
	if s.due(one) {
		s.report(one)
	}
}

func (s *seen) due(one wire.SecretSeen) bool {
	one.Connection = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.since) >= again {
		s.since, s.told = now, map[wire.SecretSeen]bool{}
	}
	if s.told[one] || len(s.told) >= maxSeen {
		return false
	}
	s.told[one] = true
	return true
}

// refuse answers a request that may not leave.
func (o *Outlet) refuse(w http.ResponseWriter, l *live, uses []swap.Use, p *wire.Placeholder, why string) {
	for _, u := range uses {
		if u.Placeholder == p {
			o.stayed(l, swap.Stay{Placeholder: p, Place: u.Place, Why: why})
		}
	}
	http.Error(w, "garita: the request was not sent: the secret "+p.Secret+" may not be used now. "+why, http.StatusForbidden)
}
