package approvals

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"

	"github.com/garita-dev/garita/sandbox"
)

// Binding is what exactly an approval of c approves: a digest over the principal, the session, the
// server's name and definition, the tool's name and pin, and the argument bytes, with the answers
// and the state that go along, as they will be sent. Two calls share a Binding only if all of these are equal byte for byte; what describes the
// call (label, class, sentence) or names this one attempt (id, time, instance) is not part of it.
//
// Every field is written with its length before it, so no two different calls have one encoding;
// no arguments and empty arguments differ.
func (c Call) Binding() sandbox.Digest {
	h := sha256.New()
	for _, field := range [...]string{
		"garita call binding 3",
		strconv.Itoa(c.Principal.UID),
		c.Principal.Client,
		c.Principal.Token,
		string(c.Session),
		string(c.Server),
		string(c.Spec),
		c.Tool,
		string(c.Pin),
	} {
		writeField(h, []byte(field))
	}
	for _, sent := range [...][]byte{c.Arguments, c.Input, c.State} {
		writeField(h, []byte(strconv.FormatBool(sent != nil)))
		writeField(h, sent)
	}
	return sandbox.Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))
}

// Bare is c without what answers the server's own questions: the call as the client first made it.
func (c Call) Bare() Call {
	c.Input, c.State = nil, nil
	return c
}

// writeField writes b's length as eight bytes, big endian, and b.
func writeField(h hash.Hash, b []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(b)))
	h.Write(size[:])
	h.Write(b)
}
