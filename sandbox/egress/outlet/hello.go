package outlet

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"time"
)

// content is what a sandbox begins to say on a connection.
type content int

const (
	unknown content = iota // too little has come to tell
	isTLS
	isHTTP
	isOther
)

const (
	// maxHello bounds what is read before a connection's name must be known, in bytes. A TLS hello
	// with post-quantum keys has some 2 KB.
	maxHello = 64 << 10
	// maxLine bounds the first line of what could be HTTP.
	maxLine = 8 << 10
)

// recordHandshake is the first byte of TLS.
const recordHandshake = 0x16

// classify tells what begins with b. TLS begins with a handshake record; HTTP has its name in its
// first line, after empty lines.
func classify(b []byte) content {
	switch {
	case len(b) == 0:
		return unknown
	case b[0] == recordHandshake:
		return isTLS
	}
	line := bytes.TrimLeft(b, "\r\n")
	if len(line) == 0 {
		if len(b) > maxLine {
			return isOther
		}
		return unknown
	}
	if c := line[0]; c < ' ' && c != '\t' || c >= 0x7f {
		return isOther
	}
	end := bytes.IndexByte(line, '\n')
	whole := end >= 0
	if whole {
		line = line[:end]
	}
	switch {
	case strings.Contains(strings.ToUpper(string(line)), "HTTP/"):
		return isHTTP
	case whole, len(line) > maxLine, bytes.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\r' && r != '\t' || r == 0x7f }) >= 0:
		return isOther
	}
	return unknown
}

var (
	errHelloSeen = errors.New("the hello has been seen")
	errMore      = errors.New("more is needed")
)

// serverName is the name in a TLS hello. done is false while b is only the beginning of one.
func serverName(b []byte) (name string, done bool, err error) {
	in := &oneWay{r: bytes.NewReader(b)}
	seen := false
	err = tls.Server(in, &tls.Config{ //nolint:gosec // no connection is made
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			name, seen = h.ServerName, true
			return nil, errHelloSeen
		},
	}).Handshake()
	switch {
	case seen:
		return name, true, nil
	case in.empty && len(b) < maxHello:
		return "", false, nil
	}
	return "", true, err
}

// oneWay is bytes that have been read already, as a connection. Nothing is written.
type oneWay struct {
	r     io.Reader
	empty bool
}

func (c *oneWay) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if errors.Is(err, io.EOF) {
		c.empty, err = true, errMore
	}
	return n, err
}

func (c *oneWay) Write(p []byte) (int, error)      { return len(p), nil }
func (c *oneWay) Close() error                     { return nil }
func (c *oneWay) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *oneWay) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *oneWay) SetDeadline(time.Time) error      { return nil }
func (c *oneWay) SetReadDeadline(time.Time) error  { return nil }
func (c *oneWay) SetWriteDeadline(time.Time) error { return nil }
