package protocol

import (
	"io"
)

// Stream is messages both ways, over whatever carries them.
type Stream interface {
	// Read returns the next message. A *LineError is one that could not be read, and reading goes
	// on; any other error is the end (io.EOF when the other side ended it). One caller at a time.
	Read() (Message, error)
	// Write sends one message. Calls may overlap.
	Write(raw []byte) error
}

// Lines is a Stream over bytes, a message a line.
type Lines struct {
	*Reader
	*Writer
}

// NewLines reads messages of at most MaxMessage bytes and writes them.
func NewLines(rw io.ReadWriter) Lines { return Lines{NewReader(rw, MaxMessage), NewWriter(rw)} }
