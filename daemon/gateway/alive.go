package gateway

import (
	"context"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// aliveLimit is how long a server may take to show that it is there.
const aliveLimit = 5 * time.Second

// Alive asks the server whether it is there: nil when it answers, or when there is nothing to ask,
// because it does not run, starts, or has ended meanwhile. While calls are under way silence says
// nothing, for there are servers that do one thing at a time: then it is asked again. It returns when
// ctx ends. Calls may overlap with all else.
func (s *Session) Alive(ctx context.Context) error {
	way := s.current()
	if !way.alive() || !way.isOpen() {
		return nil
	}
	said := s.said()
	for {
		_, err := way.ask(ctx, way.probe(said.era), said.params(), aliveLimit)
		switch {
		case err == nil || !way.alive():
			return nil
		case ctx.Err() != nil:
			return err
		case !s.calling():
			way.fail(errMute) // it is stopped for this, and the next request starts it anew
			return err
		}
	}
}

func (s *Session) calling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) > 0
}

// probe is a request that the server itself answers. A bridge answers for it what the eras differ in.
func (l *link) probe(client protocol.Era) string {
	l.out.Lock()
	defer l.out.Unlock()
	switch {
	case l.bridged:
		return protocol.MethodToolsList
	case client == protocol.ModernEra:
		return protocol.MethodDiscover
	}
	return protocol.MethodPing
}
