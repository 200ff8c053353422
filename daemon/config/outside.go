package config

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Outside is how this machine reaches the public internet.
type Outside struct {
	// Proxy is the URL of a forward proxy, which may hold a password; "" is the one that the environment
	// names, "none" is none.
	Proxy   string
	NoProxy string // hosts reached without it, as in NO_PROXY; "" is the environment's
	CA      string // PEM certificates that sandboxes and the wall trust besides the system's
}

// noProxy is no proxy, whatever the environment says.
const noProxy = "none"

// outsideFile is how config.yaml says it.
type outsideFile struct {
	Proxy   string `yaml:"proxy"`
	NoProxy string `yaml:"no_proxy"`
	CA      string `yaml:"ca"` // a file
}

// over sets what the file says in o. On an error key is where it says so.
func (f outsideFile) over(o *Outside) (key string, err error) {
	if o.Proxy, err = checkedProxy(f.Proxy); err != nil {
		return "proxy", err
	}
	o.NoProxy = f.NoProxy
	if f.CA == "" {
		return "", nil
	}
	if o.CA, err = certificates(f.CA); err != nil {
		return "ca", fmt.Errorf("ca: %w", err)
	}
	return "", nil
}

// checkedProxy refuses what is no proxy's URL. The error does not quote it: it may hold a password.
func checkedProxy(text string) (string, error) {
	if text == "" || text == noProxy {
		return text, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", errors.New("proxy: want http://HOST:PORT, https://HOST:PORT or none")
	}
	return text, nil
}

// maxCertificates bounds the file, in bytes.
const maxCertificates = 1 << 20

func certificates(file string) (string, error) {
	if !filepath.IsAbs(file) {
		return "", fmt.Errorf("%q: name the file by its absolute path", file)
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxCertificates {
		return "", fmt.Errorf("%s: want a plain file of at most 1 MiB", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var out []byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return "", fmt.Errorf("%s: there is something else than certificates in it (%s)", file, block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
	}
	if len(out) == 0 {
		return "", fmt.Errorf("%s: there is no certificate (PEM) in it", file)
	}
	return string(out), nil
}

// Effective is o with what an environment says where o says nothing.
func (o Outside) Effective(lookup func(string) (string, bool)) Outside {
	if o.Proxy == "" {
		o.Proxy = firstOf(lookup, "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
		if _, err := checkedProxy(o.Proxy); err != nil {
			o.Proxy = "" // socks and the like
		}
	}
	if o.NoProxy == "" {
		o.NoProxy = firstOf(lookup, "NO_PROXY", "no_proxy")
	}
	if o.Proxy == noProxy {
		o.Proxy = ""
	}
	return o
}

func firstOf(lookup func(string) (string, bool), names ...string) string {
	for _, name := range names {
		if v, ok := lookup(name); ok && strings.TrimSpace(v) != "" {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
