package config

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
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
	switch {
	case err == nil && automatic(u):
		return "", errors.New("proxy: automatic configuration (PAC) is not read; name the proxy that it would choose: http://HOST:PORT")
	case err != nil || !slices.Contains(proxySchemes, u.Scheme) || u.Hostname() == "":
		return "", errors.New("proxy: want http://HOST:PORT, https://HOST:PORT, socks5://HOST:PORT or none")
	}
	return text, nil
}

var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// automatic says that u leads to a program which chooses proxies.
func automatic(u *url.URL) bool {
	return strings.HasPrefix(u.Scheme, "pac") || strings.HasSuffix(strings.ToLower(u.Path), ".pac") || strings.HasSuffix(strings.ToLower(u.Path), "/wpad.dat")
}

// proxyVariables name the proxy of an environment, the first that does; automaticVariables one that
// chooses proxies.
var (
	proxyVariables     = []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}
	automaticVariables = []string{"AUTO_PROXY", "auto_proxy", "PAC_URL", "pac_url"}
)

// Unread says in a sentence what an environment says about proxies that is not followed, "" for nothing. It
// quotes no value.
func (o Outside) Unread(lookup func(string) (string, bool)) string {
	if o.Proxy != "" {
		return ""
	}
	for _, name := range proxyVariables {
		if text, ok := lookup(name); ok && strings.TrimSpace(text) != "" {
			if _, err := checkedProxy(strings.TrimSpace(text)); err != nil {
				return fmt.Sprintf("%s of the daemon's environment is not followed (%s); say it under network in config.yaml.", name, strings.TrimPrefix(err.Error(), "proxy: "))
			}
			return ""
		}
	}
	for _, name := range automaticVariables {
		if text, ok := lookup(name); ok && strings.TrimSpace(text) != "" {
			return fmt.Sprintf("%s of the daemon's environment names an automatic configuration (PAC), which is not read; name the proxy that it would choose in config.yaml: network: {proxy: http://HOST:PORT}.", name)
		}
	}
	return ""
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
		o.Proxy = firstOf(lookup, proxyVariables...)
		if _, err := checkedProxy(o.Proxy); err != nil {
			o.Proxy = "" // see Unread
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
