package outlet

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/garita-dev/garita/sandbox/egress/scan"
	"github.com/garita-dev/garita/sandbox/egress/swap"
)

// askForPlain makes a host answer in a way that can be looked into.
func askForPlain(r *http.Request) {
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Del("Grpc-Accept-Encoding")
	r.Header.Del("Sec-Websocket-Extensions") // they are compression
}

// errCoded is an answer that cannot be looked into.
type errCoded struct{ coding string }

func (e *errCoded) Error() string {
	return fmt.Sprintf("it answered in the coding %q, which was not asked for and is not looked into", bounded(e.coding))
}

// looksInto says whether what comes back on l is looked into.
func (o *Outlet) looksInto(l *live, set *swap.Set) bool {
	return l.opened || set.Opens(l.target(), time.Now())
}

// readable makes an answer one that can be looked into: gzip is decoded, other codings are refused.
func (o *Outlet) readable(l *live, resp *http.Response) error {
	if len(resp.Trailer) > 0 {
		resp.Header.Del("Content-Length") // HTTP/2 has both, HTTP/1.1 has not
	}
	set := o.placeholders()
	switch {
	case !o.looksInto(l, set):
		return nil
	case resp.StatusCode == http.StatusSwitchingProtocols:
		replaceHeaders(resp.Header, o.valuesEver()) // they do not pass a ResponseWriter
		resp.Status = ""                            // nor does the reason phrase
		return nil
	case resp.Body == nil, resp.Body == http.NoBody:
		return nil
	}
	switch coding := strings.ToLower(strings.Join(resp.Header.Values("Content-Encoding"), ",")); coding {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
		resp.Body = &unzipped{body: resp.Body}
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
		return nil
	default:
		return &errCoded{coding}
	}
}

// unzipped is a body whose coding is gzip.
type unzipped struct {
	body io.ReadCloser
	r    *gzip.Reader
}

// Read reads what was coded.
func (u *unzipped) Read(b []byte) (int, error) {
	if u.r == nil {
		r, err := gzip.NewReader(u.body)
		if err != nil {
			return 0, err // an empty body is one, too: io.EOF
		}
		u.r = r
	}
	return u.r.Read(b)
}

// Close closes the body.
func (u *unzipped) Close() error { return u.body.Close() }

const (
	// patience is how long what is held waits for more, and longest how long it waits while more comes again
	// and again.
	patience = 50 * time.Millisecond
	longest  = 4 * patience
)

// looked is an answer in which values are replaced by sentinels: in headers, body and trailers, and in
// the frames of a WebSocket. What comes last is held, and let go of after a moment of silence, whatever it
// is: see scan.Filter.
type looked struct {
	http.ResponseWriter
	scanner *scan.Scanner
	part    func(name string) // is told of a large part of a value, and ends the connection

	mu     sync.Mutex // guards the fields below, and the writing
	filter *scan.Filter
	timer  *time.Timer
	since  time.Time // something has been held
	latest time.Time // something has come
	over   bool
}

func newLooked(w http.ResponseWriter, s *scan.Scanner, part func(name string)) *looked {
	l := &looked{ResponseWriter: w, scanner: s, part: part}
	l.filter = scan.NewFilter(s, func(b []byte) error {
		_, err := w.Write(b)
		return err
	})
	return l
}

// WriteHeader sends the headers, final ones or others.
func (l *looked) WriteHeader(code int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	replaceHeaders(l.Header(), l.scanner)
	l.ResponseWriter.WriteHeader(code)
}

// replaceHeaders replaces values in h; a header whose name holds one is left out.
func replaceHeaders(h http.Header, s *scan.Scanner) {
	for name, values := range h {
		if s.Contains(name) {
			delete(h, name)
			continue
		}
		for i, text := range values {
			if after := s.String(text); after != text {
				values = slices.Clone(values)
				values[i] = after
				h[name] = values
			}
		}
	}
}

// Write sends what has come, but the last of it.
func (l *looked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.filter.Held()
	if err := l.told(l.filter.Write(b)); err != nil {
		return 0, err
	}
	if l.latest = time.Now(); !held {
		l.since = l.latest
	}
	if l.filter.Held() {
		l.wait(min(patience, longest-l.latest.Sub(l.since)))
	}
	return len(b), nil
}

// told tells of a large part of a value, if err is about one.
func (l *looked) told(err error) error {
	if name, ok := scan.IsPart(err); ok {
		l.part(name)
	}
	return err
}

// wait begins the time after which what is held is sent. l.mu is held.
func (l *looked) wait(d time.Duration) {
	if l.timer != nil {
		l.timer.Reset(d)
		return
	}
	l.timer = time.AfterFunc(d, l.release)
}

// release sends what is held. A large part of a value may go on still while more comes.
func (l *looked) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	if silent := time.Since(l.latest); l.filter.Large() && silent < patience {
		l.wait(patience - silent)
		return
	}
	if l.told(l.filter.Release()) == nil {
		l.since = time.Now()
		_ = http.NewResponseController(l.ResponseWriter).Flush()
	}
}

// FlushError sends what has been written, for http.ResponseController.
func (l *looked) FlushError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return http.NewResponseController(l.ResponseWriter).Flush()
}

// finish sends the rest. Trailers are set by now.
func (l *looked) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over = true; l.timer != nil {
		l.timer.Stop()
	}
	_ = l.told(l.filter.Close())
	replaceHeaders(l.Header(), l.scanner)
}

// Unwrap is for http.ResponseController.
func (l *looked) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// Hijack hands the connection over, on which frames of a WebSocket are sent.
func (l *looked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn, rw, err := http.NewResponseController(l.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	l.over = true
	frames := scan.NewFrames(l.scanner, func(b []byte) error {
		_, err := conn.Write(b)
		return err
	})
	return &framed{conn, frames, l.part}, rw, nil
}

// framed is a connection on which a server's frames are sent.
type framed struct {
	net.Conn
	frames *scan.Frames
	part   func(name string)
}

// Write sends frames.
func (f *framed) Write(b []byte) (int, error) {
	err := f.frames.Write(b)
	if err == nil {
		return len(b), nil
	}
	if name, ok := scan.IsPart(err); ok {
		f.part(name)
	}
	if errors.Is(err, scan.ErrFrame) {
		_ = f.Close()
	}
	return 0, err
}
