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

// readable makes an answer one that can be looked into, where it was asked to be: gzip is decoded, other
// codings are refused.
func readable(resp *http.Response) error {
	if resp.Request.Header.Get("Accept-Encoding") != "identity" || resp.Body == nil || resp.Body == http.NoBody || resp.StatusCode == http.StatusSwitchingProtocols {
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

// patience is how long a few bytes that could be the beginning of a value are held when no more come.
const patience = 50 * time.Millisecond

// looked is an answer in which values are replaced by sentinels: in headers, body and trailers, and in
// the frames of a WebSocket.
type looked struct {
	http.ResponseWriter
	scanner *scan.Scanner

	mu     sync.Mutex // guards the fields below, and the writing
	filter *scan.Filter
	timer  *time.Timer
	over   bool
}

func newLooked(w http.ResponseWriter, s *scan.Scanner) *looked {
	l := &looked{ResponseWriter: w, scanner: s}
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
	l.headers()
	l.ResponseWriter.WriteHeader(code)
}

// headers replaces in whatever headers are set.
func (l *looked) headers() {
	h := l.Header()
	for name, values := range h {
		if l.scanner.Contains(name) {
			delete(h, name)
			continue
		}
		for i, text := range values {
			if after := l.scanner.String(text); after != text {
				values = slices.Clone(values)
				values[i] = after
				h[name] = values
			}
		}
	}
}

// Write sends what is sure to be in no value.
func (l *looked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.filter.Write(b); err != nil {
		return 0, err
	}
	if l.filter.Held() {
		l.wait()
	}
	return len(b), nil
}

// wait begins the time after which a few held bytes are sent. l.mu is held.
func (l *looked) wait() {
	if l.timer != nil {
		l.timer.Reset(patience)
		return
	}
	l.timer = time.AfterFunc(patience, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.over && l.filter.Release() == nil {
			_ = http.NewResponseController(l.ResponseWriter).Flush()
		}
	})
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
	_ = l.filter.Close()
	l.headers()
}

// Unwrap is for http.ResponseController.
func (l *looked) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// Hijack hands the connection over, on which frames of a WebSocket are sent.
func (l *looked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.headers()
	conn, rw, err := http.NewResponseController(l.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	l.over = true
	frames := scan.NewFrames(l.scanner, func(b []byte) error {
		_, err := conn.Write(b)
		return err
	})
	return &framed{conn, frames}, rw, nil
}

// framed is a connection on which a server's frames are sent.
type framed struct {
	net.Conn
	frames *scan.Frames
}

// Write sends frames.
func (f *framed) Write(b []byte) (int, error) {
	if err := f.frames.Write(b); err != nil {
		if errors.Is(err, scan.ErrFrame) {
			_ = f.Close()
		}
		return 0, err
	}
	return len(b), nil
}
