package tray

import (
	"context"
	"fmt"

	"github.com/garita-dev/garita/daemon/api"
)

// client is the Daemon that a real one is.
type client struct {
	api  *api.Client
	open func(ctx context.Context, path string) error
}

// FromClient makes a Daemon of the API's client. open shows a path of the page, such
// as "/approvals", in the person's browser.
func FromClient(c *api.Client, open func(ctx context.Context, path string) error) Daemon {
	return client{api: c, open: open}
}

// Watch reads what waits after each event that may have changed it.
func (c client) Watch(ctx context.Context, told func([]Question)) error {
	stream, err := c.api.Events(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		if e.Kind != "approval" && e.Kind != "reset" {
			continue
		}
		list, err := c.api.Approvals(ctx, 0)
		if err != nil {
			return err
		}
		told(questions(list))
	}
}

func questions(list []api.Approval) []Question {
	out := make([]Question, 0, len(list))
	for _, a := range list {
		q := Question{ID: a.ID, Title: a.Title, Object: a.Object}
		if q.Title == "" {
			q.Title = fmt.Sprintf("%s asks for %s", a.Call.Agent, a.Call.Tool)
		}
		out = append(out, q)
	}
	return out
}

// Open shows a page.
func (c client) Open(ctx context.Context, path string) error { return c.open(ctx, path) }
