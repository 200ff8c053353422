// Package openssh is what of the person's own OpenSSH sandboxes may use: which hosts are known, and keys of
// the agent, for one signature each that is decided about.
package openssh

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Verdict is what known_hosts says of a host's key.
type Verdict int

// The verdicts. The zero Verdict is that nothing is said of the host.
const (
	Unknown Verdict = iota
	Same            // it is the host's
	Other           // the host is known by others
	Revoked         // it is nobody's any more
)

// Judge says what a known_hosts file says of a host's key, given as known_hosts has it. A file that is not
// there says nothing; one that cannot be read is an error, and says nothing either. Lines that cannot be
// read are an error, too, but the others count, as they do for OpenSSH. Authorities do not count: a host
// is known by its key.
func Judge(file, host string, port uint16, line string) (Verdict, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return Unknown, errors.New("the host's key cannot be read")
	}
	known, revoked, err := look(file, host, port, key)
	switch {
	case revoked:
		return Revoked, err
	case len(known) == 0:
		return Unknown, err
	}
	for _, k := range known {
		if bytes.Equal(k.Marshal(), key.Marshal()) {
			return Same, err
		}
	}
	return Other, err
}

// Known are the keys by which a known_hosts file knows a host, as known_hosts has them. Errors are as
// Judge's.
func Known(file, host string, port uint16) (lines []string, err error) {
	known, _, err := look(file, host, port, nobody)
	for _, k := range known {
		lines = append(lines, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k))))
	}
	return lines, err
}

// nobody is a key that no host has.
var nobody = func() ssh.PublicKey {
	k, err := ssh.NewPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	if err != nil {
		panic(err)
	}
	return k
}()

// look finds the keys of a host, and whether key is one that is revoked.
func look(file, host string, port uint16, key ssh.PublicKey) (known []ssh.PublicKey, revoked bool, err error) {
	text, err := read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	judge, wrong := knownhosts.New(file)
	if wrong != nil {
		wrong = fmt.Errorf("read %s: %w", file, wrong)
		if text, judge, err = withoutWrong(text); err != nil {
			return nil, false, errors.Join(wrong, err)
		}
	}
	at, address := net.JoinHostPort(host, strconv.Itoa(int(port))), &net.TCPAddr{IP: net.IPv4zero, Port: int(port)}
	var gone *knownhosts.RevokedError
	if errors.As(judge(at, address, key), &gone) {
		return nil, true, wrong
	}
	var others *knownhosts.KeyError
	if !errors.As(judge(at, address, nobody), &others) {
		return nil, false, wrong
	}
	lines := strings.Split(string(text), "\n")
	for _, k := range others.Want {
		if k.Line <= len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[k.Line-1]), "@") {
			known = append(known, k.Key)
		}
	}
	return known, false, wrong
}

// maxKnown bounds a known_hosts file, in bytes.
const maxKnown = 16 << 20

// read reads a regular file that is not huge.
func read(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(), info.Size() > maxKnown:
		return nil, fmt.Errorf("%s is no file, or larger than %d bytes", file, maxKnown)
	}
	return os.ReadFile(file)
}

// withoutWrong reads the lines that can be read. The library takes files only, and none with a line that
// it does not know: one such line would have every host forgotten.
func withoutWrong(text []byte) (rest []byte, judge ssh.HostKeyCallback, err error) {
	f, err := os.CreateTemp("", "known_hosts-")
	if err != nil {
		return nil, nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	parse := func(text []byte) (ssh.HostKeyCallback, error) {
		if err := os.WriteFile(f.Name(), text, 0o600); err != nil {
			return nil, err
		}
		return knownhosts.New(f.Name())
	}
	for line := range bytes.Lines(text) {
		if _, no := parse(line); no == nil {
			rest = append(rest, line...)
		}
	}
	judge, err = parse(rest)
	return rest, judge, err
}

// KnownHostsLine is one line of known_hosts.
func KnownHostsLine(host string, port uint16, key string) string {
	return knownhosts.Normalize(net.JoinHostPort(host, strconv.Itoa(int(port)))) + " " + key
}
