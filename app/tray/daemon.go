package tray

import (
	"context"
	"fmt"
	"strings"

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
		q := Question{ID: a.ID, Title: a.Title, Object: about(a), Binding: a.Binding}
		if q.Title == "" {
			q.Title = fmt.Sprintf("%s asks for %s", a.Call.Agent, a.Call.Tool)
		}
		out = append(out, q)
	}
	return out
}

// about says in one line what a question is about.
func about(a api.Approval) string {
	switch {
	case a.Tool != nil && len(a.Tool.Findings) > 0:
		return a.Tool.Tool + ": " + a.Tool.Findings[0]
	case a.Tool != nil:
		return a.Tool.Tool
	case a.Apply != nil && len(a.Apply.Paths) == 0:
		return "everything that differs"
	case a.Apply != nil:
		return strings.Join(a.Apply.Paths, ", ")
	case a.Network != nil:
		return strings.Join(a.Network.Hosts, ", ")
	case a.Install != nil:
		return a.Install.Package
	case a.Exec != nil:
		return a.Exec.Line
	case a.Secret != nil:
		return a.Secret.Secret + ", towards " + strings.Join(a.Secret.Hosts, ", ")
	case len(a.Findings) > 0 && a.Findings[0].Kind == "doubt":
		return a.Object + ": " + a.Findings[0].Text
	}
	return a.Object
}

// Deny answers no.
func (c client) Deny(ctx context.Context, q Question) error {
	_, err := c.api.Answer(ctx, q.ID, api.Answer{Binding: q.Binding})
	return err
}

// Open shows a page.
func (c client) Open(ctx context.Context, path string) error { return c.open(ctx, path) }
