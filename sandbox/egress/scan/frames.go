package scan

import (
	"encoding/binary"
	"errors"
)

// Frames passes a server's WebSocket frames on with texts replaced in each frame's payload. A text in
// two frames is not found. Calls may not overlap.
type Frames struct {
	scanner *Scanner
	emit    func([]byte) error
	head    []byte  // of the frame that begins
	left    uint64  // of its payload
	payload *Filter // nil between frames
}

// NewFrames returns Frames that pass on to emit, which may not keep what it is given.
func NewFrames(s *Scanner, emit func([]byte) error) *Frames { return &Frames{scanner: s, emit: emit} }

// ErrFrame is a frame that no server may send (RFC 6455, 5.1 and 5.2): what it holds cannot be read.
var ErrFrame = errors.New("the server sent a WebSocket frame that is masked or compressed")

const (
	maskBit      = 0x80 // of the second byte
	reservedBits = 0x70 // of the first: an extension's, and none was agreed on
)

// Write takes what comes next.
func (f *Frames) Write(p []byte) error {
	for len(p) > 0 {
		var err error
		if f.payload == nil {
			p, err = f.begin(p)
		} else {
			p, err = f.goOn(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin takes a byte of a frame's head, and passes the head on once it is whole.
func (f *Frames) begin(p []byte) ([]byte, error) {
	f.head = append(f.head, p[0])
	p = p[1:]
	switch {
	case len(f.head) < 2:
		return p, nil
	case f.head[0]&reservedBits != 0, f.head[1]&maskBit != 0:
		return nil, ErrFrame
	}
	size := headSize(f.head[1])
	if len(f.head) < size {
		return p, nil
	}
	f.left = payloadSize(f.head)
	if err := f.emit(f.head); err != nil {
		return nil, err
	}
	f.head = f.head[:0]
	if f.left > 0 {
		f.payload = NewFilter(f.scanner, f.emit)
	}
	return p, nil
}

func headSize(second byte) int {
	switch second {
	case 126:
		return 4
	case 127:
		return 10
	}
	return 2
}

func payloadSize(head []byte) uint64 {
	switch len(head) {
	case 4:
		return uint64(binary.BigEndian.Uint16(head[2:]))
	case 10:
		return binary.BigEndian.Uint64(head[2:])
	}
	return uint64(head[1])
}

// goOn takes what p has of the payload. At its end nothing is held: a message may end there.
func (f *Frames) goOn(p []byte) ([]byte, error) {
	n := len(p)
	if uint64(n) > f.left { //nolint:gosec // a length
		n = int(f.left) //nolint:gosec // less than a length
	}
	if err := f.payload.Write(p[:n]); err != nil {
		return nil, err
	}
	if f.left -= uint64(n); f.left > 0 { //nolint:gosec // a length
		return p[n:], nil
	}
	err := f.payload.Close()
	f.payload = nil
	return p[n:], err
}
