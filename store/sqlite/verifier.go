package sqlite

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"fmt"

	"github.com/garita-dev/garita/store"
)

// verifier goes through a log and stops at the first thing that is wrong.
type verifier struct {
	head    head
	public  ed25519.PublicKey
	anchors map[int64]anchor // by event

	base    int64 // the event before the first there is
	good    int64 // events that verified
	last    placed
	signed  int64 // the event of the last anchor met
	scratch []byte

	bad     int64
	problem string
	dropped store.Dropped
	held    []wireHeld     // the tools demoted when that was done
	made    []string       // the permissions and tokens there were then
	demoted []demotedEvent // the tools demoted by events there are
}

// fault marks event seq as the first one wrong or missing, unless an earlier one is known.
func (v *verifier) fault(seq int64, problem string, args ...any) {
	if v.problem != "" && v.bad <= seq {
		return
	}
	v.bad, v.problem = seq, fmt.Sprintf("Record %d: ", seq)+fmt.Sprintf(problem, args...)
}

// events checks the events in order until one is wrong.
func (v *verifier) events(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, selectEvent+"ORDER BY seq")
	if err != nil {
		return err
	}
	defer rows.Close()
	v.last.own = v.head.id.genesis()
	for first := true; rows.Next() && v.problem == ""; first = false {
		e, err := scanEvent(rows)
		if err != nil {
			v.fault(v.last.Seq+1, "it cannot be read (%v).", err)
			return nil
		}
		if first {
			v.begin(e)
		}
		v.event(e)
	}
	if err := rows.Err(); damaged(err) {
		v.fault(v.last.Seq+1, "it cannot be read: the file is damaged.")
		return nil
	}
	return rows.Err()
}

// begin finds what the first event there is follows from: the log's own beginning, or the anchor up
// to which everything was dropped. Whether it was, the record must say later on.
func (v *verifier) begin(first placed) {
	a, ok := v.anchors[first.Seq-1]
	if first.Seq <= 1 || !ok || !a.verify(v.head.id, v.public) {
		return
	}
	v.base, v.signed = a.seq, a.seq
	v.last.Seq, v.last.own = a.seq, a.hash
}

// event checks the next event.
func (v *verifier) event(e placed) {
	var own hash
	own, v.scratch = eventHash(e.prev, e.Event, v.scratch)
	switch {
	case e.Seq != v.last.Seq+1:
		v.fault(v.last.Seq+1, "it is missing; the next one there is is %d.", e.Seq)
	case own != e.own:
		v.fault(e.Seq, "it was changed, or stands in another one's place: its content does not fit its hash.")
	case e.prev != v.last.own && v.last.Seq == 0:
		v.fault(e.Seq, "it does not begin this log.")
	case e.prev != v.last.own:
		v.fault(v.last.Seq, "it was replaced: the next one follows another record.")
	case e.Seq == v.head.seq && e.own != v.head.hash:
		v.fault(e.Seq, "it was replaced: the head file holds another newest record.")
	case e.Seq > v.head.seq:
		v.fault(e.Seq, "Garita did not write it.")
	default:
		v.anchor(e)
	}
	if v.problem == "" {
		v.last = e
		v.good++
		v.read(e)
	}
}

// read takes from a good event what the rest is checked by.
func (v *verifier) read(e placed) {
	switch e.Kind { //nolint:exhaustive // the others tell nothing that is needed here
	case store.RecordDropped:
		var w wireDropped
		if decode(e.Body, &w) == nil && w.Upto > v.dropped.Upto {
			v.dropped = store.Dropped{Upto: w.Upto, At: e.At, Why: w.Why}
			v.held, v.made = w.Held, w.Made
		}
	case store.ToolDemoted:
		var w wireDemoted
		if decode(e.Body, &w) == nil {
			v.demoted = append(v.demoted, demotedEvent{e.Seq, wireHeld{string(e.Server), w.Tool}})
		}
	}
}

// demotedEvent is a tool.demoted event.
type demotedEvent struct {
	seq int64
	wireHeld
}

// anchor checks the anchor of e, if it has one.
func (v *verifier) anchor(e placed) {
	a, ok := v.anchors[e.Seq]
	switch {
	case !ok:
		return
	case !a.verify(v.head.id, v.public):
		v.fault(e.Seq, "its signature is false, or made with another key.")
	case a.hash != e.own:
		v.fault(v.signed+1, "it or one up to %d was rewritten: the signature at %d is of other records.", e.Seq, e.Seq)
	case a.prev != v.signed:
		v.fault(e.Seq, "the signature before it, at %d, is missing.", a.prev)
	}
	v.signed = e.Seq
}

// end checks that the log ends where it should.
func (v *verifier) end() {
	h := v.head
	if v.base > v.dropped.Upto {
		v.fault(v.dropped.Upto+1, "it is missing, and nothing in the record says that it was dropped.")
	}
	if v.problem == "" && v.last.Seq < h.seq {
		v.fault(v.last.Seq+1, "it is missing; the log was cut, it went on to %d.", h.seq)
	}
	if v.problem == "" && v.signed != h.anchor.seq {
		v.fault(h.anchor.seq, "its signature is missing.")
	}
	if h.doubt != 0 {
		v.fault(h.doubt, "from here on the log cannot be vouched for: when it was opened, the database and the head file outside it did not agree. One of them was changed, or the machine stopped without warning and the newest reads were lost.")
	}
}

// file says that the head file is no more what it should be.
func (v *verifier) file(holds bool) {
	if !holds && v.problem == "" {
		v.fault(max(v.head.seq, 1), "the head file, which says that it is the newest, was changed or taken away while Garita ran.")
	}
}
