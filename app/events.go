package app

import (
	"context"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// The waits between tries to reach the daemon: short at first, for a daemon that restarts.
const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// emitter repeats one event to the page.
type emitter func(name string, data any)

// relay repeats the daemon's events to the page until ctx ends, connecting again and going on
// from the last event seen whenever the daemon goes away. It blocks.
func relay(ctx context.Context, daemon *api.Client, emit emitter) {
	var since int64
	wait := firstRetry
	for ctx.Err() == nil {
		if follow(ctx, daemon, &since, emit) {
			wait = firstRetry
		}
		emit(eventLink, "down")
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, lastRetry)
		}
	}
}

// follow reads events over one connection until it ends, moving since along. It says whether
// there was a connection at all.
func follow(ctx context.Context, daemon *api.Client, since *int64, emit emitter) bool {
	stream, err := daemon.Events(ctx, *since)
	if err != nil {
		return false
	}
	defer func() { _ = stream.Close() }() // nothing is left unsent
	emit(eventLink, "up")
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			return true
		}
		*since = e.Seq
		emit(eventChanged, e)
	}
}
