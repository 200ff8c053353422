package openssh

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/sys/unix"
)

func newKey(t *testing.T) (ssh.Signer, ed25519.PrivateKey, string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, private, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
}

func TestWhatKnownHostsSays(t *testing.T) {
	_, _, a := newKey(t)
	_, _, b := newKey(t)
	_, _, c := newKey(t)
	file := filepath.Join(t.TempDir(), "known_hosts")
	if v, err := Judge(file, "a.example.com", 22, a); v != Unknown || err != nil {
		t.Errorf("without a file: %v, %v", v, err)
	}
	text := strings.Join([]string{
		"# hosts",
		"a.example.com " + a, "a.example.com,b.example.com " + b,
		"[a.example.com]:2222 " + c,
		knownhosts.HashHostname("hidden.example.com") + " " + a,
		"*.wild.example.com " + a,
		"@cert-authority signed.example.com " + c,
	}, "\n") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		name, host string
		port       uint16
		key        string
		want       Verdict
	}{
		{"one of two", "a.example.com", 22, a, Same},
		{"the other", "a.example.com", 22, b, Same},
		{"another", "a.example.com", 22, c, Other},
		{"another port's", "a.example.com", 2222, c, Same},
		{"a port without a line", "b.example.com", 2222, b, Unknown},
		{"a hashed name", "hidden.example.com", 22, a, Same},
		{"a hashed name's other", "hidden.example.com", 22, b, Other},
		{"a pattern", "x.wild.example.com", 22, a, Same},
		{"an authority is no key", "signed.example.com", 22, c, Unknown},
		{"nobody", "z.example.com", 22, a, Unknown},
	} {
		if got, err := Judge(file, one.host, one.port, one.key); got != one.want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", one.name, got, err, one.want)
		}
	}
	if known, err := Known(file, "a.example.com", 22); err != nil || len(known) != 2 || known[0] != a {
		t.Errorf("%v, %v", known, err)
	}
	if err := os.WriteFile(file, []byte("@revoked * "+a+"\na.example.com "+a+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Judge(file, "a.example.com", 22, a); got != Revoked || err != nil {
		t.Errorf("revoked: %v, %v", got, err)
	}
	if err := os.WriteFile(file, []byte("a.example.com ssh-ed25519\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Judge(file, "a.example.com", 22, a); got != Unknown || err == nil {
		t.Errorf("a file that cannot be read: %v, %v", got, err)
	}
}

// lent is an Agent with one key that is lent and one that is not, and what a client of it has.
type lent struct {
	*Agent
	mu      sync.Mutex
	refused []string
	uses    []Use
	allow   bool
	client  agent.ExtendedAgent
	mine    ssh.Signer
	other   ssh.Signer
	host    ssh.Signer
}

func newLent(t *testing.T) *lent {
	t.Helper()
	l := &lent{allow: true}
	var mine, other ed25519.PrivateKey
	l.mine, mine, _ = newKey(t)
	l.other, other, _ = newKey(t)
	l.host, _, _ = newKey(t)
	ring := agent.NewKeyring()
	for _, k := range []ed25519.PrivateKey{mine, other} {
		if err := ring.Add(agent.AddedKey{PrivateKey: k, Comment: "work\x1b[0m"}); err != nil {
			t.Fatal(err)
		}
	}
	var serving sync.WaitGroup
	l.Agent = &Agent{
		Dial: func(context.Context) (net.Conn, error) {
			near, far := net.Pipe()
			serving.Go(func() { defer far.Close(); _ = agent.ServeAgent(ring, far) })
			return near, nil
		},
		Lends: func(f string) bool { return f == ssh.FingerprintSHA256(l.mine.PublicKey()) },
		May: func(_ context.Context, u Use) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.uses = append(l.uses, u)
			if !l.allow {
				return errors.New("no")
			}
			return nil
		},
		Refused: func(_ Use, why string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.refused = append(l.refused, why)
		},
	}
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	serving.Go(func() { l.Serve(ctx, ln) })
	conn, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	l.client = agent.NewClient(conn)
	t.Cleanup(func() { cancel(); _ = conn.Close(); serving.Wait() })
	return l
}

func (l *lent) bind(t *testing.T, session []byte, by ssh.Signer, forwarding bool) error {
	t.Helper()
	sig, err := by.Sign(rand.Reader, session)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.client.Extension(sessionBind, ssh.Marshal(struct {
		Host, Session, Signature []byte
		Forwarding               bool
	}{l.host.PublicKey().Marshal(), session, ssh.Marshal(sig), forwarding}))
	return err
}

// request is what a client has signed to sign in.
func request(session []byte, key ssh.PublicKey, method string, rest ...[]byte) []byte {
	b := ssh.Marshal(struct {
		Session               []byte
		Message               byte
		User, Service, Method string
		Signed                bool
		Algorithm             string
		Key                   []byte
	}{session, 50, "git", "ssh-connection", method, true, key.Type(), key.Marshal()})
	return append(b, bytes.Join(rest, nil)...)
}

func TestTheAgentSignsInOnly(t *testing.T) {
	session := []byte("a session of thirty-two bytes ..")
	hostbound := "publickey-hostbound-v00@openssh.com"
	host := func(k ssh.PublicKey) []byte { return ssh.Marshal(struct{ K []byte }{k.Marshal()}) }
	t.Run("report_N12 what is lent signs in", func(t *testing.T) {
		l := newLent(t)
		if keys, err := l.client.List(); err != nil || len(keys) != 1 || !bytes.Equal(keys[0].Blob, l.mine.PublicKey().Marshal()) {
			t.Fatalf("offered: %v, %v", keys, err)
		}
		if err := l.bind(t, session, l.host, false); err != nil {
			t.Fatal(err)
		}
		for _, data := range [][]byte{request(session, l.mine.PublicKey(), "publickey"), request(session, l.mine.PublicKey(), hostbound, host(l.host.PublicKey()))} {
			sig, err := l.client.Sign(l.mine.PublicKey(), data)
			if err != nil {
				t.Fatal(err, l.refused)
			}
			if err := l.mine.PublicKey().Verify(data, sig); err != nil {
				t.Error(err)
			}
		}
		want := Use{User: "git", HostKey: ssh.FingerprintSHA256(l.host.PublicKey()), Key: ssh.FingerprintSHA256(l.mine.PublicKey()), Comment: "work?[0m"}
		if len(l.uses) != 2 || l.uses[0] != want {
			t.Errorf("decided about: %+v", l.uses)
		}
		l.allow = false
		if _, err := l.client.Sign(l.mine.PublicKey(), request(session, l.mine.PublicKey(), "publickey")); err == nil {
			t.Error("signed after a no")
		}
	})
	for name, one := range map[string]struct {
		sign func(*testing.T, *lent) error
		why  string
	}{
		"without a session": {func(_ *testing.T, l *lent) error {
			_, err := l.client.Sign(l.mine.PublicKey(), request(session, l.mine.PublicKey(), "publickey"))
			return err
		}, "no session"},
		"a session that its host has not signed": {func(t *testing.T, l *lent) error { return l.bind(t, session, l.other, false) }, "has not signed"},
		"forwarding":                             {func(t *testing.T, l *lent) error { return l.bind(t, session, l.host, true) }, "forwarded"},
		"a second session": {func(t *testing.T, l *lent) error {
			_ = l.bind(t, session, l.host, false)
			return l.bind(t, []byte("another"), l.host, false)
		}, "second session"},
		"another session": {func(t *testing.T, l *lent) error {
			_ = l.bind(t, session, l.host, false)
			_, err := l.client.Sign(l.mine.PublicKey(), request([]byte("another"), l.mine.PublicKey(), "publickey"))
			return err
		}, "another session"},
		"another host": {func(t *testing.T, l *lent) error {
			_ = l.bind(t, session, l.host, false)
			_, err := l.client.Sign(l.mine.PublicKey(), request(session, l.mine.PublicKey(), hostbound, host(l.other.PublicKey())))
			return err
		}, "another host"},
		"another method": {func(t *testing.T, l *lent) error {
			_ = l.bind(t, session, l.host, false)
			_, err := l.client.Sign(l.mine.PublicKey(), request(session, l.mine.PublicKey(), "hostbased"))
			return err
		}, "method"},
		"a key that is not lent": {func(t *testing.T, l *lent) error {
			_ = l.bind(t, session, l.host, false)
			_, err := l.client.Sign(l.other.PublicKey(), request(session, l.other.PublicKey(), "publickey"))
			return err
		}, "not lent"},
		"a key that is not the one named": {func(t *testing.T, l *lent) error {
			_ = l.bind(t, session, l.host, false)
			_, err := l.client.Sign(l.mine.PublicKey(), request(session, l.other.PublicKey(), "publickey"))
			return err
		}, "another key"},
		"a file": {func(t *testing.T, l *lent) error {
			_ = l.bind(t, session, l.host, false)
			_, err := l.client.Sign(l.mine.PublicKey(), []byte("SSHSIG\x00\x00\x00\x04file"))
			return err
		}, "no request to sign in"},
		"adding": {func(_ *testing.T, l *lent) error {
			_, k, _ := newKey(t)
			return l.client.Add(agent.AddedKey{PrivateKey: k})
		}, "add a key"},
		"removing":  {func(_ *testing.T, l *lent) error { return l.client.RemoveAll() }, "remove all"},
		"locking":   {func(_ *testing.T, l *lent) error { return l.client.Lock([]byte("x")) }, "lock"},
		"extending": {func(_ *testing.T, l *lent) error { _, err := l.client.Extension("query", nil); return err }, ""},
	} {
		t.Run("report_N12 "+name, func(t *testing.T) {
			l := newLent(t)
			if err := one.sign(t, l); err == nil {
				t.Error("done")
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if said := strings.Join(l.refused, " "); !strings.Contains(said, one.why) || len(l.uses) > 0 {
				t.Errorf("refused: %q, uses %v", said, l.uses)
			}
		})
	}
}

func TestAttackOnTheWordsOfAQuestion(t *testing.T) {
	b := &binding{session: []byte("s")}
	signer, _, _ := newKey(t)
	key := signer.PublicKey()
	as := func(user string) (string, error) {
		data := ssh.Marshal(struct {
			Session               []byte
			Message               byte
			User, Service, Method string
			Signed                bool
			Algorithm             string
			Key                   []byte
		}{b.session, 50, user, "ssh-connection", "publickey", true, key.Type(), key.Marshal()})
		return signsIn(data, key.Marshal(), b)
	}
	for name, one := range map[string]struct{ user, shown string }{
		"a name":                 {"git-1.x_y+z", "git-1.x_y+z"},
		"none":                   {"", `""`},
		"the rest of a sentence": {"git at github.com:22 with your key", `"git at github.com:22 with your key"`},
		"another host":           {"git@github.com:22", `"git@github.com:22"`},
		"what cannot be seen":    {"git\u3164\u202e", `"git\u3164\u202e"`},
		"another script":         {"gіt", `"g\u0456t"`},
		"a new line":             {"git\n", `"git\n"`},
		"quotes":                 {`"git"`, `"\"git\""`},
	} {
		if got, err := as(one.user); got != one.shown || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for _, user := range []string{strings.Repeat("g", 65), "\xff"} {
		if got, err := as(user); err == nil {
			t.Errorf("shown as %s", got)
		}
	}
}

func TestAttackByLongRequests(t *testing.T) {
	for length, ends := range map[uint32]bool{maxRequest: false, maxRequest + 1: true, 1 << 24: true, 1<<32 - 1: true} {
		near, far := net.Pipe()
		var serving sync.WaitGroup
		serving.Go(func() {
			defer far.Close()
			_, _ = near.Write(binary.BigEndian.AppendUint32(nil, length))
			_ = near.Close()
		})
		r := &requests{ReadWriter: far}
		_, err := io.ReadFull(r, make([]byte, 4))
		if got := errors.Is(err, errTooLong); got != ends || !ends && err != nil {
			t.Errorf("%d bytes: %v", length, err)
		}
		serving.Wait()
	}
	l := newLent(t)
	for range 3 { // what is in order passes, one after another
		if keys, err := l.client.List(); err != nil || len(keys) != 1 {
			t.Fatal(keys, err)
		}
	}
}

func TestAttackByLinesOfKnownHosts(t *testing.T) {
	_, _, a := newKey(t)
	_, _, b := newKey(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "known_hosts")
	for name, line := range map[string]string{
		"half a line":        "x.example.com ssh-ed25519",
		"an unknown type":    "x.example.com ssh-new AAAAB3Nz",
		"a long line":        "x.example.com " + strings.Repeat("a", 100<<10),
		"an unknown marker":  "@unknown x.example.com " + a,
		"a hash that is cut": "|1|abc " + a,
	} {
		if err := os.WriteFile(file, []byte(line+"\n@revoked * "+b+"\nx.example.com "+a+"\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, c := newKey(t)
		for key, want := range map[string]Verdict{a: Same, b: Revoked, c: Other} {
			if got, err := Judge(file, "x.example.com", 22, key); got != want || err == nil {
				t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
			}
		}
		if known, _ := Known(file, "x.example.com", 22); len(known) != 1 || known[0] != a {
			t.Errorf("%s: known by %q", name, known)
		}
	}
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{pipe, dir} {
		if got, err := Judge(at, "x.example.com", 22, a); got != Unknown || err == nil {
			t.Errorf("%s: %v, %v", at, got, err)
		}
	}
}

func FuzzBinding(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0}, []byte("x"))
	f.Fuzz(func(t *testing.T, contents, data []byte) {
		if b, err := parseBinding(contents); err == nil {
			t.Errorf("nobody has signed it: %+v", b)
		}
		_, _ = signsIn(data, nil, &binding{session: []byte("s")})
	})
}
