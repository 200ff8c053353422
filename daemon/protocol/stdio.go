package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxMessage bounds one message on stdio, in bytes. MCP sets no limit; screenshots and blobs of
// tens of MiB are real.
const MaxMessage = 64 << 20

// LineError is one line that is not a message. Reading goes on with the next line.
type LineError struct {
	Err    error  // a *ParseError, or why the line was not read
	Prefix []byte // its first bytes, for a log; hostile text
	// ID is that of the answer a line over the limit was, as far as its beginning tells; else "".
	ID ID
}

func (e *LineError) Error() string { return e.Err.Error() }
func (e *LineError) Unwrap() error { return e.Err }

// ErrTooLong is a line over the reader's limit.
var ErrTooLong = errors.New("the message is too long")

// Reader reads messages, one a line. It is not for overlapping use.
type Reader struct {
	r     *bufio.Reader
	limit int
	first bool
}

// NewReader reads messages of at most limit bytes from r.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), limit: limit, first: true}
}

// Read returns the next message. Blank lines, a byte-order mark and CRLF are tolerated. A
// *LineError is one bad line; any other error ends the stream (io.EOF when it ended between lines).
func (r *Reader) Read() (Message, error) {
	for {
		line, err := r.line()
		if err != nil {
			return Message{}, err
		}
		if len(line) == 0 {
			continue
		}
		m, err := Parse(line)
		if err != nil {
			return Message{}, &LineError{Err: err, Prefix: prefix(line)}
		}
		return m, nil
	}
}

func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.r.ReadSlice('\n')
		switch {
		case err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF):
			return nil, err
		case errors.Is(err, io.EOF) && len(line)+len(part) == 0:
			return nil, io.EOF
		case len(line)+len(part) > r.limit:
			return nil, r.skip(line, part, err)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return r.trim(line), nil
		}
	}
}

// skip drops the rest of an oversized line, so that the next Read starts at the next one.
func (r *Reader) skip(line, part []byte, err error) error {
	shown := prefix(append(line[:min(len(line), 200):min(len(line), 200)], part...))
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.r.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return &LineError{Err: fmt.Errorf("%w: over %d MiB", ErrTooLong, r.limit>>20), Prefix: shown, ID: leadingID(shown)}
}

// leadingID is the id that a message begins with, if no method does.
func leadingID(beginning []byte) ID {
	d := jsontext.NewDecoder(bytes.NewReader(beginning))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' || name.String() == "method" {
			return ""
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return ""
		}
		if key == "id" {
			var m Message
			_ = m.setID(value.Clone())
			return m.ID
		}
	}
}

func (r *Reader) trim(line []byte) []byte {
	if r.first {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		r.first = false
	}
	return bytes.TrimSpace(line)
}

func prefix(line []byte) []byte { return bytes.Clone(line[:min(len(line), 200)]) }

// Writer writes messages, one a line. Writes may overlap; each line is whole.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write sends one message. Newlines inside it, which JSON allows between tokens, become spaces:
// they can occur nowhere else in valid JSON.
func (w *Writer) Write(raw []byte) error {
	line := make([]byte, 0, len(raw)+1)
	line = append(line, raw...)
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(append(line, '\n'))
	return err
}
