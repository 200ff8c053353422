package openssh

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// Use is one signature that is wanted, to sign in at a host. That the host has the key HostKey has been
// proved: it has signed the session that is signed in to.
type Use struct {
	// User is as whom: the sandbox's own word, in quotes where it could be read as more than a name.
	User    string
	HostKey string // the fingerprint of the host's key
	Key     string // the fingerprint of the person's key
	Comment string // of that key, in the person's agent
}

// Agent lends keys of the person's agent. It offers no more than those that are lent, keeps none, and signs
// nothing but what signs a session in whose host is known.
type Agent struct {
	// Dial connects to the person's agent.
	Dial func(context.Context) (net.Conn, error)
	// Lends says whether a key is offered, by its fingerprint.
	Lends func(fingerprint string) bool
	// May decides about one use, and may take its time. Its error is not told inside.
	May func(context.Context, Use) error
	// Refused is told of what was refused without May; u may be empty.
	Refused func(u Use, why string)
}

// maxClients bounds the connections to one Agent.
const maxClients = 16

// Serve answers whoever connects, until ctx ends. It closes l, and returns once nothing is under way.
func (a *Agent) Serve(ctx context.Context, l net.Listener) {
	ctx, cancel := context.WithCancel(ctx)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	slots := make(chan struct{}, maxClients)
	for {
		c, err := l.Accept()
		if err != nil {
			_ = l.Close()
			return
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = c.Close()
			continue
		}
		serving.Go(func() {
			defer func() { <-slots }()
			a.serve(ctx, c)
		})
	}
}

func (a *Agent) serve(ctx context.Context, c net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	one := &client{agent: a, ctx: ctx}
	defer one.close()
	defer c.Close()
	_ = agent.ServeAgent(one, &requests{ReadWriter: c}) // how it ends is the client's affair
}

// maxRequest is the longest request that is read, in bytes, as it is OpenSSH's agent's. The library
// would set aside 16 MiB for whoever names such a length.
const maxRequest = 256 << 10

var errTooLong = errors.New("a request to the agent is too long")

// requests reads one request after another, each with its length before it, and ends at one that is
// too long.
type requests struct {
	io.ReadWriter
	head []byte // of the length that is being read
	left int    // of the request
}

func (r *requests) Read(b []byte) (int, error) {
	if r.left > 0 {
		n, err := r.ReadWriter.Read(b[:min(len(b), r.left)])
		r.left -= n
		return n, err
	}
	n, err := r.ReadWriter.Read(b[:min(len(b), 4-len(r.head))])
	if r.head = append(r.head, b[:n]...); len(r.head) < 4 {
		return n, err
	}
	length := binary.BigEndian.Uint32(r.head)
	if length > maxRequest {
		return 0, errTooLong
	}
	r.head, r.left = r.head[:0], int(length)
	return n, err
}

// client is one connection from inside.
type client struct {
	agent *Agent
	ctx   context.Context //nolint:containedctx // the interface has none, and this lives as long as the connection
	up    agent.ExtendedAgent
	conn  net.Conn
	bound *binding
}

// binding is the session that the client signs in to, as its host has signed it.
type binding struct {
	session []byte
	host    []byte // the key as it was shown
	key     string // its fingerprint
}

var errRefused = errors.New("refused")

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close()
	}
}

// upstream is the person's agent.
func (c *client) upstream() (agent.ExtendedAgent, error) {
	if c.up != nil {
		return c.up, nil
	}
	conn, err := c.agent.Dial(c.ctx)
	if err != nil {
		c.refuse(Use{}, fmt.Sprintf("Your own ssh agent is not reached: %v.", err))
		return nil, errRefused
	}
	context.AfterFunc(c.ctx, func() { _ = conn.Close() })
	c.conn, c.up = conn, agent.NewClient(conn)
	return c.up, nil
}

func (c *client) refuse(u Use, why string) { c.agent.Refused(u, why) }

// List offers the keys that are lent.
func (c *client) List() ([]*agent.Key, error) {
	up, err := c.upstream()
	if err != nil {
		return nil, err
	}
	all, err := up.List()
	if err != nil {
		return nil, err
	}
	var lent []*agent.Key
	for _, k := range all {
		if f, ok := fingerprint(k.Blob); ok && c.agent.Lends(f) {
			lent = append(lent, k)
		}
	}
	return lent, nil
}

// fingerprint is a key's; that of the certified key where it is a certificate.
func fingerprint(blob []byte) (string, bool) {
	key, err := ssh.ParsePublicKey(blob)
	if err != nil {
		return "", false
	}
	if cert, ok := key.(*ssh.Certificate); ok {
		key = cert.Key
	}
	return ssh.FingerprintSHA256(key), true
}

// Sign signs without flags.
func (c *client) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	return c.SignWithFlags(key, data, 0)
}

// SignWithFlags signs what signs the bound session in, once it has been decided about.
func (c *client) SignWithFlags(key ssh.PublicKey, data []byte, flags agent.SignatureFlags) (*ssh.Signature, error) {
	u := Use{}
	u.Key, _ = fingerprint(key.Marshal())
	if c.bound == nil {
		c.refuse(u, "A signature was wanted for no session whose host is known. It takes OpenSSH 8.9 or later inside.")
		return nil, errRefused
	}
	u.HostKey = c.bound.key
	user, err := signsIn(data, key.Marshal(), c.bound)
	if err != nil {
		c.refuse(u, "A signature was wanted for something else than signing in: "+err.Error()+".")
		return nil, errRefused
	}
	u.User = user
	lent, err := c.List()
	if err != nil {
		return nil, err
	}
	for _, k := range lent {
		if !bytes.Equal(k.Blob, key.Marshal()) {
			continue
		}
		if u.Comment = plain(k.Comment); c.agent.May(c.ctx, u) != nil {
			return nil, errRefused
		}
		return c.up.SignWithFlags(key, data, flags)
	}
	c.refuse(u, "The key is not lent to this server, or not in your agent.")
	return nil, errRefused
}

// signsIn reads what is to be signed: a request to sign in to the session that b is of, with that very key
// (RFC 4252, 7; OpenSSH's PROTOCOL, publickey-hostbound-v00@openssh.com). It returns as whom.
func signsIn(data, key []byte, b *binding) (user string, err error) {
	var r struct {
		Session   []byte
		Message   byte
		User      string
		Service   string
		Method    string
		Signed    bool
		Algorithm string
		Key       []byte
		Rest      []byte `ssh:"rest"`
	}
	const userAuthRequest = 50
	if err := ssh.Unmarshal(data, &r); err != nil || r.Message != userAuthRequest || r.Service != "ssh-connection" || !r.Signed {
		return "", errors.New("it is no request to sign in")
	}
	switch {
	case !bytes.Equal(r.Session, b.session):
		return "", errors.New("it is for another session")
	case !bytes.Equal(r.Key, key):
		return "", errors.New("it names another key")
	case !utf8.ValidString(r.User), len(r.User) > maxUser:
		return "", errors.New("its user's name is none, or too long to be shown")
	case r.Method == "publickey" && len(r.Rest) == 0:
		return userShown(r.User), nil
	case r.Method != "publickey-hostbound-v00@openssh.com":
		return "", errors.New("its method is not known")
	}
	var host struct{ Key []byte }
	if err := ssh.Unmarshal(r.Rest, &host); err != nil || !bytes.Equal(host.Key, b.host) {
		return "", errors.New("it is for another host")
	}
	return userShown(r.User), nil
}

// maxUser is the longest name of a user at a host, in bytes: it has to be seen as a whole.
const maxUser = 64

// userShown is a user's name as a person is asked about it. Two names are never shown alike, and none is
// read as a part of the sentence around it.
func userShown(name string) string {
	simple := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._+-", r))
	}
	if name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !simple(r) }) {
		return name
	}
	return strconv.QuoteToASCII(name)
}

// plain is a foreign word for a sentence.
func plain(s string) string {
	const most = 100
	out := []rune{}
	for _, r := range s {
		if len(out) == most {
			break
		}
		if !unicode.IsPrint(r) {
			r = '?'
		}
		out = append(out, r)
	}
	return string(out)
}

// sessionBind tells an agent which session a client signs in to.
const sessionBind = "session-bind@openssh.com"

// Extension takes one session-bind.
func (c *client) Extension(kind string, contents []byte) ([]byte, error) {
	if kind != sessionBind {
		return nil, agent.ErrExtensionUnsupported
	}
	b, err := parseBinding(contents)
	switch {
	case err != nil:
		c.refuse(Use{}, "A session was named, but "+err.Error()+".")
		return nil, errRefused
	case c.bound != nil && !bytes.Equal(c.bound.session, b.session):
		c.refuse(Use{HostKey: b.key}, "A second session was named on one connection.")
		return nil, errRefused
	}
	c.bound = b
	if up, err := c.upstream(); err == nil {
		_, _ = up.Extension(kind, contents) // it may know nothing of this
	}
	return nil, nil
}

// parseBinding reads a session-bind whose signature is the host's.
func parseBinding(contents []byte) (*binding, error) {
	var m struct {
		Host       []byte
		Session    []byte
		Signature  []byte
		Forwarding bool
	}
	if err := ssh.Unmarshal(contents, &m); err != nil {
		return nil, errors.New("it cannot be read")
	}
	if m.Forwarding {
		return nil, errors.New("it is one to which the agent would be forwarded")
	}
	var sig ssh.Signature
	if err := ssh.Unmarshal(m.Signature, &sig); err != nil {
		return nil, errors.New("its signature cannot be read")
	}
	key, err := ssh.ParsePublicKey(m.Host)
	if err != nil {
		return nil, errors.New("its host's key cannot be read")
	}
	if err := key.Verify(m.Session, &sig); err != nil || len(m.Session) == 0 {
		return nil, errors.New("its host has not signed it")
	}
	f, _ := fingerprint(m.Host)
	return &binding{m.Session, m.Host, f}, nil
}

// What an agent can do otherwise, it does not do for a sandbox.

// Signers implements agent.Agent.
func (c *client) Signers() ([]ssh.Signer, error) { return nil, errRefused }

// Add implements agent.Agent.
func (c *client) Add(agent.AddedKey) error { return c.never("add a key") }

// Remove implements agent.Agent.
func (c *client) Remove(ssh.PublicKey) error { return c.never("remove a key") }

// RemoveAll implements agent.Agent.
func (c *client) RemoveAll() error { return c.never("remove all keys") }

// Lock implements agent.Agent.
func (c *client) Lock([]byte) error { return c.never("lock the agent") }

// Unlock implements agent.Agent.
func (c *client) Unlock([]byte) error { return c.never("unlock the agent") }

func (c *client) never(what string) error {
	c.refuse(Use{}, "It wanted to "+what+".")
	return errRefused
}
