package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	egress "github.com/garita-dev/garita/sandbox/egress/wire"
)

// etcFiles are written, not copied: they say nothing about the host.
var etcFiles = map[string]string{
	"passwd":        "root:x:0:0:root:/:/usr/sbin/nologin\nuser:x:1000:1000:user:/home/user:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
	"group":         "root:x:0:\ntty:x:5:\nuser:x:1000:\nnogroup:x:65534:\n",
	"hosts":         "127.0.0.1 localhost garita\n::1 localhost\n",
	"hostname":      "garita\n",
	"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
	"resolv.conf":   resolvConf,
	sshConfigFile:   sshConfig,
	knownHostsFile:  "",
}

// resolvConf names the wall, which answers for names. In a sandbox without a network there is no way to
// it, and every question fails at once.
var resolvConf = "nameserver " + egress.WallAddress.String() + "\noptions timeout:2 attempts:2\n"

// etcCopies are taken from the host where it has them, links resolved: programs break without.
var etcCopies = []string{
	"ld.so.cache", "localtime", "mime.types", "protocols", "services",
	"ssl/certs/ca-certificates.crt", "ssl/cert.pem", "ssl/openssl.cnf",
	"pki/tls/certs/ca-bundle.crt", "crypto-policies/back-ends/opensslcnf.config",
}

// makeEtc makes the /etc of every sandbox with the host root.
func makeEtc(dir string) error {
	for name, text := range etcFiles {
		if err := writeFile(filepath.Join(dir, name), []byte(text)); err != nil {
			return err
		}
	}
	for _, name := range append(matching(etcPatterns), etcCopies...) {
		text, err := os.ReadFile(filepath.Join("/etc", name))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	return errors.Join(makeBundle(dir), copyLinks("/etc/alternatives", filepath.Join(dir, "alternatives")))
}

// etcPatterns are the same where names differ: Debian's Java has neither settings nor a trust store
// without, nor any cryptography without the policies, and its Chromium does not start.
var etcPatterns = []string{
	"/etc/java-*/security/*", "/etc/java-*/security/policy/*/*", "/etc/java-*/*.cfg", "/etc/java-*/*.properties", "/etc/ssl/certs/java/*",
	"/etc/chromium.d/*",
}

// matching lists the files of /etc, without that, that the patterns match.
func matching(patterns []string) []string {
	var names []string
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern) // the patterns are well formed
		for _, f := range found {
			if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
				names = append(names, strings.TrimPrefix(f, "/etc/"))
			}
		}
	}
	return names
}

func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// copyLinks copies the symlinks of a directory: without /etc/alternatives there is no awk.
func copyLinks(from, to string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(from, e.Name()))
		if err != nil {
			continue
		}
		if err := os.Symlink(target, filepath.Join(to, e.Name())); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
