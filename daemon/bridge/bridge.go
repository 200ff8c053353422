// Package bridge lets a client of one era of MCP use a server of the other.
//
// The legacy era (2024-11-05 … 2025-11-25) begins with initialize and lets the server ask the
// client; the modern one (2026-07-28) has no connection state, and a server that needs something
// answers "input_required". A bridge is a protocol.Stream put before the server's: what is written
// to it is of the client's era, what is read from it, too.
//
//	ToModern: a legacy client, a modern server
//	ToLegacy: a modern client, a legacy server
//
// What is bridged how, and what cannot be, stands in docs/protocol.md. Every request reaches the
// server under an id of the bridge's own, a number; params, results and errors keep their bytes
// but for the members the eras differ in.
//
// The client and the server are both taken to be hostile: what one of them can make the bridge
// remember is bounded by Options, and what does not fit together becomes an error answer, or is
// dropped and logged.
package bridge

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/garita-dev/garita/daemon/protocol"
)

// Options are a bridge's limits. The zero value of a field means the default that it names.
type Options struct {
	Log *slog.Logger // what is dropped and why; nil: nowhere

	Calls         int           // requests of the client's in flight, suspended ones included; 1024
	Suspended     int           // calls of ToLegacy that wait for the client to come back; 64
	Rounds        int           // times one call may ask the client; 10
	Questions     int           // questions open at once, of all calls; 64
	Subscriptions int           // resources subscribed to, and listens; 256
	Bytes         int           // bytes of calls, questions and answers kept, about; 128 MiB
	SuspendedFor  time.Duration // until a suspended call is given up; 10 minutes
	Handshake     time.Duration // until a server that does not answer initialize, server/discover or a subscription is given up; 1 minute
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Calls = cmp.Or(o.Calls, 1024)
	o.Suspended = cmp.Or(o.Suspended, 64)
	o.Rounds = cmp.Or(o.Rounds, 10)
	o.Questions = cmp.Or(o.Questions, 64)
	o.Subscriptions = cmp.Or(o.Subscriptions, 256)
	o.Bytes = cmp.Or(o.Bytes, 128<<20)
	o.SuspendedFor = cmp.Or(o.SuspendedFor, 10*time.Minute)
	o.Handshake = cmp.Or(o.Handshake, time.Minute)
	return o
}

// ToModern is a server of the modern era for a legacy client: it negotiates the revision, and
// begins with server/discover when the client initializes.
//
// The stream's Read is for one caller at a time and moves the bridge: messages of the server are
// taken in only while somebody reads. Writes may overlap. When the server's Read ends, so does the
// stream's, with the same error, after what there still was to read. The bridge closes nothing.
func ToModern(server protocol.Stream, o Options) protocol.Stream {
	t := newToModern(o.withDefaults())
	t.link = newLink(server, t.o, t)
	return t.link
}

// ToLegacy is a server of the legacy era for a modern client: it performs the initialize handshake
// with the server when the first request comes, as the client of that request. Reading, writing and
// the end are as of ToModern.
func ToLegacy(server protocol.Stream, o Options) protocol.Stream {
	t := newToLegacy(o.withDefaults())
	t.link = newLink(server, t.o, t)
	return t.link
}
