package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/store"
)

const (
	insertEvent = `INSERT INTO events (seq, at, kind, uid, client, session, server, call, body, prev, hash, token)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertAnchor = `INSERT INTO anchors (seq, at, prev, hash, sig) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (seq) DO NOTHING`
)

const (
	// anchorEvery is after how many events at the latest the chain is signed.
	anchorEvery = 256
	// maxBody bounds one event's body, in bytes.
	maxBody = 1 << 20
)

// Append adds e to the audit log and returns it with Seq, At (now, unless it is set), Prev and
// Hash. When it returns the event survives the daemon's death. Kinds: InvalidArgument when the body
// is no JSON object or too long; Unavailable.
func (s *Store) Append(ctx context.Context, e store.Event) (store.Event, error) {
	return s.appendOne(ctx, e, false)
}

// AppendDurable is Append that also waits for the disk and signs the chain.
func (s *Store) AppendDurable(ctx context.Context, e store.Event) (store.Event, error) {
	return s.appendOne(ctx, e, true)
}

func (s *Store) appendOne(ctx context.Context, e store.Event, durable bool) (store.Event, error) {
	if err := checkBody(e.Body); err != nil {
		return store.Event{}, fmt.Errorf("append %s: %w", e.Kind, err)
	}
	events := [...]placed{{Event: e}}
	s.mu.Lock()
	err := s.commit(ctx, durable, events[:], nil)
	s.mu.Unlock()
	if err != nil {
		return store.Event{}, fmt.Errorf("append %s: %w", e.Kind, err)
	}
	return events[0].event(), nil
}

// checkBody refuses what is not one JSON object.
func checkBody(b []byte) error {
	if len(b) > maxBody {
		return fmt.Errorf("event body of %d bytes is longer than %d: %w", len(b), maxBody, errdefs.ErrInvalidArgument)
	}
	if !bytes.HasPrefix(b, []byte("{")) || !jsontext.Value(b).IsValid() {
		return fmt.Errorf("event body is no JSON object: %w", errdefs.ErrInvalidArgument)
	}
	return nil
}

// placed is an event with its place in the chain. Its Prev and Hash are filled in by event.
type placed struct {
	store.Event
	prev, own hash
}

func (p placed) event() store.Event {
	p.Prev, p.Hash = p.prev.digest(), p.own.digest()
	return p.Event
}

// commit adds events to the chain and runs also, which may be nil, in the same transaction. It
// fills in the events' places. s.mu is held.
//
// The head file is told what is coming before the transaction commits and what came after it, so
// that whatever moment we die at, it and the database account for each other.
func (s *Store) commit(ctx context.Context, durable bool, events []placed, also func(ctx context.Context) error) error {
	return s.commitCall(ctx, durable, events, nil, also)
}

// commitCall is commit; the last of events ends a call when finished is not nil.
func (s *Store) commitCall(ctx context.Context, durable bool, events []placed, finished *listing, also func(ctx context.Context) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	next := s.linkUp(events)
	if durable || s.signed+len(events) >= anchorEvery {
		next.anchor = s.sign(next)
	}
	if err := s.announce(next, durable); err != nil {
		return err
	}
	s.stale = true // until the transaction is known to have happened
	if err := s.w.write(durable, events, next.anchor, s.head.anchor, also); err != nil {
		return unavailable("write record", err)
	}
	s.stale = false
	s.indexing.add(events, finished)
	s.signed += len(events)
	if next.anchor != s.head.anchor {
		s.signed = 0
	}
	s.head = next
	if err := s.file.write(next); err != nil {
		return err
	}
	if s.checkpoints.consider(s.readers, s.tidy) {
		_ = s.w.hold() // anew, at the newest event: what it holds is not folded in
	}
	return nil
}

// ready says whether anything can be written; after a failed write it looks first where the
// database stands.
func (s *Store) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed {
		return fmt.Errorf("the record is closed: %w", errdefs.ErrUnavailable)
	}
	if err := s.inPlace(); err != nil {
		return err
	}
	if !s.stale {
		return nil
	}
	return unavailable("find where the record stands", s.settle(ctx, s.head, true))
}

// linkUp gives events their places after the head and returns the head that follows from them.
func (s *Store) linkUp(events []placed) head {
	next := s.head
	next.nextSeq, next.nextHash = 0, hash{}
	for i := range events {
		e := &events[i]
		if e.At.IsZero() {
			e.At = time.Now()
		}
		e.At = e.At.Truncate(time.Microsecond).UTC()
		e.Seq, e.prev = next.seq+1, next.hash
		e.own, s.scratch = eventHash(e.prev, e.Event, s.scratch)
		next.seq, next.hash = e.Seq, e.own
	}
	return next
}

// sign makes the anchor of the event h ends in.
func (s *Store) sign(h head) anchor {
	return s.key.sign(h.id, anchor{
		seq: h.seq, at: time.Now().UnixMicro(), prev: s.head.anchor.seq, hash: h.hash,
	})
}

// announce notes in the head file what is about to be committed.
func (s *Store) announce(next head, durable bool) error {
	s.head.nextSeq, s.head.nextHash = next.seq, next.hash
	if err := s.file.write(s.head); err != nil {
		return err
	}
	if durable {
		return s.file.sync()
	}
	return nil
}

// write commits events and what goes with them. before is the anchor before a.
func (w *writer) write(durable bool, events []placed, a, before anchor, also func(ctx context.Context) error) error {
	if !durable && len(events) == 1 && a == before && also == nil {
		return w.renewed(func() error { return w.addEvent(events[0]) }) // a transaction of its own
	}
	return w.transact(durable, func(ctx context.Context) error {
		for _, e := range events {
			if err := w.addEvent(e); err != nil {
				return err
			}
		}
		if a != before {
			if _, err := w.insertAnchor.exec(a.seq, a.at, a.prev, a.hash[:], a.sig[:]); err != nil {
				return err
			}
		}
		if also == nil {
			return nil
		}
		return also(ctx)
	})
}

func (w *writer) addEvent(e placed) error {
	_, err := w.insertEvent.exec(
		e.Seq, e.At.UnixMicro(), string(e.Kind), int64(e.Principal.UID), e.Principal.Client,
		string(e.Session), string(e.Server), string(e.Call), string(e.Body), e.prev[:], e.own[:], e.Principal.Token)
	return err
}

// seal signs the newest event and waits for the disk. s.mu is held.
func (s *Store) seal(ctx context.Context) error {
	if err := s.ready(ctx); err != nil || s.head.seq == s.head.anchor.seq {
		return err
	}
	return s.commit(ctx, true, nil, nil)
}
