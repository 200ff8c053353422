package main

import (
	"context"
	"sync"

	"github.com/garita-dev/garita/daemon/api"
)

// showProgress tells on standard error what long work is at, and hands each event to others, until
// stop is called.
func (c *cli) showProgress(ctx context.Context, others ...func(api.Event)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	tell := append([]func(api.Event){c.tellProgress()}, others...)
	wg.Go(func() {
		c.follow(ctx, func(e api.Event) {
			for _, t := range tell {
				t(e)
			}
		})
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// follow hands events on until ctx or the stream ends. Progress is a courtesy: no stream, no progress.
func (c *cli) follow(ctx context.Context, tell func(api.Event)) {
	stream, err := c.client.Events(ctx, 0)
	if err != nil {
		return
	}
	defer func() { _ = stream.Close() }()
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			return
		}
		tell(e)
	}
}

// tellProgress prints each step once.
func (c *cli) tellProgress() func(api.Event) {
	last := ""
	return func(e api.Event) {
		if e.Progress == nil {
			return
		}
		line := progressLine(*e.Progress)
		if line != last {
			printTo(c.err, "%s\n", line)
			last = line
		}
	}
}

func progressLine(p api.Progress) string {
	line := p.Server + ": " + p.Step
	if p.Message != "" {
		line += ", " + p.Message
	}
	if p.Failed {
		line += " (failed)"
	}
	return safe(line)
}
