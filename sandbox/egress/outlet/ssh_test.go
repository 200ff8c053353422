package outlet

import (
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// sshHost is a server that lets everybody in, and its key.
type sshHost struct {
	at     string
	signer ssh.Signer
}

func (h sshHost) fingerprint() string { return ssh.FingerprintSHA256(h.signer.PublicKey()) }

func newSSHHost(t *testing.T) sshHost {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { serveSSH(c, config) })
		}
	})
	t.Cleanup(serving.Wait)
	t.Cleanup(func() { _ = ln.Close() })
	return sshHost{ln.Addr().String(), signer}
}

// serveSSH answers each request with yes.
func serveSSH(c net.Conn, config *ssh.ServerConfig) {
	defer c.Close()
	conn, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	serving.Go(func() {
		for ch := range channels {
			_ = ch.Reject(ssh.Prohibited, "none")
		}
	})
	for r := range requests {
		_ = r.Reply(true, []byte("hello"))
	}
	_ = conn.Close()
}

// signIn is what a client inside gets: a connection over which it has been answered.
func (s *stage) signIn(host string, port uint16) (*ssh.Client, error) {
	s.t.Helper()
	c := s.connect(host, port)
	if c == nil {
		s.t.Fatalf("%s:%d is refused", host, port)
	}
	conn, channels, requests, err := ssh.NewClientConn(c, host, &ssh.ClientConfig{User: "git", HostKeyCallback: ssh.InsecureIgnoreHostKey()}) //nolint:gosec // the wall checks
	if err != nil {
		return nil, err
	}
	client := ssh.NewClient(conn, channels, requests)
	s.t.Cleanup(func() { _ = client.Close() })
	_, _, err = client.SendRequest("ping", true, nil)
	return client, err
}

func withSSH(l sandbox.Allowlist, host string, port uint16, keys ...string) sandbox.Allowlist {
	h := sandbox.SSHHost{Endpoint: sandbox.Endpoint{Host: host, Port: port}}
	for _, k := range keys {
		h.Keys = append(h.Keys, sandbox.SSHKey(k))
	}
	l.SSH = append(l.SSH, h)
	return l
}

func deniedAs(kind sandbox.DenialKind, says ...string) func(wire.Event) bool {
	return func(e wire.Event) bool {
		if e.Denied == nil || e.Denied.Kind != kind {
			return false
		}
		for _, text := range says {
			if !strings.Contains(e.Denied.Why, text) {
				return false
			}
		}
		return true
	}
}

func TestSSHPassesWithItsKeyOnly(t *testing.T) {
	host := newSSHHost(t)
	other := newSSHHost(t).fingerprint()
	at := func(port uint16, keys ...string) *stage {
		e := sandbox.Endpoint{Host: "git.example.com", Port: port}
		l := allowed(t, e.String())
		if len(keys) > 0 {
			l = withSSH(l, e.Host, port, keys...)
		}
		s := newStage(t, l, host.at)
		s.lookup.names["git.example.com"] = []string{"93.184.216.34"}
		return s
	}
	t.Run("report_N12 the pinned key, as a fingerprint", func(t *testing.T) {
		s := at(22, other, host.fingerprint())
		if _, err := s.signIn("git.example.com", 22); err != nil {
			t.Error(err)
		}
	})
	t.Run("report_N12 the pinned key itself, at another port", func(t *testing.T) {
		s := at(443, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(host.signer.PublicKey()))))
		if _, err := s.signIn("git.example.com", 443); err != nil {
			t.Error(err)
		}
	})
	t.Run("report_N12 another key", func(t *testing.T) {
		s := at(22, other)
		if _, err := s.signIn("git.example.com", 22); err == nil {
			t.Error("it passes")
		}
		s.await("a loud denial", deniedAs(sandbox.DeniedChanged, host.fingerprint(), other, "Somebody may be in between"))
	})
	t.Run("report_N12 no key, and a daemon that knows it", func(t *testing.T) {
		s := at(22)
		go s.answerKey(wire.Answer{Allow: true, Rule: "known_hosts"})
		if _, err := s.signIn("git.example.com", 22); err != nil {
			t.Error(err)
		}
	})
	t.Run("report_N12 no key, and nobody answers", func(t *testing.T) {
		s := at(22)
		if _, err := s.signIn("git.example.com", 22); err == nil {
			t.Error("it passes")
		}
		s.await("a denial", deniedAs(sandbox.DeniedHostKey, host.fingerprint(), "Nobody answered"))
	})
	t.Run("report_N12 no key, and the daemon says that it is known by another", func(t *testing.T) {
		s := at(22)
		go s.answerKey(wire.Answer{Why: "Your known_hosts has another.", Changed: true})
		if _, err := s.signIn("git.example.com", 22); err == nil {
			t.Error("it passes")
		}
		s.await("a loud denial", deniedAs(sandbox.DeniedChanged, "known_hosts"))
	})
	t.Run("report_N12 a key that is unpinned ends what is open", func(t *testing.T) {
		s := at(22, host.fingerprint())
		client, err := s.signIn("git.example.com", 22)
		if err != nil {
			t.Fatal(err)
		}
		s.SetRules(withSSH(allowed(t, "git.example.com:22"), "git.example.com", 22, other))
		if err := client.Wait(); err == nil {
			t.Error("it goes on")
		}
		s.await("its end", func(e wire.Event) bool {
			return e.Ended != nil && e.Ended.HostKey == host.fingerprint() && e.Ended.Why != ""
		})
	})
	t.Run("report_N12 what is no SSH", func(t *testing.T) {
		s := at(22, host.fingerprint())
		for _, said := range []string{"GET / HTTP/1.0\r\n\r\n", "\x16\x03\x01\x00\x00", "secret\n"} {
			c := s.connect("git.example.com", 22)
			_, _ = c.Write([]byte(said))
			buf := make([]byte, 4096)
			for {
				if _, err := c.Read(buf); err != nil { // the host's name, at most
					break
				}
			}
			s.await("a denial", deniedAs(sandbox.DeniedContent, "not SSH"))
		}
	})
}

// answerKey answers the first question about a host's key.
func (s *stage) answerKey(a wire.Answer) {
	s.await("a question", func(e wire.Event) bool {
		if e.Asked == nil || e.Asked.Key == nil {
			return false
		}
		a.Host, a.Port, a.What, a.Key = e.Asked.Host, e.Asked.Port, e.Asked.What, e.Asked.Key.Fingerprint
		return true
	})
	s.Answer(a)
}
