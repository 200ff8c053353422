package outlet

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// smallBuffer is what a quiet direction of a connection holds, in bytes, and largeBuffer a busy one.
	smallBuffer = 8 << 10
	largeBuffer = 256 << 10
)

var largeBuffers = sync.Pool{New: func() any { b := make([]byte, largeBuffer); return &b }}

// splice passes bytes both ways until both sides have said everything, or one has gone.
func (o *Outlet) splice(l *live, inside, outside net.Conn) {
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if l.greeting != nil {
			l.greeting.carryOn()
			return
		}
		l.finish(inside, pump(inside, outside, l.cameIn))
	}()
	l.finish(outside, pump(outside, inside, o.sending(l)))
	<-answered
}

// cameIn counts what has come in.
func (l *live) cameIn(b []byte) error {
	l.heard(len(b))
	return nil
}

func (l *live) wentOut(n int) {
	l.sent.Add(int64(n))
	l.left(n)
}

// finish ends one direction: the other side is told that no more comes, or that all is over.
func (l *live) finish(to net.Conn, err error) {
	if err != nil {
		l.end("")
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}

// pump copies until src ends, or what passes may not. A busy direction gets a large buffer, and gives it
// back when it becomes quiet.
func pump(dst io.Writer, src io.Reader, passes func([]byte) error) error {
	small := make([]byte, smallBuffer)
	buf := small
	var large *[]byte
	defer func() {
		if large != nil {
			largeBuffers.Put(large)
		}
	}()
	for {
		k, err := src.Read(buf)
		if k > 0 {
			if no := passes(buf[:k]); no != nil {
				return no
			}
			if _, werr := dst.Write(buf[:k]); werr != nil {
				return werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case large == nil && k == len(buf):
			large, _ = largeBuffers.Get().(*[]byte)
			buf = *large
		case large != nil && k < smallBuffer:
			largeBuffers.Put(large)
			large, buf = nil, small
		}
	}
}

// greeting is what a server says before the sandbox has said anything.
type greeting struct {
	l       *live
	inside  net.Conn
	outside net.Conn
	heard   chan struct{} // closed when the first words have come, or none will
	some    bool          // read only after heard
	over    bool          // read only after heard: there is no more to pass
	stop    atomic.Bool
}

// listenFirst begins to pass on what the server says.
func listenFirst(l *live, inside, outside net.Conn) *greeting {
	g := &greeting{l: l, inside: inside, outside: outside, heard: make(chan struct{})}
	go g.listen()
	return g
}

func (g *greeting) listen() {
	defer close(g.heard)
	buf := make([]byte, smallBuffer)
	for {
		n, err := g.outside.Read(buf)
		g.l.heard(n)
		if n > 0 {
			g.some = true
			if _, werr := g.inside.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		switch {
		case g.stop.Load():
			return
		case err != nil:
			g.over = true
			if errors.Is(err, io.EOF) {
				err = nil
			}
			g.l.finish(g.inside, err)
			return
		}
	}
}

// halt takes the reading over from listen.
func (g *greeting) halt() {
	g.stop.Store(true)
	_ = g.outside.SetReadDeadline(time.Unix(1, 0))
	<-g.heard
	_ = g.outside.SetReadDeadline(time.Time{})
}

// nothing ends the listening and says whether the server has said nothing so far.
func (g *greeting) nothing() bool {
	g.halt()
	return !g.some && !g.over
}

// carryOn passes on whatever else the server says.
func (g *greeting) carryOn() {
	g.halt()
	if !g.over {
		g.l.finish(g.inside, pump(g.inside, g.outside, g.l.cameIn))
	}
}
