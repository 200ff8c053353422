package main

import (
	"context"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// watchApprovals shows each question once, and what became of it, until ctx ends.
func (c *cli) watchApprovals(ctx context.Context) error {
	stream, err := c.client.Events(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	states := map[string]string{}
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		switch e.Kind {
		case "approval":
			err = c.noteApproval(ctx, e.ID, states)
		case "reset":
			err = c.noteWaiting(ctx, states)
		}
		if err != nil {
			return err
		}
	}
}

func (c *cli) noteWaiting(ctx context.Context, states map[string]string) error {
	list, err := c.client.Approvals(ctx, 0)
	if err != nil {
		return err
	}
	for _, a := range list {
		c.tellApproval(a, states)
	}
	return nil
}

func (c *cli) noteApproval(ctx context.Context, id string, states map[string]string) error {
	a, err := c.client.Approval(ctx, id)
	if err != nil {
		return err
	}
	c.tellApproval(a, states)
	return nil
}

func (c *cli) tellApproval(a api.Approval, states map[string]string) {
	if states[a.ID] == a.State {
		return
	}
	states[a.ID] = a.State
	line := short(a.ID) + "  " + a.Call.Server + "  " + a.Title + objectOf(a)
	printTo(c.out, "%s  %s  %s", time.Now().Format("15:04:05"), c.style.word(safe(a.State)), safe(line))
	if a.By != "" {
		printTo(c.out, "  (%s)", safe(a.By))
	}
	printTo(c.out, "\n")
}
