package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
)

// noAgain is how long a no to a host is an answer to the next connection, too.
const noAgain = 10 * time.Minute

// asking is what a question is about, apart from how much is to be sent.
type asking struct {
	host string
	port uint16
	what client.NetworkWhat
	key  string // the fingerprint of a host's key
}

func askingOf(a client.NetworkAsked) asking { return asking{a.Host, a.Port, a.What, keyAsked(a)} }

// ask puts what is not listed, or an upload, to a person, while the connection waits at the wall. It does
// not wait. An answer that comes when the connection has given up is good for the next one.
func (o *way) ask(a client.NetworkAsked) {
	key := askingOf(a)
	o.mu.Lock()
	asked, refused := o.asked[key], time.Since(o.refused[key]) < noAgain
	if !asked && !refused {
		o.asked[key] = true
	}
	q := o.question(a)
	o.mu.Unlock()
	running := o.all.d.running
	switch {
	case running.Err() != nil || asked:
		return
	case refused:
		o.all.asking.Go(func() { o.answer(running, a, false, "") })
		return
	}
	o.all.asking.Go(func() { o.put(running, a, q) })
}

// put asks and waits, and tells the wall.
func (o *way) put(running context.Context, a client.NetworkAsked, q approvals.Question) {
	ctx, cancel := context.WithCancel(running)
	defer cancel()
	defer o.untilClosed(cancel)()
	d, err := o.all.d.gate.Ask(ctx, q)
	key := askingOf(a)
	o.mu.Lock()
	delete(o.asked, key)
	if d.Outcome == approvals.Denied {
		o.refused[key] = time.Now()
	}
	if d.Allowed() && a.What == "" {
		o.approved[sandbox.Endpoint{Host: a.Host, Port: a.Port}] = true
	}
	o.mu.Unlock()
	if d.Outcome == approvals.Denied {
		o.all.d.observed.reached(o.launch.Server, sandbox.Endpoint{Host: a.Host, Port: a.Port}.String(), true)
	}
	if err != nil && ctx.Err() == nil {
		o.all.d.log.Warn("nobody could be asked about a host", "server", o.launch.Server, "err", err)
	}
	if d.Allowed() {
		if a.Key != nil {
			o.keyAllowed(ctx, a)
		}
		_ = o.all.refresh(ctx) // it may be remembered; what is wrong is in the log
	}
	o.answer(ctx, a, d.Allowed(), "approved by "+d.By)
}

// untilClosed calls cancel when the sandbox has ended.
func (o *way) untilClosed(cancel func()) (stop func()) {
	over, watched := o.over, make(chan struct{})
	o.all.asking.Go(func() {
		select {
		case <-over:
			cancel()
		case <-watched:
		}
	})
	return func() { close(watched) }
}

func (o *way) answer(ctx context.Context, a client.NetworkAsked, allow bool, rule string) {
	if !allow && a.What == "" {
		o.mu.Lock()
		delete(o.approved, sandbox.Endpoint{Host: a.Host, Port: a.Port})
		o.mu.Unlock()
	}
	if err := o.current().Answer(ctx, a, allow, rule); err != nil && ctx.Err() == nil {
		o.all.d.log.Warn("the wall was not told of an answer", "server", o.launch.Server, "err", err)
	}
}

// question is about one host. o.mu is held.
func (o *way) question(a client.NetworkAsked) approvals.Question {
	e := sandbox.Endpoint{Host: a.Host, Port: a.Port}
	calls := o.inFlight()
	subject := &approvals.NetworkAccess{Hosts: []string{e.String()}}
	during := "while no call was under way"
	switch len(calls) {
	case 0:
	case 1:
		subject.Call, during = calls[0], "in a call"
	default:
		during = fmt.Sprintf("while %d calls were under way", len(calls))
	}
	subject.HostKey = sshKeyOf(a)
	if a.What != "" && a.Key == nil {
		subject.Upload = &approvals.Upload{Bytes: a.Bytes, Kinds: a.Kinds}
		subject.Addresses = o.addressesOf(e)
	}
	wants, reason := wanted(o.launch.Server, a, e, during)
	return approvals.Question{
		About: approvals.Call{
			Session: o.session.ID, Principal: o.session.Principal, Server: o.launch.Server, Spec: o.session.Spec, Instance: o.launch.ID,
			Class: approvals.Write, Sentence: wants, At: time.Now().UTC(),
		},
		Subject: approvals.Subject{Network: subject},
		Why:     approvals.Decision{Effect: approvals.Ask, Class: approvals.Write, Rule: "the wall", Reason: reason},
	}
}

// wanted is what a server wants about a host, in words, and why that is asked.
func wanted(server sandbox.ServerName, a client.NetworkAsked, e sandbox.Endpoint, during string) (wants, reason string) {
	switch a.What {
	case client.AskedHostKey:
		return fmt.Sprintf("trust the key %s (%s) of %s", a.Key.Fingerprint, a.Key.Type, e),
			fmt.Sprintf("%s may be reached by SSH, and has named itself by this key, %s; neither servers.yaml nor your own known_hosts says by which it is known. Compare it with what those who run the host say. A yes for always writes it to servers.yaml.", e, during)
	case client.AskedUpload:
		return fmt.Sprintf("send %.1f MiB or more to %s", float64(a.Bytes)/(1<<20), e),
			fmt.Sprintf("%s may be reached, but this is a large upload, %s. What it is cannot be told: it is encrypted, or no credentials were found in it.", e, during)
	case client.AskedCredentials:
		found := strings.Join(a.Kinds, ", ")
		return fmt.Sprintf("send what looks like %s to %s", found, e),
			fmt.Sprintf("%s may be reached, but what is to be sent there looks like %s, %s.", e, found, during)
	}
	return "reach " + e.String(), fmt.Sprintf("%s is not in %s's list of hosts; it was asked for %s. Its address is looked up after a yes, not before, and refused then if it is a private one or a cloud's own.", e, server, during)
}

// oncePassed are the hosts that e names, as far as connections to them may pass by an answer alone.
func (o *way) oncePassed(e sandbox.Endpoint) (all []sandbox.Endpoint) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for one := range o.approved {
		all = append(all, one)
	}
	for _, c := range o.live {
		all = append(all, sandbox.Endpoint{Host: c.Host, Port: c.Port})
	}
	if e.Port != 0 {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b sandbox.Endpoint) int { return strings.Compare(a.String(), b.String()) })
	return slices.DeleteFunc(slices.Compact(all), func(one sandbox.Endpoint) bool { return len(withoutHost([]sandbox.Endpoint{one}, e)) > 0 })
}

// addressesOf are those that connections to e have now. o.mu is held.
func (o *way) addressesOf(e sandbox.Endpoint) []string {
	var all []string
	for _, c := range o.live {
		if at := c.Address.Addr().String(); c.Host == e.Host && c.Port == e.Port && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	slices.Sort(all)
	return all
}

// maxTried bounds what is remembered of one server's refusals.
const maxTried = 200

// tried is something a server was refused, as often as it tried.
type tried struct {
	sandbox.Denial
	First time.Time
}

// collect adds a denial to what a server has tried.
func (w *ways) collect(server sandbox.ServerName, n sandbox.Denial) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.tried[server]
	i := slices.IndexFunc(list, func(t tried) bool { return t.Kind == n.Kind && t.Host == n.Host && t.Port == n.Port })
	if i >= 0 {
		n.Count += list[i].Count
		list[i].Denial = n
		return
	}
	if len(list) >= maxTried {
		list = list[1:]
	}
	w.tried[server] = append(list, tried{n, n.At})
}

// proposal is what a server was refused, the latest first.
func (w *ways) proposal(server sandbox.ServerName) []tried {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := slices.Clone(w.tried[server])
	slices.SortFunc(list, func(a, b tried) int { return b.At.Compare(a.At) })
	return list
}

// settled lets go of refusals that a rule answers.
func (w *ways) settled(server sandbox.ServerName, l sandbox.Allowlist) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tried[server] = slices.DeleteFunc(w.tried[server], func(t tried) bool {
		if t.Port == 0 {
			return l.Names(t.Host)
		}
		reach, _ := l.Permits(t.Host, t.Port)
		return reach != sandbox.Nowhere
	})
}

// hostsInWords is what of the world a server can get at, in words.
func hostsInWords(l sandbox.Allowlist) string {
	var words []string
	for _, e := range slices.Concat(l.Endpoints, l.LAN) {
		words = append(words, e.String())
	}
	if l.PublicWeb {
		words = append(words, "any public host")
	}
	for _, p := range l.HostPorts {
		words = append(words, fmt.Sprintf("port %d of this machine", p))
	}
	if len(words) == 0 {
		return "no host"
	}
	return strings.Join(words, ", ")
}
