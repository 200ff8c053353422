package ssh

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
)

const (
	// maxBegin bounds what is read of one direction before the key is known, in bytes. Post-quantum
	// methods and the largest groups need less than 8 KB.
	maxBegin = 64 << 10
	// maxPacket is the largest packet that everybody has to take (RFC 4253, 6.1), and some room.
	maxPacket = 48 << 10
	// maxIdent bounds the line by which a side names itself (RFC 4253, 4.2), line end included.
	maxIdent = 255
	// maxBanner bounds a line that a server may send before that one.
	maxBanner = 8 << 10
)

// side is one direction of a connection: what has come and not been passed on.
type side struct {
	server bool
	held   []byte
	read   int // bytes that have ever come
	ident  string
	init   *kexInit
}

// feed adds what has come.
func (s *side) feed(b []byte) error {
	if s.read += len(b); s.read > maxBegin {
		return errors.New("too much came before the host's key")
	}
	s.held = append(s.held, b...)
	return nil
}

// take removes the first n bytes, which pass.
func (s *side) take(n int) []byte {
	passed := s.held[:n:n]
	s.held = s.held[n:]
	return passed
}

// line is the next whole line with its end; nil while it is cut.
func (s *side) line() ([]byte, error) {
	end := bytes.IndexByte(s.held, '\n')
	most := maxIdent
	if s.server && !couldBe(s.held, "SSH-") {
		most = maxBanner
	}
	switch {
	case end < 0 && len(s.held) <= most && (s.server || couldBe(s.held, "SSH-")):
		return nil, nil
	case end < 0 || end >= most:
		return nil, errNotSSH
	}
	return s.held[:end+1], nil
}

// couldBe says whether b begins with prefix, or is the beginning of it.
func couldBe(b []byte, prefix string) bool {
	n := min(len(b), len(prefix))
	return string(b[:n]) == prefix[:n]
}

// named reads the lines up to the one that names the side, and returns how many bytes they are; ok is
// false while that one has not come whole.
func (s *side) named() (n int, ok bool, err error) {
	line, err := s.line()
	if err != nil || line == nil {
		return 0, false, err
	}
	text := strings.TrimRight(string(line), "\r\n")
	switch {
	case strings.HasPrefix(text, "SSH-2.0-"), s.server && strings.HasPrefix(text, "SSH-1.99-"):
		s.ident = text
		return len(line), true, nil
	case strings.HasPrefix(text, "SSH-"):
		return 0, false, errors.New("only version 2 of SSH passes")
	case !s.server:
		return 0, false, errNotSSH
	}
	return len(line), false, nil // a server may greet before
}

// packet is the payload of the next whole packet, and how many bytes the packet is; nil while it is cut.
// Nothing is encrypted or compressed yet (RFC 4253, 6).
func (s *side) packet() (payload []byte, n int, err error) {
	if len(s.held) < 5 {
		return nil, 0, nil
	}
	length := binary.BigEndian.Uint32(s.held)
	padding := uint32(s.held[4])
	switch {
	case length > maxPacket:
		return nil, 0, errors.New("a packet is too long")
	case length < padding+2, padding < 4:
		return nil, 0, errors.New("a packet cannot be read")
	case uint32(len(s.held)) < 4+length: //nolint:gosec // bounded
		return nil, 0, nil
	}
	return s.held[5 : 4+length-padding], int(4 + length), nil
}

// kexInit is what of a KEXINIT decides how keys are exchanged.
type kexInit struct{ methods []string }

// parseKexInit reads a KEXINIT's payload (RFC 4253, 7.1), all of it.
func parseKexInit(payload []byte) (*kexInit, error) {
	b := payload[1:]
	if len(b) < 16 {
		return nil, errKexInit
	}
	b = b[16:] // the cookie
	var first []byte
	for i := range 10 {
		list, rest, ok := text(b)
		if !ok {
			return nil, errKexInit
		}
		if b = rest; i == 0 {
			first = list
		}
	}
	if len(b) != 5 || binary.BigEndian.Uint32(b[1:]) != 0 {
		return nil, errKexInit
	}
	return &kexInit{strings.Split(string(first), ",")}, nil
}

// text reads one string of SSH (RFC 4251, 5).
func text(b []byte) (value, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(b)
	if b = b[4:]; uint64(n) > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}
