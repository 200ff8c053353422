package outlet

import (
	"errors"
	"net"
	"time"
)

// peeked is a connection whose first bytes have been looked at; they are read again.
type peeked struct {
	net.Conn
	seen []byte
}

// Read reads what has been looked at, then the rest.
func (p *peeked) Read(b []byte) (int, error) {
	if len(p.seen) > 0 {
		n := copy(b, p.seen)
		if p.seen = p.seen[n:]; len(p.seen) == 0 {
			p.seen = nil
		}
		return n, nil
	}
	return p.Conn.Read(b)
}

// CloseWrite says that no more comes.
func (p *peeked) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return p.Close()
}

// Reset ends the connection at once.
func (p *peeked) Reset() { reset(p.Conn) }

// more looks at what comes next.
func (p *peeked) more() error {
	if len(p.seen) >= maxHello {
		return errors.New("too much came before the name was known")
	}
	buf := make([]byte, 4096)
	n, err := p.Conn.Read(buf)
	p.seen = append(p.seen, buf[:n]...)
	if n > 0 {
		return nil
	}
	return err
}

// classify waits until it can be told what the sandbox begins to say.
func (p *peeked) classify() (content, error) {
	_ = p.Conn.SetReadDeadline(time.Now().Add(helloTime))
	defer func() { _ = p.Conn.SetReadDeadline(time.Time{}) }()
	for {
		if kind := classify(p.seen); kind != unknown {
			return kind, nil
		}
		if err := p.more(); err != nil {
			return unknown, err
		}
	}
}

// serverName waits for the whole TLS hello and returns the name in it.
func (p *peeked) serverName() (string, error) {
	_ = p.Conn.SetReadDeadline(time.Now().Add(helloTime))
	defer func() { _ = p.Conn.SetReadDeadline(time.Time{}) }()
	for {
		name, done, err := serverName(p.seen)
		if done {
			return name, err
		}
		if err := p.more(); err != nil {
			return "", err
		}
	}
}
