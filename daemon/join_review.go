package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/pins"
	"github.com/garita-dev/garita/sandbox"
)

const (
	// askAgain is how long a question about the same items is not put again.
	askAgain = time.Hour
	// askApart is the shortest time between two questions about one server, whose list may alternate.
	askApart = time.Minute
	// maxAsked is how long the text of one question is, in bytes; what is longer is looked at in a review.
	maxAsked = 64 << 10
)

// heldItem is one item that waits for a person.
type heldItem struct {
	key itemKey
	shown
	was approvals.Pin // as it was accepted; zero when it is new
}

// waiting is what of a server waits for a person, by kind and name. all.mu is held.
func (b *book) waiting() []heldItem { return slices.DeleteFunc(b.held(), b.wasRefused) }

func (b *book) wasRefused(h heldItem) bool { return b.refused[h.key] == h.now.Digest }

// held is what of a server does not exist for clients: what waits, and what was refused.
func (b *book) held() []heldItem {
	var out []heldItem
	for k, s := range b.shown {
		if s.held != "" {
			out = append(out, heldItem{k, s, b.accepted[k]})
		}
	}
	slices.SortFunc(out, func(a, b heldItem) int { return strings.Compare(a.key.String(), b.key.String()) })
	return out
}

// bindingOf names a set of items exactly as they are, and as they were.
func bindingOf(server sandbox.ServerName, list []heldItem) sandbox.Digest {
	var b strings.Builder
	fmt.Fprintf(&b, "%q", server)
	for _, h := range list {
		fmt.Fprintf(&b, "%q %s %s\n", h.key.String(), h.was.Digest, h.now.Digest)
	}
	return pins.Digest([]byte(b.String()))
}

// ask puts one question to a person about all that is held back of a server. It does not wait.
func (b *book) ask(about approvals.Call) {
	p := b.all
	p.mu.Lock()
	defer p.mu.Unlock()
	list := b.waiting()
	set := bindingOf(b.server, list)
	since := time.Since(b.askedAt)
	switch {
	case p.d.running.Err() != nil:
		return
	case len(list) == 0:
		b.cancel()
		return
	case set == b.asked && since < askAgain, since < askApart:
		return
	}
	q := question(about, list)
	if len(q.Subject.Tool.Diff) > maxAsked {
		p.d.log.Warn("what a server shows is held back; it is too long for a question", "server", b.server, "items", len(list), "next", "garita server review "+string(b.server))
		return
	}
	b.cancel()
	ctx, cancel := context.WithCancel(p.d.running)
	b.asked, b.askedAt, b.cancel = set, time.Now(), cancel
	p.asking.Go(func() {
		defer cancel()
		p.answered(ctx, b, q, list)
	})
}

// answered waits for a person's answer and does what it says.
func (p *pinned) answered(ctx context.Context, b *book, q approvals.Question, list []heldItem) {
	d, err := p.d.gate.Ask(ctx, q)
	switch {
	case err != nil && ctx.Err() == nil:
		p.d.log.Warn("nobody could be asked about what is held back", "server", b.server, "err", err)
		return
	case err != nil || d.Outcome != approvals.Approved && d.Outcome != approvals.Denied:
		return // it stays held, and can be looked at
	}
	if err := p.decide(context.WithoutCancel(ctx), b.server, list, d.Allowed(), d.By); err != nil {
		p.d.log.Warn("an answer about what is held back came too late", "server", b.server, "err", err)
	}
}

// question is one about all of list.
func question(about approvals.Call, list []heldItem) approvals.Question {
	names := []string{}
	findings := []string{}
	change := &approvals.ToolChange{After: bindingOf(about.Server, list)}
	var text strings.Builder
	for _, h := range list {
		names = append(names, pins.Visible(h.key.name))
		if h.was.Digest != "" {
			change.Before = pins.Digest([]byte(string(change.Before) + string(h.was.Digest)))
		}
		for _, f := range h.verdict.Findings {
			findings = append(findings, fmt.Sprintf("%s %s: %s: %s", pins.Visible(h.key.name), pins.Visible(f.Field), f.Why, f.Excerpt))
		}
		text.WriteString(asDiff(h))
	}
	change.Tool, change.Diff, change.Findings = few(names), text.String(), findings
	about.Sentence = fmt.Sprintf("use %s as %s shows it now", few(names), about.Server)
	about.At = time.Now().UTC()
	return approvals.Question{
		About: about, Subject: approvals.Subject{Tool: change},
		Why: approvals.Decision{
			Effect: approvals.Ask, Class: approvals.Write, Rule: approvals.RuleHeld,
			Reason: fmt.Sprintf("%s: %s.", few(names), list[0].verdict.Held),
		},
	}
}

// few names the first of several.
func few(names []string) string {
	const told = 3
	if len(names) <= told {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:told], ", "), len(names)-told)
}

// asDiff is one item for reading: what has changed, or all of it where it is new.
func asDiff(h heldItem) string {
	var b strings.Builder
	fmt.Fprintf(&b, "@@ %s @@\n", pins.Visible(h.key.String()))
	if h.was.Digest == "" {
		prefixed(&b, "+", readable(h.now.Definition))
		return b.String()
	}
	for _, f := range h.verdict.Drift.Fields {
		fmt.Fprintf(&b, " %s (%s)\n", pins.Visible(f.Field), or(f.Why, string(f.Kind)))
		prefixed(&b, "-", f.Old)
		prefixed(&b, "+", f.New)
	}
	return b.String()
}

func prefixed(b *strings.Builder, mark, text string) {
	if text == "" {
		return
	}
	for line := range strings.Lines(text) {
		b.WriteString(mark + strings.TrimRight(line, "\r\n") + "\n")
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// readable is a definition with what is not seen in it written out.
func readable(definition []byte) string {
	v := jsontext.Value(slices.Clone(definition))
	_ = v.Indent(jsontext.WithIndent("  ")) // canonical JSON is JSON
	return pins.Visible(string(v))
}

// decide does what a person says about items, exactly as they were shown: accepts or refuses them. It is
// recorded first. FailedPrecondition: one of them is not as it was any more.
func (p *pinned) decide(ctx context.Context, server sandbox.ServerName, list []heldItem, accept bool, by string) error {
	kind := pinRefused
	if accept {
		kind = pinAccepted
	}
	items := []map[string]any{}
	for _, h := range list {
		items = append(items, map[string]any{"kind": h.key.kind, "name": h.key.name, "digest": h.now.Digest, "before": h.was.Digest})
	}
	e := event(kind, approvals.Principal{UID: p.d.uid}, map[string]any{"items": items, "by": by})
	e.Server = server
	if _, err := p.d.db.AppendDurable(ctx, e); err != nil {
		return fmt.Errorf("record it: %w: %w", err, errdefs.ErrUnavailable)
	}
	b, err := p.settle(server, list, accept, by)
	if err != nil {
		return err
	}
	b.save()
	p.reviewed(server)
	return nil
}

// settle changes what is accepted, all of it or none.
func (p *pinned) settle(server sandbox.ServerName, list []heldItem, accept bool, by string) (*book, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.book(server)
	for _, h := range list {
		if s := b.shown[h.key]; s.now.Digest != h.now.Digest || b.accepted[h.key].Digest != h.was.Digest {
			return nil, fmt.Errorf("%s is not as it was shown any more: %w", pins.Visible(h.key.String()), errdefs.ErrFailedPrecondition)
		}
	}
	for _, h := range list {
		s := b.shown[h.key]
		if accept {
			pin := s.now
			pin.Accepted, pin.By = time.Now().UTC().Truncate(time.Second), by
			b.accept(pin)
			delete(b.refused, h.key)
			s.held, s.verdict = "", pins.Judge(&pin, pin, s.verdict.Findings, nil, false)
		} else {
			b.refused[h.key] = s.now.Digest
			s.held = "a person has seen it and does not want it"
		}
		b.shown[h.key] = s
		b.closed[h.key.kind] = true
	}
	b.cancel()
	b.cancel = func() {}
	return b, nil
}
