package client

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// defaultRegistry is npm's own.
const defaultRegistry = "https://registry.npmjs.org/"

// globalNpmrc are the places of npm's global settings, the later overriding the earlier.
var globalNpmrc = []string{"/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc"}

// HostRegistries reads the user's own configuration of npm: the global .npmrc, the one in home, and
// the variables npm looks at; never one of a project, which is somebody else's word. Tokens in it go
// to the wall, and nowhere else. Notices are sentences about what was left out.
//
// An error means that a file is there and cannot be read.
func HostRegistries(home string, lookup func(string) (string, bool)) (RegistryConfig, []string, error) {
	user := filepath.Join(home, ".npmrc")
	if path, ok := either(lookup, "NPM_CONFIG_USERCONFIG", "npm_config_userconfig"); ok {
		user = path
	}
	var lines []string
	for _, path := range append(slices.Clone(globalNpmrc), user) {
		more, err := npmrcLines(path)
		if err != nil {
			return RegistryConfig{}, nil, fmt.Errorf("read the registries of npm: %w", err)
		}
		lines = append(lines, more...)
	}
	c, notices := ParseNpmrc(lines, lookup)
	return c, notices, nil
}

func npmrcLines(path string) ([]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		lines = append(lines, s.Text())
	}
	return lines, s.Err()
}

// npmrc is what has been read so far.
type npmrc struct {
	lookup  func(string) (string, bool)
	values  map[string]string            // plain keys
	hosts   map[string]map[string]string // "//host/path/" to its keys
	scopes  map[string]string
	ca      []string
	notices []string
}

// ParseNpmrc reads the lines of .npmrc files, later ones overriding earlier ones. It opens no file
// but a cafile that is named.
func ParseNpmrc(lines []string, lookup func(string) (string, bool)) (RegistryConfig, []string) {
	n := npmrc{lookup: lookup, values: map[string]string{}, hosts: map[string]map[string]string{}, scopes: map[string]string{}}
	for _, line := range lines {
		n.line(line)
	}
	c := RegistryConfig{Default: defaultRegistry, Scopes: n.scopes}
	if registry, ok := either(lookup, "NPM_CONFIG_REGISTRY", "npm_config_registry"); ok {
		c.Default = registry
	} else if registry := n.values["registry"]; registry != "" {
		c.Default = registry
	}
	c.Auth = n.credentials()
	c.Outside = n.outside()
	return c, n.notices
}

func (n *npmrc) line(line string) {
	line = strings.TrimSpace(line)
	if line == "" || strings.ContainsRune(";#[", rune(line[0])) {
		return
	}
	key, value, _ := strings.Cut(line, "=")
	key, value = strings.TrimSpace(key), unquote(strings.TrimSpace(value))
	value, missing := n.expand(value)
	if missing != "" {
		n.notices = append(n.notices, fmt.Sprintf("The setting %s of your .npmrc needs the variable %s, which is not set; it is left out.", key, missing))
		return
	}
	switch {
	case strings.HasPrefix(key, "//"):
		n.hostKey(key, value)
	case strings.HasPrefix(key, "@") && strings.HasSuffix(key, ":registry"):
		n.scopes[strings.TrimSuffix(key, ":registry")] = value
	case key == "ca" || key == "ca[]":
		n.ca = append(n.ca, strings.ReplaceAll(value, `\n`, "\n"))
	default:
		n.values[key] = value
	}
}

// hostKey reads "//host/path/:_authToken".
func (n *npmrc) hostKey(key, value string) {
	at := strings.LastIndex(key, ":")
	if at < 0 || strings.ContainsRune(key[at:], '/') {
		return
	}
	place := strings.TrimSuffix(key[:at], "/") + "/"
	if n.hosts[place] == nil {
		n.hosts[place] = map[string]string{}
	}
	n.hosts[place][key[at+1:]] = value
}

var variable = regexp.MustCompile(`(\\*)\$\{([^${}]+)\}`)

// expand puts variables in; missing is the first that is not set. "${NAME?}" may be unset.
func (n *npmrc) expand(value string) (out, missing string) {
	out = variable.ReplaceAllStringFunc(value, func(found string) string {
		m := variable.FindStringSubmatch(found)
		if len(m[1])%2 == 1 {
			return found[1:]
		}
		name, optional := strings.CutSuffix(m[2], "?")
		v, ok := n.lookup(name)
		if !ok && !optional && missing == "" {
			missing = name
		}
		return m[1] + v
	})
	return out, missing
}

// credentials turns each place's keys into one header.
func (n *npmrc) credentials() []wire.Credential {
	var all []wire.Credential
	for place, keys := range n.hosts {
		header := authorization(keys)
		u, err := url.Parse("https:" + place)
		if header == "" || err != nil || u.Host == "" || "https://"+u.Host+u.EscapedPath() != "https:"+place {
			continue
		}
		all = append(all, wire.Credential{Host: u.Host, Path: u.EscapedPath(), Header: wire.NewSecret(header)})
	}
	slices.SortFunc(all, func(a, b wire.Credential) int { return strings.Compare(a.Host+a.Path, b.Host+b.Path) })
	return all
}

func authorization(keys map[string]string) string {
	if token := keys["_authToken"]; token != "" {
		return "Bearer " + token
	}
	if pair := keys["_auth"]; pair != "" {
		return "Basic " + pair
	}
	password, err := base64.StdEncoding.DecodeString(keys["_password"])
	if keys["username"] == "" || len(password) == 0 || err != nil {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(keys["username"]+":"+string(password)))
}

// outside is how npm would reach the world from here.
func (n *npmrc) outside() wire.Outside {
	o := wire.Outside{CA: strings.Join(n.ca, "\n")}
	if file := n.values["cafile"]; file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			n.notices = append(n.notices, "The cafile of your .npmrc cannot be read; the system's certificates are used.")
		}
		o.CA += string(pem)
	}
	proxy, ok := either(n.lookup, "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
	for _, key := range []string{"proxy", "https-proxy"} {
		if v := n.values[key]; v != "" && v != "null" && v != "false" {
			proxy, ok = v, true
		}
	}
	if ok {
		o.Proxy = wire.NewSecret(proxy)
	}
	o.NoProxy, _ = either(n.lookup, "NO_PROXY", "no_proxy")
	if v := n.values["noproxy"]; v != "" {
		o.NoProxy = v
	}
	return o
}

// either is the first of several variables that is set to something.
func either(lookup func(string) (string, bool), names ...string) (string, bool) {
	for _, name := range names {
		if v, ok := lookup(name); ok && v != "" {
			return v, true
		}
	}
	return "", false
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
