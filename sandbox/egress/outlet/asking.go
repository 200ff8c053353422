package outlet

import (
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/allow"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// subject is what a person is asked about: a host and port, and what about it.
type subject struct {
	sandbox.Endpoint
	what wire.What
	key  string // the fingerprint of a host's key
}

func subjectOf(a wire.Asked) subject {
	s := subject{Endpoint: sandbox.Endpoint{Host: a.Host, Port: a.Port}, what: a.What}
	if a.Key != nil {
		s.key = a.Key.Fingerprint
	}
	return s
}

// question is what waits for a person.
type question struct {
	done    chan struct{}
	outcome     // read only after done
	count   int // connections that wait
}

// outcome is what came of a question.
type outcome struct {
	allow   bool
	rule    string // that allows it
	why     string // of a no, one sentence
	changed bool   // the host is known by another key
}

// maxWaiting bounds the questions of one sandbox, and the connections that wait for them.
const maxWaiting = 32

// passTime is how long a yes that came too late is good for the next connection.
const passTime = 5 * time.Minute

// ask puts a to a person and waits, at most for the time there is. It returns the rule that allows it, ""
// when nothing does, and then in a sentence why not.
func (o *Outlet) ask(a wire.Asked) (rule, why string) {
	r := o.await(a)
	return r.rule, r.why
}

// await is ask with all that there is to say.
func (o *Outlet) await(a wire.Asked) outcome {
	q, rule, why := o.join(a)
	if q == nil {
		return outcome{allow: why == "", rule: rule, why: why}
	}
	timer := time.NewTimer(o.wait)
	defer timer.Stop()
	select {
	case <-q.done:
	case <-timer.C:
		o.leave(subjectOf(a), q)
		return outcome{why: "Nobody answered in time."}
	case <-o.ctx.Done():
		return outcome{why: "Its sandbox ended before anybody answered."}
	}
	r := q.outcome
	switch {
	case r.allow:
		r.why = ""
	case r.why == "":
		r.why = "It was asked about, and not allowed."
	}
	return r
}

// join lets one more connection wait for the answer, and asks where nobody waits yet; nil where there is
// nothing to wait for.
func (o *Outlet) join(a wire.Asked) (q *question, rule, why string) {
	s := subjectOf(a)
	o.mu.Lock()
	q = o.waiting[s]
	fresh := q == nil
	switch {
	case o.late(s):
		o.mu.Unlock()
		return nil, "a person's late answer", ""
	case fresh && len(o.waiting) >= maxWaiting, !fresh && q.count >= maxWaiting:
		o.mu.Unlock()
		return nil, "", "Too many questions about this server wait already."
	case fresh:
		q = &question{done: make(chan struct{})}
		o.waiting[s] = q
	}
	q.count++
	o.mu.Unlock()
	if fresh {
		o.Report(wire.Event{Asked: &a})
	}
	return q, "", ""
}

// leave is the end of one connection's wait; the question ends with the last one.
func (o *Outlet) leave(s subject, q *question) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if q.count--; q.count == 0 && o.waiting[s] == q {
		delete(o.waiting, s)
	}
}

// late takes the yes that came when nobody waited for it any more. o.mu is held.
func (o *Outlet) late(s subject) bool {
	until, there := o.passes[s]
	delete(o.passes, s)
	return there && time.Now().Before(until)
}

// Answer ends the wait of the connections to one host and port. A no ends open ones, too, that
// only an answer had let pass.
func (o *Outlet) Answer(a wire.Answer) {
	s := subject{sandbox.Endpoint{Host: a.Host, Port: a.Port}, a.What, a.Key}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.passes, s)
	switch q := o.waiting[s]; {
	case q != nil:
		o.settle(s, q, outcome{a.Allow, a.Rule, a.Why, a.Changed})
	case a.Allow && len(o.passes) < maxWaiting:
		o.passes[s] = time.Now().Add(passTime)
	}
	for _, l := range o.live {
		if !a.Allow && s.what == "" && l.once && l.host == a.Host && l.port == a.Port {
			l.end("its permission was revoked")
		}
	}
}

// settle ends a question. o.mu is held.
func (o *Outlet) settle(s subject, q *question, r outcome) {
	q.outcome = r
	delete(o.waiting, s)
	close(q.done)
}

// settleBy ends the questions that rules answer. o.mu is held.
func (o *Outlet) settleBy(rules sandbox.Allowlist) {
	for s, q := range o.waiting {
		switch s.what {
		case "":
			if v := allow.Decide(rules, s.Host, s.Port); v.Reach != sandbox.Nowhere || !v.Ask {
				o.settle(s, q, outcome{allow: v.Reach != sandbox.Nowhere, rule: v.Rule})
			}
		case wire.AskedUpload:
			if listed(rules.AnySize, s.Endpoint) {
				o.settle(s, q, outcome{allow: true, rule: "any amount may be sent there"})
			}
		case wire.AskedCredentials:
			if listed(rules.AnyText, s.Endpoint) {
				o.settle(s, q, outcome{allow: true, rule: "credentials may be sent there"})
			}
		case wire.AskedHostKey:
			if h, _ := rules.SSHAt(s.Host, s.Port); h.Pinned(s.key) {
				o.settle(s, q, outcome{allow: true, rule: pinnedKey})
			}
		}
	}
}
