package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Event is one server-sent event.
type Event struct {
	Name  string        // its type; "" is "message"
	ID    string        // what Last-Event-ID may name; "" when it has none
	Data  []byte        // nil when it has none
	Retry time.Duration // how long the client is to wait before it comes back; 0 when not said
}

// KeepAlive is a comment: it says nothing, and that the stream is alive.
const KeepAlive = ": alive\n\n"

// AppendEvent writes e to b. Whatever its data holds, it stays one event: each of its lines becomes
// a data line. What would end the line of a name or an id is left out.
func AppendEvent(b []byte, e Event) []byte {
	b = appendField(b, "event", oneLine(e.Name))
	b = appendField(b, "id", oneLine(e.ID))
	if e.Retry > 0 {
		b = appendField(b, "retry", strconv.FormatInt(e.Retry.Milliseconds(), 10))
	}
	if e.Data != nil {
		for rest, more := e.Data, true; more; {
			var line []byte
			line, rest, more = cutLine(rest)
			b = append(append(append(b, "data: "...), line...), '\n')
		}
	}
	return append(b, '\n')
}

// AppendMessage writes one JSON-RPC message to b as an event of one data line. Line ends can stand
// between JSON's tokens alone, and become spaces there; what other readers take for a line end
// (U+0085, U+2028, U+2029) can stand in its strings alone, and is escaped.
func AppendMessage(b []byte, id string, raw []byte) []byte {
	if bytes.ContainsAny(raw, "\r\n") {
		raw = bytes.Map(func(r rune) rune {
			if r == '\r' || r == '\n' {
				return ' '
			}
			return r
		}, raw)
	}
	if bytes.ContainsAny(raw, "\u0085\u2028\u2029") {
		raw = []byte(strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`).Replace(string(raw)))
	}
	return AppendEvent(b, Event{Name: "message", ID: id, Data: raw})
}

func appendField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return append(b, name+": "+value+"\n"...)
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\r' || r == '\n' || r == 0 {
			return -1
		}
		return r
	}, s)
}

// cutLine is b up to its first line end, what follows it, and whether there was one.
func cutLine(b []byte) (line, rest []byte, found bool) {
	i := bytes.IndexAny(b, "\r\n")
	if i < 0 {
		return b, nil, false
	}
	if bytes.HasPrefix(b[i:], []byte("\r\n")) {
		return b[:i], b[i+2:], true
	}
	return b[:i], b[i+1:], true
}

// EventReader reads server-sent events. It is not for overlapping use.
type EventReader struct {
	r     *bufio.Reader
	limit int
	first bool // nothing was read yet
	cr    bool // the last line ended with CR: a LF now belongs to it
}

// NewEventReader reads events of at most limit bytes from r.
func NewEventReader(r io.Reader, limit int) *EventReader {
	return &EventReader{r: bufio.NewReaderSize(r, 64<<10), limit: limit, first: true}
}

// Read returns the next event that has data, an id or a retry. Comments and unknown fields are skipped; lines may end with LF, CRLF
// or CR. A *LineError is one event over the limit, and reading goes on; any other error ends the
// stream, and an event that was not finished then is none.
func (r *EventReader) Read() (Event, error) {
	var e Event
	size, tooLong := 0, false
	for {
		line, err := r.line(r.limit - size)
		switch {
		case errors.Is(err, ErrTooLong):
			tooLong, e = true, Event{}
			continue
		case err != nil:
			return Event{}, err
		case len(line) == 0 && tooLong:
			return Event{}, &LineError{Err: fmt.Errorf("%w: an event over %d bytes", ErrTooLong, r.limit)}
		case len(line) == 0 && (e.Data != nil || e.ID != "" || e.Retry > 0):
			return e, nil
		case len(line) == 0:
			e, size = Event{}, 0
			continue
		case line[0] == ':':
			continue
		}
		if size += len(line) + 1; size > r.limit {
			tooLong, e, size = true, Event{}, 0
		}
		e.take(line)
	}
}

// take reads one line of an event.
func (e *Event) take(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.Name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.ID = string(value)
		}
	case "data":
		if e.Data != nil {
			e.Data = append(e.Data, '\n')
		}
		e.Data = append(slices.Grow(e.Data, len(value)+1), value...)
		if e.Data == nil {
			e.Data = []byte{}
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			e.Retry = time.Duration(ms) * time.Millisecond
		}
	}
}

// line is the next line without its end. ErrTooLong is one over limit; it was skipped.
func (r *EventReader) line(limit int) ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, ended, err := r.part()
		switch {
		case err != nil:
			return nil, err
		case tooLong || len(line)+len(part) > limit:
			tooLong, line = true, nil
		default:
			line = append(line, part...)
		}
		if ended && tooLong {
			return nil, ErrTooLong
		}
		if ended {
			return line, nil
		}
	}
}

// part is what is there of a line, and whether that ends it. It never waits for the LF of a CRLF.
func (r *EventReader) part() (part []byte, ended bool, err error) {
	if err := r.begin(); err != nil {
		return nil, false, err
	}
	b, err := r.r.Peek(max(1, r.r.Buffered()))
	if err != nil && len(b) == 0 {
		return nil, false, err
	}
	if r.cr && b[0] == '\n' {
		r.cr = false
		_, err := r.r.Discard(1)
		return nil, false, err
	}
	r.cr = false
	i := bytes.IndexAny(b, "\r\n")
	if i < 0 {
		part = bytes.Clone(b)
		_, err = r.r.Discard(len(b))
		return part, false, err
	}
	part, r.cr = bytes.Clone(b[:i]), b[i] == '\r'
	_, err = r.r.Discard(i + 1)
	return part, true, err
}

// begin skips the byte-order mark a stream may start with.
func (r *EventReader) begin() error {
	if !r.first {
		return nil
	}
	r.first = false
	const mark = "\xef\xbb\xbf"
	if b, err := r.r.Peek(1); err != nil || b[0] != mark[0] {
		return err
	}
	if b, _ := r.r.Peek(len(mark)); string(b) == mark {
		_, err := r.r.Discard(len(mark))
		return err
	}
	return nil
}
