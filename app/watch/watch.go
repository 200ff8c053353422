// Package watch shows, in a terminal, one after the other, the questions that wait for a person, and
// takes the answers. A question that is shown stays where it is until it has been answered or has ended,
// and says how it ended; what comes meanwhile waits behind it. A yes takes a code that is typed, and can
// only be given once all of the question has been on the screen.
//
// All that agents and servers say is hostile: nothing of it reaches the terminal as it is.
package watch

import (
	"context"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/garita-dev/garita/daemon/api"
)

// Daemon is what is needed of it. Calls may overlap.
type Daemon interface {
	Approvals(ctx context.Context, wait time.Duration) ([]api.Approval, error)
	Approval(ctx context.Context, id string) (api.Approval, error)
	ApprovalGroups(ctx context.Context) ([]api.ApprovalGroup, error)
	Answer(ctx context.Context, id string, a api.Answer) (api.Approval, error)
	AnswerGroup(ctx context.Context, a api.GroupAnswer) ([]api.Approval, error)
	// Follow calls changed at first and whenever a question has come or ended. It blocks until ctx ends
	// or the daemon can no longer be heard, and says which.
	Follow(ctx context.Context, changed func()) error
}

// Options say where, and how.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Environ []string         // NO_COLOR and TERM count; nil is the process's own
	Now     func() time.Time // nil is time.Now
}

func (o Options) now() func() time.Time {
	if o.Now == nil {
		return time.Now
	}
	return o.Now
}

// retry is how long to wait before a daemon that is gone is looked for again.
const retry = time.Second

// Run shows the screen until the person leaves it or ctx ends. In and Out are a terminal.
func Run(ctx context.Context, d Daemon, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler()}
	if o.Environ != nil {
		options = append(options, tea.WithEnvironment(o.Environ))
	}
	p := tea.NewProgram(newModel(ctx, d, o.now()), options...)
	var following sync.WaitGroup
	following.Go(func() { follow(ctx, d, p.Send) })
	_, err := p.Run()
	ended := ctx.Err() != nil
	cancel()
	following.Wait()
	if ended {
		return nil // Ctrl-C from outside is how one stops watching, too
	}
	return err
}

// follow tells the screen of changes, through restarts of the daemon, until ctx ends.
func follow(ctx context.Context, d Daemon, send func(tea.Msg)) {
	for ctx.Err() == nil {
		err := d.Follow(ctx, func() { send(changed{}) })
		if ctx.Err() != nil {
			return
		}
		send(lost{err})
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// client is the Daemon that a real one is.
type client struct{ *api.Client }

// FromClient makes a Daemon of the API's client.
func FromClient(c *api.Client) Daemon { return client{c} }

// Follow implements Daemon.
func (c client) Follow(ctx context.Context, changed func()) error {
	stream, err := c.Events(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		if e.Kind == "approval" || e.Kind == "reset" {
			changed()
		}
	}
}
