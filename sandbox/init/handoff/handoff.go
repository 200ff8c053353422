// Package handoff is what the engine and garita-init say to each other over the private socket of
// one sandbox, and the frames that may come by the lifeline. It keeps to a few imports, so that
// garita-init stays small.
//
// Every frame is a type byte, a big-endian uint32 length and that many bytes. The engine's first
// frame is Launch, and travels with the files: stdin, stdout, stderr, lifeline, and the wall's
// socket where the launch listens.
package handoff

import (
	"encoding/binary"
	"errors"
	"io"
)

// Frame types.
const (
	Launch   byte = 'L' // engine → init: EncodeLaunch
	Started  byte = 'S' // init → engine: the server has been executed
	Failed   byte = 'F' // init → engine: a kind byte (NotFound or Other) and a sentence; init exits
	Exited   byte = 'X' // init → engine: exit code, one byte
	Lifeline byte = 'E' // init → engine: the lifeline has ended; the server is being drained
	Secret   byte = 's' // daemon → init, by the lifeline: EncodeSecrets, once, where the launch awaits it
)

// Kinds of Failed.
const (
	NotFound byte = 'n' // no such program or directory
	Other    byte = 'o'
)

// MaxFrame bounds a frame in bytes: argv and env together may reach the kernel's limits.
const MaxFrame = 4 << 20

// Stdio is how many files go with a Launch that does not listen; a listening one has one more.
const Stdio = 4

var (
	errTooLarge = errors.New("a frame is too large")
	errCut      = errors.New("a launch is cut short")
	errSecrets  = errors.New("the secrets are cut short")
)

// Request is what garita-init shall run.
type Request struct {
	Argv []string
	Env  []string // NAME=value
	Dir  string
	// Listen are addresses (127.0.0.1:PORT) that init opens in the sandbox's network namespace before
	// the server starts, and sends over the wall's socket.
	Listen []string
	// Data is RLIMIT_DATA of the server in bytes, where no control group bounds its memory; 0 means none.
	Data uint64
	// Await makes init wait for a Secret frame on the lifeline before the server starts.
	Await bool
}

// Secrets are what the server has and the engine is not to see.
type Secrets struct {
	Env   []string // NAME=value; before those of the Request
	Files []SecretFile
}

// SecretFile is one file below the folder of secrets.
type SecretFile struct {
	Path    string // absolute
	Content string
}

// WriteFrame writes one frame.
func WriteFrame(w io.Writer, kind byte, body []byte) error {
	_, err := w.Write(Frame(kind, body))
	return err
}

// Frame is one frame's bytes.
func Frame(kind byte, body []byte) []byte {
	b := make([]byte, 5, 5+len(body))
	b[0] = kind
	binary.BigEndian.PutUint32(b[1:], uint32(len(body)))
	return append(b, body...)
}

// ReadFrame reads one frame. io.EOF means that the other end has closed between frames.
func ReadFrame(r io.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > MaxFrame {
		return 0, nil, errTooLarge
	}
	body = make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return head[0], body, nil
}

// EncodeLaunch is the body of a Launch frame.
func EncodeLaunch(l Request) []byte {
	b := appendList(nil, l.Argv)
	b = appendList(b, l.Env)
	b = appendList(b, l.Listen)
	b = appendString(b, l.Dir)
	b = binary.AppendUvarint(b, l.Data)
	await := uint64(0)
	if l.Await {
		await = 1
	}
	return binary.AppendUvarint(b, await)
}

// DecodeLaunch reads the body of a Launch frame.
func DecodeLaunch(b []byte) (Request, error) {
	var l Request
	ok := true
	l.Argv, b, ok = list(b, ok)
	l.Env, b, ok = list(b, ok)
	l.Listen, b, ok = list(b, ok)
	l.Dir, b, ok = str(b, ok)
	l.Data, b, ok = number(b, ok)
	await, b, ok := number(b, ok)
	if !ok || len(b) != 0 || len(l.Argv) == 0 || await > 1 {
		return Request{}, errCut
	}
	l.Await = await == 1
	return l, nil
}

// EncodeSecrets is the body of a Secret frame.
func EncodeSecrets(s Secrets) []byte {
	b := appendList(nil, s.Env)
	b = binary.AppendUvarint(b, uint64(len(s.Files)))
	for _, f := range s.Files {
		b = appendString(appendString(b, f.Path), f.Content)
	}
	return b
}

// DecodeSecrets reads the body of a Secret frame. Its error quotes nothing.
func DecodeSecrets(b []byte) (Secrets, error) {
	var s Secrets
	ok := true
	s.Env, b, ok = list(b, ok)
	n, b, ok := number(b, ok)
	if !ok || n > uint64(len(b)) { // every file takes at least two bytes
		return Secrets{}, errSecrets
	}
	for range n {
		var f SecretFile
		f.Path, b, ok = str(b, ok)
		f.Content, b, ok = str(b, ok)
		s.Files = append(s.Files, f)
	}
	if !ok || len(b) != 0 {
		return Secrets{}, errSecrets
	}
	return s, nil
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendList(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

func number(b []byte, ok bool) (uint64, []byte, bool) {
	v, n := binary.Uvarint(b)
	if !ok || n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

func str(b []byte, ok bool) (string, []byte, bool) {
	n, b, ok := number(b, ok)
	if !ok || n > uint64(len(b)) {
		return "", nil, false
	}
	return string(b[:n]), b[n:], true
}

func list(b []byte, ok bool) ([]string, []byte, bool) {
	n, b, ok := number(b, ok)
	if !ok || n > uint64(len(b)) { // every string takes at least one byte
		return nil, nil, false
	}
	var all []string
	for range n {
		var s string
		if s, b, ok = str(b, ok); !ok {
			return nil, nil, false
		}
		all = append(all, s)
	}
	return all, b, true
}
