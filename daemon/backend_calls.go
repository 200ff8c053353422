package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/store"
)

// Calls implements httpapi.Backend.
func (d *Daemon) Calls(ctx context.Context, before string, limit int, server string) (api.CallPage, error) {
	records, err := d.db.Calls(ctx, approvals.CallID(before), limit, serverName(server))
	if err != nil {
		return api.CallPage{}, err
	}
	page := api.CallPage{Calls: make([]api.Call, 0, len(records))}
	for _, r := range records {
		page.Calls = append(page.Calls, d.apiCall(r))
	}
	if limit > 0 && len(records) == limit {
		page.Next = string(records[len(records)-1].Call.ID)
	}
	return page, nil
}

// Call implements httpapi.Backend.
func (d *Daemon) Call(ctx context.Context, id string) (api.Call, error) {
	r, err := d.db.Call(ctx, approvals.CallID(id))
	if err != nil {
		return api.Call{}, named(err, "call with the ID", id, "garita audit tail")
	}
	c := d.apiCall(r)
	c.Arguments, c.Input = arguments(r.Call), input(r.Call)
	return c, nil
}

// Approvals implements httpapi.Backend.
func (d *Daemon) Approvals(ctx context.Context, wait time.Duration) ([]api.Approval, error) {
	pending := d.gate.Pending()
	if len(pending) == 0 && wait > 0 {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if p, err := d.gate.Await(ctx); err == nil {
			pending = p
		}
	}
	return d.apiApprovals(ctx, pending), nil
}

// Approval implements httpapi.Backend.
func (d *Daemon) Approval(ctx context.Context, id string) (api.Approval, error) {
	r, err := d.gate.Request(ctx, approvals.RequestID(id))
	if err != nil {
		return api.Approval{}, named(err, "question with the ID", id, "garita approvals list")
	}
	a := d.approval(ctx, r)
	if r.Outcome == approvals.Pending {
		a.Offers = apiOffers(offersTo(r, d.gate.Offers(r)))
	}
	return a, nil
}

func (d *Daemon) approval(ctx context.Context, r approvals.Request) api.Approval {
	a := d.apiApproval(r, d.foreseen(ctx, r.Call), d.before(ctx, r.Call))
	if r.Outcome == approvals.Pending {
		a.Group = d.groupOf(r.ID)
	}
	return a
}

// before tells what this server did in the last week.
func (d *Daemon) before(ctx context.Context, c approvals.Call) string {
	b, err := d.db.Before(ctx, c.Server)
	if err != nil || b.Writes == 0 {
		return fmt.Sprintf("%s has not written anything this week", c.Server)
	}
	return fmt.Sprintf("%d calls of %s this week that may write, %d approved", b.Writes, c.Server, b.Approved)
}

// Answer implements httpapi.Backend. The agent cannot answer for the person: see mayReply.
func (d *Daemon) Answer(ctx context.Context, peer httpapi.Peer, id string, a api.Answer) (api.Approval, error) {
	by, err := d.mayAnswer(ctx, peer, id, a)
	if err != nil {
		return api.Approval{}, err
	}
	r, err := d.gate.Answer(ctx, approvals.RequestID(id), approvals.Answer{
		Approve: a.Approve, By: by, Binding: digestOf(a.Binding), Permit: permit(a.Permit),
	})
	if err != nil {
		return api.Approval{}, err
	}
	return d.approval(ctx, r), nil
}

// mayAnswer is mayReply for one question. A no may also come from a notification: it permits nothing.
func (d *Daemon) mayAnswer(ctx context.Context, peer httpapi.Peer, id string, a api.Answer) (by string, err error) {
	if !a.Approve && !peer.Page && isTray(peer.PID) {
		return fmt.Sprintf("notification, pid %d", peer.PID), d.refuseDescendants(ctx, peer, "answer "+id)
	}
	return d.mayReply(ctx, peer, "answer "+id, a.TTY && a.Code != "" && a.Code == api.AnswerCode(a.Binding))
}

// isTray says whether a process is the tray that belongs to this daemon: the program beside ours, run as that.
func isTray(pid int) bool {
	own, err := os.Executable()
	if err != nil {
		return false
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	args, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.Split(string(args), "\x00")
	return err == nil && err2 == nil && filepath.Dir(exe) == filepath.Dir(own) &&
		slices.Contains([]string{"garita", "garitad"}, filepath.Base(exe)) && len(words) > 1 && words[1] == "tray"
}

// mayReply says who answers, or why they may not. Answers come from the page, from a typed code
// at a real terminal, or, where config.yaml lets scripts answer, from any process of the user's
// that does not descend from an attached client. typed says that the code was right.
func (d *Daemon) mayReply(ctx context.Context, peer httpapi.Peer, what string, typed bool) (by string, err error) {
	if err := d.refuseDescendants(ctx, peer, what); err != nil {
		return "", err
	}
	switch {
	case peer.Page:
		return "page", nil
	case typed && terminal(peer.PID):
		return fmt.Sprintf("terminal, pid %d", peer.PID), nil
	case d.config.Settings().Approvals.Script:
		return fmt.Sprintf("script, pid %d", peer.PID), nil
	}
	return "", d.refusePeer(ctx, peer, what, &api.Problem{
		Code: "denied", Title: "A script may not answer", Next: "garita ui, or type the code at a terminal",
		Detail: "Answers come from the page, the window, or a code typed at a real terminal. approvals.script is off in config.yaml.",
	})
}

// PermitLink implements httpapi.Backend. Who asked is remembered with the page: should one of these
// processes turn out to be an agent's, its page may not answer either.
func (d *Daemon) PermitLink(ctx context.Context, peer httpapi.Peer) (httpapi.Opener, error) {
	if err := d.refuseDescendants(ctx, peer, "open a page link"); err != nil {
		return nil, err
	}
	e := event(store.PageLinked, approvals.Principal{UID: peer.UID}, map[string]any{"pid": peer.PID, "lineage": lineage(peer.PID)})
	if _, err := d.db.AppendDurable(ctx, e); err != nil {
		return nil, fmt.Errorf("no link without a record: %w: %w", err, errdefs.ErrUnavailable)
	}
	return opener(peer.PID), nil
}

// refuseDescendants refuses, and records, what an attached client or a process below it asks for,
// directly or by a page that it opened.
func (d *Daemon) refuseDescendants(ctx context.Context, peer httpapi.Peer, what string) error {
	from := peer.Opened
	if !peer.Page {
		from = opener(peer.PID)
	}
	client := d.attached.among(from)
	if client == 0 {
		return nil
	}
	if peer.Page {
		peer.PID = from[0].PID
	}
	return d.refusePeer(ctx, peer, what, &api.Problem{
		Code: "denied", Title: "The agent cannot answer for the person",
		Detail: fmt.Sprintf("Process %d descends from process %d, an attached client.", peer.PID, client),
		Next:   "Answer in the page or the window, or from a terminal that the agent did not open.",
	})
}

func (d *Daemon) refusePeer(ctx context.Context, peer httpapi.Peer, what string, p *api.Problem) error {
	e := event(store.ApprovalRefused, approvals.Principal{UID: peer.UID}, map[string]any{
		"what": what, "pid": peer.PID, "lineage": lineage(peer.PID), "why": p.Detail,
	})
	if _, err := d.db.AppendDurable(ctx, e); err != nil {
		return fmt.Errorf("record a refused answer: %w: %w", err, errdefs.ErrUnavailable)
	}
	return p
}
