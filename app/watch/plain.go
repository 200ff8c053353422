package watch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/garita-dev/garita/app/question"
	"github.com/garita-dev/garita/app/safe"
	"github.com/garita-dev/garita/daemon/api"
)

// RunPlain asks line by line, for screen readers and for terminals that can do no more: each question is
// printed once, whole, and answered by a line that is typed. Nothing is ever printed over.
func RunPlain(ctx context.Context, d Daemon, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &plain{ctx: ctx, daemon: d, out: o.Out, now: o.now(), typed: make(chan string), skipped: map[string]bool{}}
	go p.read(o.In)
	for {
		a, err := p.next()
		if ctx.Err() != nil || err != nil {
			return errUnless(ctx, err)
		}
		if on, err := p.ask(a); err != nil || !on {
			return errUnless(ctx, err)
		}
	}
}

func errUnless(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// pollEvery bounds how long the end of a question goes unnoticed in plain mode.
const pollEvery = 2 * time.Second

// plain is one run of the plain mode.
type plain struct {
	ctx     context.Context //nolint:containedctx // of what it asks the daemon
	daemon  Daemon
	out     io.Writer
	now     func() time.Time
	typed   chan string // lines; closed at the end of input
	skipped map[string]bool
	waits   bool // that nothing waits has been said
}

// read passes lines on. It may stay in Read until the process ends: a terminal cannot be left otherwise.
func (p *plain) read(in io.Reader) {
	defer close(p.typed)
	for s := bufio.NewScanner(in); s.Scan(); {
		select {
		case p.typed <- strings.TrimSpace(s.Text()):
		case <-p.ctx.Done():
			return
		}
	}
}

func (p *plain) print(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format, args...) }

// next waits for a question that has not been passed over.
func (p *plain) next() (api.Approval, error) {
	for {
		list, err := p.daemon.Approvals(p.ctx, time.Minute)
		if err != nil {
			return api.Approval{}, err
		}
		for _, a := range list {
			if !p.skipped[a.ID] {
				p.waits = false
				return p.daemon.Approval(p.ctx, a.ID)
			}
		}
		if !p.waits {
			p.print("Nothing else waits for you.\n")
			p.waits = true
		}
		if len(list) == 0 {
			continue // it has waited for one
		}
		if err := p.pause(); err != nil {
			return api.Approval{}, err
		}
	}
}

func (p *plain) pause() error {
	select {
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-time.After(pollEvery):
		return nil
	}
}

// ask prints a question and takes answers until it has one; on is false when the person leaves.
func (p *plain) ask(a api.Approval) (on bool, err error) {
	p.print("\n%s\n", strings.Repeat("-", 40))
	for _, l := range question.Of(a, 0) {
		p.print("%s\n", l.Text)
	}
	for {
		p.print("\nd deny, a approve once, a 2 approve as 2 says, n next, q quit. %s.\nYour answer: ", question.Left(p.now(), a.Expires))
		said, ok, err := p.line(&a)
		if err != nil || !ok {
			return false, err
		}
		if a.State != "pending" { // what was typed was meant for what is no more
			return true, nil
		}
		done, quit, err := p.obey(&a, said)
		if err != nil || done || quit {
			return !quit, err
		}
	}
}

// line waits for a line, or for the question to end; then it waits for enter.
func (p *plain) line(a *api.Approval) (said string, ok bool, err error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case said, ok = <-p.typed:
			return said, ok, nil
		case <-p.ctx.Done():
			return "", false, nil
		case <-tick.C:
			now, err := p.daemon.Approval(p.ctx, a.ID)
			if err != nil || now.State == "pending" || a.State != "pending" {
				continue
			}
			a.State, a.By, a.Rule = now.State, now.By, now.Rule
			p.print("\n%s Enter to go on: ", question.Ending(*a, false))
		}
	}
}

// obey does what a line says.
func (p *plain) obey(a *api.Approval, said string) (done, quit bool, err error) {
	verb, which, _ := strings.Cut(said, " ")
	switch verb {
	case "q", "quit":
		return false, true, nil
	case "n", "next":
		p.skipped[a.ID] = true
		return true, false, nil
	case "d", "deny":
		return p.send(a, false, api.Permit{}), false, nil
	case "a", "approve":
		permit, ok := p.permit(*a, strings.TrimSpace(which))
		if !ok {
			return false, false, nil
		}
		return p.confirm(a, permit)
	}
	p.print("That is none of the answers.\n")
	return false, false, nil
}

// permit is the offer of a number; 1, or nothing, is once.
func (p *plain) permit(a api.Approval, which string) (api.Permit, bool) {
	if which == "" || which == "1" {
		return api.Permit{}, true
	}
	for i, o := range a.Offers {
		if which == fmt.Sprint(i+1) {
			p.print("This allows %s: %s\n", question.ScopeWords(o.Permit), safe.Line(o.Words))
			return o.Permit, true
		}
	}
	p.print("There is no such number.\n")
	return api.Permit{}, false
}

// confirm has the code typed.
func (p *plain) confirm(a *api.Approval, permit api.Permit) (done, quit bool, err error) {
	code := api.AnswerCode(a.Binding)
	p.print("To approve, type %s: ", code)
	said, ok, err := p.line(a)
	switch {
	case err != nil || !ok:
		return false, true, err
	case a.State != "pending":
		return true, false, nil
	case !strings.EqualFold(said, code):
		p.print("That is not the code. Nothing was answered.\n")
		return false, false, nil
	}
	return p.send(a, true, permit), false, nil
}

// send answers; false when the daemon did not take it and the question still waits.
func (p *plain) send(a *api.Approval, yes bool, permit api.Permit) bool {
	done, err := p.daemon.Answer(p.ctx, a.ID, api.Answer{
		Permit: permit, Approve: yes, Binding: a.Binding, Code: api.AnswerCode(a.Binding), TTY: true,
	})
	if err != nil {
		p.print("%s\n", describe(err))
		return false
	}
	p.print("%s\n", question.Ending(done, true))
	return true
}
