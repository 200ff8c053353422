package main

import (
	"context"
	"sync"
	"unicode/utf8"

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
		if c.livelyErr {
			printTo(c.err, "\r\x1b[K") // what is printed next has the line to itself
		}
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

// tellProgress prints each step as it begins; on a terminal one line follows all that happens in it.
func (c *cli) tellProgress() func(api.Event) {
	last := ""
	return func(e api.Event) {
		if e.Progress == nil {
			return
		}
		p := *e.Progress
		if c.livelyErr {
			printTo(c.err, "\r\x1b[K%s%s", cutLine(progressLine(p)), map[bool]string{true: "\n"}[p.Final])
			return
		}
		if step := p.Server + p.Step; step != last || p.Failed {
			printTo(c.err, "%s\n", progressLine(p))
			last = step
		}
	}
}

// cutLine keeps a line from filling more than one row of a narrow terminal.
func cutLine(line string) string {
	const most = 78
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	return string([]rune(line)[:most-1]) + "…"
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
