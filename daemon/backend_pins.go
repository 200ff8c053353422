package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/pins"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
)

// Pins implements httpapi.Backend.
func (d *Daemon) Pins(_ context.Context, server string) (api.Pins, error) {
	name, err := d.pinnedServer(server)
	if err != nil {
		return api.Pins{}, err
	}
	return d.pins.api(name), nil
}

// pinnedServer is a server that something is known of: a configured one, or one that was run once.
func (d *Daemon) pinnedServer(server string) (sandbox.ServerName, error) {
	if d.pins.knows(serverName(server)) {
		return serverName(server), nil
	}
	s, err := d.configured(server)
	return s.Name, err
}

// AnswerPins implements httpapi.Backend. The agent cannot answer for the person: see mayReply.
func (d *Daemon) AnswerPins(ctx context.Context, peer httpapi.Peer, server string, a api.PinAnswer) (api.Pins, error) {
	name, err := d.pinnedServer(server)
	if err != nil {
		return api.Pins{}, err
	}
	by, err := d.mayReply(ctx, peer, "answer what "+server+" shows", a.TTY && a.Code != "" && a.Code == api.AnswerCode(a.Binding))
	if err != nil {
		return api.Pins{}, err
	}
	list, err := d.pins.chosen(name, a)
	if err != nil {
		return api.Pins{}, err
	}
	if err := d.pins.decide(ctx, name, list, a.Accept, by); err != nil {
		return api.Pins{}, err
	}
	return d.pins.api(name), nil
}

func (p *pinned) knows(server sandbox.ServerName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.books[server] != nil
}

// chosen is the items an answer is about, if they are what was shown.
func (p *pinned) chosen(server sandbox.ServerName, a api.PinAnswer) ([]heldItem, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.book(server)
	list := b.held()
	if len(list) == 0 {
		return nil, fmt.Errorf("nothing of %s is held back: %w", server, errdefs.ErrFailedPrecondition)
	}
	if digestOf(a.Binding) != bindingOf(server, list) {
		return nil, fmt.Errorf("what %s shows is not what was shown to you any more; look at it again: %w", server, errdefs.ErrInvalidArgument)
	}
	if len(a.Items) == 0 {
		if list = slices.DeleteFunc(list, b.wasRefused); len(list) == 0 {
			return nil, fmt.Errorf("all that is held back of %s was refused before; name what you mean: %w", server, errdefs.ErrFailedPrecondition)
		}
		return list, nil
	}
	chosen := slices.DeleteFunc(list, func(h heldItem) bool { return !slices.Contains(a.Items, h.key.String()) })
	if len(chosen) != len(a.Items) {
		return nil, fmt.Errorf("not all of %q are held back: %w", a.Items, errdefs.ErrInvalidArgument)
	}
	return chosen, nil
}

// api is a server's book in the words of the contract.
func (p *pinned) api(server sandbox.ServerName) api.Pins {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.book(server)
	list := b.held()
	out := api.Pins{Server: string(server), Items: []api.PinItem{}}
	if len(list) > 0 {
		out.Binding = string(bindingOf(server, list))
	}
	for k, s := range b.shown {
		out.Items = append(out.Items, b.item(k, s))
	}
	for k, pin := range b.accepted {
		if _, listed := b.shown[k]; !listed {
			out.Items = append(out.Items, b.item(k, shown{now: pin, verdict: pins.Verdict{Pin: pin}}))
		}
	}
	slices.SortFunc(out.Items, func(x, y api.PinItem) int {
		return cmp.Or(slices.Index(states, x.State)-slices.Index(states, y.State), strings.Compare(x.Kind, y.Kind), strings.Compare(x.Name, y.Name))
	})
	return out
}

// states are an item's, in the order they are shown.
var states = []string{"waits", "refused", "cosmetic", "accepted"}

func (b *book) item(k itemKey, s shown) api.PinItem {
	out := api.PinItem{
		Kind: string(k.kind), Name: pins.Visible(k.name), State: "accepted", Why: s.held, Digest: string(s.now.Digest), Drift: string(s.verdict.Drift.Kind),
		Findings: apiFindings(s.verdict.Findings), Fields: apiFields(s.verdict.Drift.Fields),
	}
	if pin, ok := b.accepted[k]; ok {
		out.Before, out.By = string(pin.Digest), pin.By
		if !pin.Accepted.IsZero() {
			out.Accepted = &pin.Accepted
		}
	}
	switch {
	case s.held != "" && b.refused[k] == s.now.Digest:
		out.State = "refused"
	case s.held != "":
		out.State = "waits"
	case s.verdict.Drift.Kind == approvals.Cosmetic:
		out.State = "cosmetic"
	}
	if s.held != "" {
		out.Text = readable(s.now.Definition)
	}
	return out
}

func apiFindings(found []approvals.PinFinding) []api.PinFinding {
	out := make([]api.PinFinding, 0, len(found))
	for _, f := range found {
		out = append(out, api.PinFinding{Kind: string(f.Kind), Field: pins.Visible(f.Field), Excerpt: f.Excerpt, Why: f.Why, Holds: f.Holds})
	}
	return out
}

func apiFields(fields []approvals.FieldDiff) []api.PinField {
	out := make([]api.PinField, 0, len(fields))
	for _, f := range fields {
		out = append(out, api.PinField{Field: pins.Visible(f.Field), Old: f.Old, New: f.New, Drift: string(f.Kind), Why: f.Why})
	}
	return out
}
