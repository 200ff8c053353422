package ssh

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// recorded is what OpenSSH's client and server said to each other; it goes on beyond the exchange.
func recorded(t testing.TB, name string) (client, server []byte) {
	t.Helper()
	read := func(side string) []byte {
		b, err := os.ReadFile(filepath.Join("testdata", name+"."+side))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return read("client"), read("server")
}

func TestRealConnections(t *testing.T) {
	const ed, rsa, ec = "SHA256:zklQie8ppBmqxw09hGEStn1t4eyp3vtnui86vnTPJ8I", "SHA256:VZyBBhnTUAiYn99R3kxQN93M+XifIpyvPnjnUJSNU2U", "SHA256:5GE+dKqGqpaPMJSsBzsKZs3DHKuDveON5KJM6nI2iSU"
	for name, want := range map[string]HostKey{
		"default":                              {Type: "ssh-ed25519", Fingerprint: ed},
		"curve25519-sha256":                    {Type: "ssh-ed25519", Fingerprint: ed},
		"ecdh-sha2-nistp256":                   {Type: "ssh-ed25519", Fingerprint: ed},
		"ecdh-sha2-nistp521":                   {Type: "ssh-ed25519", Fingerprint: ed},
		"sntrup761x25519-sha512":               {Type: "ssh-ed25519", Fingerprint: ed},
		"diffie-hellman-group14-sha256":        {Type: "ssh-ed25519", Fingerprint: ed},
		"diffie-hellman-group16-sha512":        {Type: "ssh-ed25519", Fingerprint: ed},
		"diffie-hellman-group-exchange-sha256": {Type: "ssh-ed25519", Fingerprint: ed},
		"rsa":                                  {Type: "ssh-rsa", Fingerprint: rsa},
		"ecdsa":                                {Type: "ecdsa-sha2-nistp256", Fingerprint: ec},
		"certificate":                          {Type: "ssh-ed25519", Fingerprint: ed, Certified: true},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := recorded(t, name)
			for _, piece := range []int{1, 7, 100, 1 << 20} {
				toServer, toClient, key, err := talk(client, server, piece)
				if err != nil || key == nil {
					t.Fatalf("in pieces of %d: %v, %v", piece, key, err)
				}
				got := *key
				if got.Line = ""; got != want {
					t.Errorf("got %+v", got)
				}
				if !bytes.HasPrefix(client, toServer) || !bytes.HasPrefix(server, toClient) {
					t.Error("what passes is not what was said")
				}
				blob, err := ssh.ParsePublicKey(fieldsOf(t, key.Line))
				if err != nil || bytes.Contains(toClient, blob.Marshal()) {
					t.Errorf("the key has passed before it was decided about: %v", err)
				}
			}
		})
	}
}

func fieldsOf(t *testing.T, line string) []byte {
	t.Helper()
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return key.Marshal()
}

// talk is a conversation as it was: a recorded client's next packet comes once the host has
// answered the last one.
func talk(client, server []byte, piece int) (toServer, toClient []byte, key *HostKey, err error) {
	var b Beginning
	feed := func(bytes []byte, from func([]byte) error) error {
		for len(bytes) > 0 {
			n := min(piece, len(bytes))
			if err := from(bytes[:n]); err != nil {
				return err
			}
			bytes = bytes[n:]
		}
		return nil
	}
	fromClient := func(p []byte) error {
		pass, err := b.FromClient(p)
		toServer = append(toServer, pass...)
		return err
	}
	fromServer := func(p []byte) error {
		pass, k, err := b.FromServer(p)
		toClient, key = append(toClient, pass...), k
		return err
	}
	cs, ss := packets(client), packets(server)
	for i := 0; i < 2; i++ { // the names and the offers
		if err = errors.Join(feed(cs[i], fromClient), feed(ss[i], fromServer)); err != nil {
			return
		}
	}
	for i := 2; key == nil && i < len(ss) && i < len(cs); i++ {
		if err = feed(cs[i], fromClient); err == nil {
			err = feed(ss[i], fromServer)
		}
		if err != nil {
			return
		}
	}
	return toServer, toClient, key, nil
}

// packets cuts what one side said: the line with its name, then packets, as long as they are in the clear.
func packets(b []byte) (all [][]byte) {
	end := bytes.IndexByte(b, '\n') + 1
	all, b = append(all, b[:end]), b[end:]
	for len(b) > 5 {
		n := 4 + int(binary.BigEndian.Uint32(b))
		if n > len(b) {
			break
		}
		all = append(all, b[:n])
		if b[5] == 21 { // from here on it is encrypted
			break
		}
		b = b[n:]
	}
	return all
}

// message is a packet.
func message(payload ...byte) []byte {
	padding := 8 - (len(payload)+5)%8 + 4
	b := binary.BigEndian.AppendUint32(nil, uint32(1+len(payload)+padding)) //nolint:gosec // short
	b = append(append(b, byte(padding)), payload...)
	return append(b, make([]byte, padding)...)
}

func offer(methods string) []byte {
	p := append([]byte{msgKexInit}, make([]byte, 16)...)
	p = append(binary.BigEndian.AppendUint32(p, uint32(len(methods))), methods...) //nolint:gosec // short
	return message(append(p, make([]byte, 9*4+5)...)...)
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestWhatIsNoBeginning(t *testing.T) {
	ident := []byte("SSH-2.0-x\r\n")
	curve := offer("curve25519-sha256")
	for name, said := range map[string]struct {
		client, server []byte
		why            string
	}{
		"HTTP":                           {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), nil, "not SSH"},
		"TLS":                            {[]byte{0x16, 3, 1, 2, 0, 1}, nil, "not SSH"},
		"an empty line":                  {[]byte("\r\n"), nil, "not SSH"},
		"a client that greets":           {[]byte("hello\r\nSSH-2.0-x\r\n"), nil, "not SSH"},
		"version 1":                      {[]byte("SSH-1.5-x\r\n"), nil, "version 2"},
		"a client of two versions":       {[]byte("SSH-1.99-x\r\n"), nil, "version 2"},
		"a line without an end":          {bytes.Repeat([]byte("SSH-2.0-"), 60), nil, "not SSH"},
		"a long line":                    {append(bytes.Repeat([]byte("SSH-2.0-"), 60), '\n'), nil, "not SSH"},
		"a packet that is too long":      {joined(ident, []byte{0, 1, 0, 0, 4}), nil, "too long"},
		"a packet of padding alone":      {joined(ident, []byte{0, 0, 0, 5, 4, 0, 0, 0, 0}), nil, "cannot be read"},
		"a packet with too much padding": {joined(ident, []byte{0, 0, 0, 8, 200, 1, 2, 3, 4, 5, 6, 7, 8, 9}), nil, "cannot be read"},
		"new keys before the host's":     {joined(ident, curve, message(30, 0), message(21)), nil, "message 21"},
		"a second offer":                 {joined(ident, curve, curve), nil, "message 20"},
		"an exchange without an offer":   {joined(ident, message(30, 0)), nil, "message 30"},
		"data":                           {joined(ident, curve, message(94, 1, 2, 3)), nil, "message 94"},
		"a cut offer":                    {joined(ident, message(msgKexInit, 1, 2, 3)), nil, "cannot be read"},
		"an offer with a tail":           {joined(ident, message(append(slices.Clone(curve[5:len(curve)-int(curve[4])]), 7)...)), nil, "cannot be read"},
		"too much":                       {joined(ident, curve, bytes.Repeat(message(append([]byte{2}, make([]byte, 1000)...)...), 70)), nil, "too much"},
		"a server that greets for ever":  {nil, bytes.Repeat([]byte("welcome\r\n"), 10000), "too much"},
		"a server with a long line":      {nil, bytes.Repeat([]byte("welcome "), 2000), "not SSH"},
		"a server of version 1":          {nil, []byte("SSH-1.5-x\n"), "version 2"},
		"an answer to nothing":           {ident, joined(ident, curve, message(31, 0, 0, 0, 0)), "had not begun"},
		"another message of the server":  {joined(ident, curve), joined(ident, curve, message(7)), "message 7"},
		"a group that nobody asked for":  {joined(ident, curve), joined(ident, curve, message(33, 0)), "no part"},
		"no exchange in common":          {joined(ident, curve), joined(ident, offer("ecdh-sha2-nistp256"), message(31, 0)), "in common"},
		"markers are no exchange":        {joined(ident, offer("ext-info-c,curve25519-sha256")), joined(ident, offer("ext-info-c"), message(31, 0)), "in common"},
		"an unknown exchange":            {joined(ident, offer("gss-group14-sha256-x")), joined(ident, offer("gss-group14-sha256-x"), message(31, 0)), "is not known"},
		"a cut key":                      {joined(ident, curve), joined(ident, curve, message(31, 0, 0, 1, 0)), "is cut"},
		"no key":                         {joined(ident, curve), joined(ident, curve, message(31, 0, 0, 0, 1, 7)), "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			var b Beginning
			_, err := b.FromClient(said.client)
			var key *HostKey
			if err == nil {
				_, key, err = b.FromServer(said.server)
			}
			if err == nil || key != nil || !strings.Contains(err.Error(), said.why) {
				t.Errorf("got %v, %v", key, err)
			}
		})
	}
}

// TestNothingPassesBeyondTheKey: what follows the key is held, on both sides.
func TestNothingPassesBeyondTheKey(t *testing.T) {
	client, server := recorded(t, "curve25519-sha256")
	cs := packets(client)
	var b Beginning
	if _, err := b.FromClient(joined(cs[0], cs[1], cs[2])); err != nil {
		t.Fatal(err)
	}
	pass, key, err := b.FromServer(server)
	if err != nil || key == nil {
		t.Fatal(key, err)
	}
	more, _, err := b.FromServer([]byte("more"))
	if err != nil || len(more) > 0 {
		t.Errorf("%q, %v", more, err)
	}
	_, held := b.Held()
	if got := joined(pass, held); !bytes.Equal(got, append(slices.Clone(server), "more"...)) {
		t.Error("something is lost")
	}
	if ss := packets(server); !bytes.HasPrefix(held, ss[2]) {
		t.Error("the answer has passed")
	}
}

// TestExchangesWithGo: what OpenSSH of this machine does not know yet, and a greeting before the name.
func TestExchangesWithGo(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"mlkem768x25519-sha256", "curve25519-sha256", "diffie-hellman-group14-sha1"} {
		t.Run(method, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			defer far.Close()
			clientEnd, between := net.Pipe()
			defer clientEnd.Close()
			defer between.Close()
			config := &ssh.ServerConfig{NoClientAuth: true, Config: ssh.Config{KeyExchanges: []string{method}}}
			config.AddHostKey(signer)
			go func() { _, _, _, _ = ssh.NewServerConn(far, config) }()
			go func() {
				_, _, _, _ = ssh.NewClientConn(clientEnd, "x", &ssh.ClientConfig{
					User: "git", HostKeyCallback: ssh.FixedHostKey(signer.PublicKey()), Config: ssh.Config{KeyExchanges: []string{method}},
				})
			}()
			var b Beginning
			go func() {
				buf := make([]byte, 4096)
				for {
					n, err := between.Read(buf)
					if err != nil {
						return
					}
					pass, err := b.FromClient(buf[:n])
					if err != nil {
						return
					}
					_, _ = near.Write(pass)
				}
			}()
			buf := make([]byte, 4096)
			for {
				n, err := near.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				pass, key, err := b.FromServer(buf[:n])
				if err != nil {
					t.Fatal(err)
				}
				if key != nil {
					if want := ssh.FingerprintSHA256(signer.PublicKey()); key.Fingerprint != want {
						t.Errorf("got %s, want %s", key.Fingerprint, want)
					}
					return
				}
				_, _ = between.Write(pass)
			}
		})
	}
}

func TestAServerMayGreet(t *testing.T) {
	var b Beginning
	pass, key, err := b.FromServer([]byte("welcome\r\n\r\nSSH-1.99-x\r\n"))
	if err != nil || key != nil || string(pass) != "welcome\r\n\r\nSSH-1.99-x\r\n" {
		t.Errorf("%q, %v, %v", pass, key, err)
	}
}

func FuzzBeginning(f *testing.F) {
	for _, name := range []string{"default", "diffie-hellman-group-exchange-sha256", "certificate", "rsa"} {
		client, server := recorded(f, name)
		cs := packets(client)
		f.Add(joined(cs[:len(cs)-1]...), server[:min(len(server), 2500)], 100) // without the last, which ends the exchange
	}
	f.Fuzz(func(t *testing.T, client, server []byte, piece int) {
		if piece < 16 || piece > 1<<16 {
			piece = 1 << 16
		}
		var b Beginning
		var toServer, toClient []byte
		for said := range slices.Chunk(client, piece) {
			pass, err := b.FromClient(said)
			if toServer = append(toServer, pass...); err != nil {
				break
			}
		}
		for said := range slices.Chunk(server, piece) {
			pass, key, err := b.FromServer(said)
			toClient = append(toClient, pass...)
			if key != nil && (err != nil && len(server) <= maxBegin || !strings.HasPrefix(key.Fingerprint, "SHA256:") || !strings.HasPrefix(key.Line, key.Type+" ")) {
				t.Errorf("%+v, %v", key, err)
			}
			if err != nil {
				break
			}
		}
		if !bytes.HasPrefix(client, toServer) || !bytes.HasPrefix(server, toClient) {
			t.Error("something passes that was not said")
		}
		if len(toServer) > maxBegin || len(toClient) > maxBegin {
			t.Error("too much passes")
		}
	})
}
