package sqlite

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// hash is a SHA-256 digest as the chain links it.
type hash [sha256.Size]byte

func (h hash) digest() sandbox.Digest {
	return sandbox.Digest("sha256:" + hex.EncodeToString(h[:]))
}

// logID names one log for ever, so that no record can be passed off as another log's.
type logID [16]byte

// genesis is what the first event of a log follows.
func (id logID) genesis() hash {
	return sha256.Sum256(append([]byte("garita audit log 1\x00"), id[:]...))
}

// eventHash is the chain's link: SHA-256 over the canonical encoding of e and the hash before. The
// encoding is "garita event 1" and a zero byte; prev, 32 bytes; seq, time in unix microseconds and
// the principal's uid, 8 bytes each, big endian; then the kind, client, session, server, call and
// body, each with its length in 8 bytes before it; then, only where the principal has one, its token
// in the same way. It never changes: old logs are read for ever.
func eventHash(prev hash, e store.Event, scratch []byte) (hash, []byte) {
	b := append(scratch[:0], "garita event 1\x00"...)
	b = append(b, prev[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Seq))
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, uint64(e.Principal.UID))
	b = appendField(b, string(e.Kind))
	b = appendField(b, e.Principal.Client)
	b = appendField(b, string(e.Session))
	b = appendField(b, string(e.Server))
	b = appendField(b, string(e.Call))
	b = binary.BigEndian.AppendUint64(b, uint64(len(e.Body)))
	b = append(b, e.Body...)
	if e.Principal.Token != "" {
		b = appendField(b, e.Principal.Token)
	}
	return sha256.Sum256(b), b
}

func appendField(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
	return append(b, s...)
}

// anchor is a signed statement that the event at seq has this hash, and so that every event up to
// it is what it was. Anchors are linked by prev, so that none can be left out.
type anchor struct {
	seq  int64
	at   int64 // unix microseconds, UTC
	prev int64 // seq of the anchor before, 0 for the first
	hash hash
	sig  [ed25519.SignatureSize]byte
}

// message is what is signed.
func (a anchor) message(id logID) []byte {
	b := append([]byte("garita anchor 1\x00"), id[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(a.seq))
	b = binary.BigEndian.AppendUint64(b, uint64(a.at))
	b = binary.BigEndian.AppendUint64(b, uint64(a.prev))
	return append(b, a.hash[:]...)
}

func (a anchor) verify(id logID, key ed25519.PublicKey) bool {
	return ed25519.Verify(key, a.message(id), a.sig[:])
}

// toHash reads a hash from a column.
func toHash(b []byte) (hash, error) {
	if len(b) != sha256.Size {
		return hash{}, fmt.Errorf("a hash of %d bytes", len(b))
	}
	return hash(b), nil
}
