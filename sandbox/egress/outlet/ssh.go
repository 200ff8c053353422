package outlet

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/ssh"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// pinnedKey is the rule by which a key passes that servers.yaml names.
const pinnedKey = "its pinned key"

// relaySSH passes SSH to a host whose key is known, and nothing else. Nothing that the host says from its
// key on reaches the sandbox before the key has been decided about.
func (o *Outlet) relaySSH(l *live, inside, outside net.Conn) {
	b := &ssh.Beginning{}
	deadline := time.Now().Add(helloTime)
	_, _ = inside.SetReadDeadline(deadline), outside.SetReadDeadline(deadline)
	said := make(chan struct{})
	go func() {
		defer close(said)
		o.clientBegins(l, b, inside, outside)
	}()
	known := o.hostBegins(l, b, inside, outside)
	_ = inside.SetReadDeadline(time.Unix(1, 0)) // the reading is taken over
	<-said
	if !known {
		l.end("")
		return
	}
	_, _ = inside.SetReadDeadline(time.Time{}), outside.SetReadDeadline(time.Time{})
	fromClient, fromServer := b.Held()
	o.splice(l, &peeked{Conn: inside, seen: fromClient}, &peeked{Conn: outside, seen: fromServer})
}

// clientBegins passes on what belongs to the beginning, until its reading is halted.
func (o *Outlet) clientBegins(l *live, b *ssh.Beginning, inside, outside net.Conn) {
	buf := make([]byte, smallBuffer)
	for {
		n, err := inside.Read(buf)
		pass, no := b.FromClient(buf[:n])
		if no != nil {
			o.mismatch(l, no.Error())
			return
		}
		if len(pass) > 0 {
			if o.maySend(l, len(pass)) != nil {
				return
			}
			if _, werr := outside.Write(pass); werr != nil {
				err = werr
			}
		}
		if err != nil {
			if slow, ok := err.(net.Error); !ok || !slow.Timeout() { //nolint:errorlint // it is the connection's own
				l.end("")
			}
			return
		}
	}
}

// hostBegins passes on what belongs to the beginning, up to the host's key, and says whether that is known.
func (o *Outlet) hostBegins(l *live, b *ssh.Beginning, inside, outside net.Conn) bool {
	buf := make([]byte, smallBuffer)
	for {
		n, err := outside.Read(buf)
		pass, key, no := b.FromServer(buf[:n])
		if no != nil {
			o.mismatch(l, no.Error())
			return false
		}
		if len(pass) > 0 {
			l.heard(len(pass))
			if _, werr := inside.Write(pass); werr != nil {
				return false
			}
		}
		switch {
		case key != nil:
			return o.knowsHost(l, key)
		case err != nil:
			return false
		}
	}
}

// knowsHost decides about the key by which a host has named itself. One that is pinned passes, another one
// than those never; where none is, the daemon looks further, and asks.
func (o *Outlet) knowsHost(l *live, key *ssh.HostKey) bool {
	h, _ := o.current().SSHAt(l.host, l.port)
	r := outcome{allow: true, rule: pinnedKey}
	switch {
	case h.Pinned(key.Fingerprint):
	case len(h.Keys) > 0:
		r = outcome{why: otherKey(l.endpoint(), key, h.Keys), changed: true}
	default:
		r = o.await(wire.Asked{
			Host: l.host, Port: l.port, What: wire.AskedHostKey,
			Key: &wire.HostKey{Type: key.Type, Fingerprint: key.Fingerprint, Line: key.Line},
		})
	}
	if !r.allow {
		o.refuseKey(l, key, r)
		return false
	}
	l.mu.Lock()
	l.hostKey = key.Fingerprint
	l.mu.Unlock()
	if !l.once && !l.permitted(o.current()) { // it has changed meanwhile
		l.end("its permission was revoked")
		return false
	}
	return true
}

func otherKey(e sandbox.Endpoint, key *ssh.HostKey, known []sandbox.SSHKey) string {
	var prints []string
	for _, k := range known {
		prints = append(prints, k.Fingerprint())
	}
	return fmt.Sprintf("%s has named itself by the key %s (%s), and is known by %s. Somebody may be in between, or the host has changed its key: ask those who run it before you change what is pinned in servers.yaml.",
		e, key.Fingerprint, key.Type, strings.Join(prints, ", "))
}

// refuseKey reports a host whose key is not known, or is another one, and ends the connection.
func (o *Outlet) refuseKey(l *live, key *ssh.HostKey, r outcome) {
	d := sandbox.Denial{
		Kind: sandbox.DeniedHostKey, Host: l.host, Port: l.port, Address: l.address.String(), Key: key.Fingerprint,
		Why: fmt.Sprintf("Nobody knows %s by the key %s (%s). %s", l.endpoint(), key.Fingerprint, key.Type, r.why),
	}
	if r.changed {
		d.Kind, d.Why = sandbox.DeniedChanged, r.why
	}
	o.denials.add(d)
	l.end(d.Why)
}

// shown is the fingerprint of the key that the host has shown, over SSH; "" without one.
func (l *live) shown() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hostKey
}

// knownBy says whether the key that the host has shown is one of those that are pinned now, if any is.
func (l *live) knownBy(h sandbox.SSHHost) bool {
	shown := l.shown()
	return shown == "" || len(h.Keys) == 0 || h.Pinned(shown)
}
