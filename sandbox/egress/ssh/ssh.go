// Package ssh reads the beginning of SSH connections as it passes, in the clear, and says by which key the
// host names itself. It is pure: it dials nothing, and knows no keys.
//
// The identification lines, the offers of both sides and the messages of the chosen key exchange pass,
// and nothing else: what the host says from its key on is held, until whoever reads decides about it,
// and so is what the client says beyond the exchange. The host proves to the client that it has the key;
// that cannot be seen from between the two.
package ssh

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// HostKey is the key by which a host names itself.
type HostKey struct {
	Type        string // "ssh-ed25519"
	Fingerprint string // "SHA256:" and 43 characters
	// Line is type and key as known_hosts has them: "ssh-ed25519 AAAA…".
	Line string
	// Certified: the host showed a certificate for it. Who has signed it does not count.
	Certified bool
}

// The messages that pass before a host's key (RFC 4250, 4.1.2; RFC 4419, 5; RFC 5656, 7.1).
const (
	msgDisconnect = 1
	msgDebug      = 4 // 2 and 3 are "ignore" and "unimplemented"
	msgKexInit    = 20
	msgKexFirst   = 30
	msgReply      = 31 // of an exchange in a known group or on a curve
	msgGroupReply = 33 // of one in a group that the server names in its message 31
	msgKexLast    = 34
)

var (
	errNotSSH  = errors.New("what was said is not SSH")
	errKexInit = errors.New("an offer of key exchanges cannot be read")
)

// Beginning is the beginning of one connection. Its two readers may be called at the same time. The zero
// Beginning is ready to be used.
type Beginning struct {
	mu     sync.Mutex
	client side
	server side
	key    *HostKey
}

// FromClient takes what the client has said and returns what of it may be sent to the host now. An error
// says in a clause why nothing may, any more.
func (b *Beginning) FromClient(said []byte) (pass []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.client.feed(said); err != nil {
		return nil, err
	}
	return b.client.pass(func(payload []byte) (bool, error) {
		switch kind := payload[0]; {
		case kind >= msgDisconnect && kind <= msgDebug:
			return true, nil
		case kind >= msgKexFirst && kind <= msgKexLast && b.client.init != nil:
			return true, nil
		}
		return false, fmt.Errorf("the client sent message %d before it had the host's key", payload[0])
	})
}

// FromServer takes what the host has said and returns what of it may be sent to the client now. Once key
// is not nil, nothing more passes: Held is the rest. An error says in a clause why nothing may pass.
func (b *Beginning) FromServer(said []byte) (pass []byte, key *HostKey, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server.server = true
	if err := b.server.feed(said); err != nil || b.key != nil {
		return nil, b.key, err
	}
	pass, err = b.server.pass(b.answer)
	return pass, b.key, err
}

// Held is what was held back of both directions, and is passed on once the key has been decided about.
func (b *Beginning) Held() (fromClient, fromServer []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.client.held, b.server.held
}

// pass takes off what may pass: the identification, the offer, and packets for which may says so. It
// stops where may says neither yes nor no.
func (s *side) pass(may func(payload []byte) (bool, error)) (passed []byte, err error) {
	for s.ident == "" {
		n, _, err := s.named()
		if err != nil || n == 0 {
			return passed, err
		}
		passed = append(passed, s.take(n)...)
	}
	for {
		payload, n, err := s.packet()
		if err != nil || payload == nil {
			return passed, err
		}
		if payload[0] == msgKexInit && s.init == nil {
			if s.init, err = parseKexInit(payload); err != nil {
				return passed, err
			}
		} else if ok, err := may(payload); err != nil || !ok {
			return passed, err
		}
		passed = append(passed, s.take(n)...)
	}
}

// answer decides about one packet of the host's; the reply that has its key stays. b.mu is held.
func (b *Beginning) answer(payload []byte) (bool, error) {
	kind := payload[0]
	switch {
	case kind >= msgDisconnect && kind <= msgDebug:
		return true, nil
	case kind < msgKexFirst || kind > msgKexLast:
		return false, fmt.Errorf("the host sent message %d before its key", kind)
	case b.client.init == nil || b.server.init == nil:
		return false, errors.New("the host answered an exchange that had not begun")
	}
	reply, err := replyOf(b.client.init.methods, b.server.init.methods)
	if err != nil {
		return false, err
	}
	switch {
	case reply == msgGroupReply && kind == msgReply: // the group
		return true, nil
	case kind != reply:
		return false, fmt.Errorf("the host sent message %d, which is no part of the exchange", kind)
	}
	b.key, err = hostKey(payload[1:])
	return false, err
}

// markers stand in the lists of methods and are none (RFC 8308; OpenSSH's PROTOCOL; Dropbear).
var markers = []string{"ext-info-c", "ext-info-s", "kex-strict-c-v00@openssh.com", "kex-strict-s-v00@openssh.com", "kexguess2@matt.ucc.asn.au"}

// replyOf is the number of the message with the host's key in the exchange that both sides choose: the
// client's first that the server has, too (RFC 4253, 7.1).
func replyOf(client, server []string) (byte, error) {
	for _, m := range client {
		if !slices.Contains(server, m) || slices.Contains(markers, m) {
			continue
		}
		switch {
		case strings.HasPrefix(m, "diffie-hellman-group-exchange-"):
			return msgGroupReply, nil
		case slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(m, f) }):
			return msgReply, nil
		}
		return 0, fmt.Errorf("the way of exchanging keys, %q, is not known", bounded(m))
	}
	return 0, errors.New("the two sides have no way of exchanging keys in common")
}

// families are the beginnings of methods in whose message 31 the host's key comes first.
var families = []string{
	"curve25519-sha256", "curve448-sha512", "ecdh-sha2-", "mlkem512", "mlkem768", "mlkem1024", "sntrup761x25519-sha512", "diffie-hellman-group",
}

// bounded is a foreign word for a sentence.
func bounded(s string) string { return s[:min(len(s), 60)] }

// hostKey reads the key, with which the rest of a reply's payload begins.
func hostKey(rest []byte) (*HostKey, error) {
	blob, _, ok := text(rest)
	if !ok {
		return nil, errors.New("the host's key is cut")
	}
	return ParseHostKey(blob)
}

// ParseHostKey reads a key, or a certificate for one, in SSH's wire format.
func ParseHostKey(blob []byte) (*HostKey, error) {
	key, err := ssh.ParsePublicKey(blob)
	if err != nil {
		return nil, errors.New("the host's key cannot be read")
	}
	cert, certified := key.(*ssh.Certificate)
	if certified {
		key = cert.Key
	}
	return &HostKey{key.Type(), ssh.FingerprintSHA256(key), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), certified}, nil
}
