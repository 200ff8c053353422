package client

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/pelletier/go-toml/v2"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// defaultIndex is Python's own; its files, and those of many mirrors of it, lie on another host.
const (
	defaultIndex = "https://pypi.org/simple"
	defaultFiles = "files.pythonhosted.org"
)

// Where Python's tools keep their settings besides the home directory; those of a project are somebody
// else's word and never read.
var (
	globalUV  = "/etc/uv/uv.toml"
	globalPip = "/etc/pip.conf"
)

// HostIndex reads which index of Python packages the user has configured: uv's variables and uv.toml
// where they say anything, else pip's and pip.conf, else PyPI. A user and password in its URL, or in .netrc for
// its host, go to the wall, and nowhere else. Notices are sentences about what was left out.
//
// A second index is refused (FailedPrecondition) rather than left out: a name that only the second is
// meant to have would be taken from the first, from whoever has registered it there.
func HostIndex(home string, lookup func(string) (string, bool)) (RegistryConfig, []string, error) {
	c := RegistryConfig{Ecosystem: sandbox.PyPI, Hosts: []string{defaultFiles}}
	s := &pythonSettings{home: home, lookup: lookup}
	err := s.read()
	if err != nil {
		return c, nil, fmt.Errorf("read which index of Python packages to use: %w", err)
	}
	if c.Default, c.Auth, err = splitIndex(s.index); err != nil {
		return c, nil, fmt.Errorf("read which index of Python packages to use: %s: %w", s.where, err)
	}
	if len(c.Auth) == 0 {
		if c.Auth, err = netrcAuth(home, lookup, c.Default); err != nil {
			return c, nil, fmt.Errorf("read which index of Python packages to use: %w", err)
		}
	}
	c.Outside = s.outside()
	return c, s.notices, nil
}

// HostRepository is how the repository at address is reached from this machine: with what .netrc has for its
// host, by the proxy and the certificates that Python's packages come by.
func HostRepository(home string, lookup func(string) (string, bool), address string) (RegistryConfig, error) {
	c := RegistryConfig{Ecosystem: wire.Git, Default: address}
	var err error
	if c.Auth, err = netrcAuth(home, lookup, address); err != nil {
		return c, fmt.Errorf("read how to reach a repository: %w", err)
	}
	s := &pythonSettings{home: home, lookup: lookup}
	c.Outside = s.outside()
	return c, nil
}

// pythonSettings is what has been read.
type pythonSettings struct {
	home    string
	lookup  func(string) (string, bool)
	index   string // its URL, perhaps with a password
	where   string // which setting named it
	proxy   string
	ca      string // a file
	notices []string
}

func (s *pythonSettings) read() error {
	found, err := s.uv()
	if err == nil && !found {
		err = s.pip()
	}
	if s.index == "" {
		s.index, s.where = defaultIndex, "the default"
	}
	return err
}

func errSecondIndex(where string) error {
	return fmt.Errorf("%s names a second place for packages: where a name can come from two places, the wrong one can win; name one index that has everything (UV_DEFAULT_INDEX, or index-url in uv.toml or pip.conf): %w", where, errdefs.ErrFailedPrecondition)
}

// uvToml is what is read of uv.toml.
type uvToml struct {
	IndexURL   string   `toml:"index-url"`
	ExtraIndex []string `toml:"extra-index-url"`
	FindLinks  []string `toml:"find-links"`
	Index      []struct {
		URL      string `toml:"url"`
		Default  bool   `toml:"default"`
		Explicit bool   `toml:"explicit"`
	} `toml:"index"`
	Pip map[string]any `toml:"pip"`
}

// uv reads uv's settings; found says that they name an index.
func (s *pythonSettings) uv() (found bool, err error) {
	for _, name := range []string{"UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"} {
		if v, ok := s.lookup(name); ok && v != "" {
			return true, errSecondIndex("the variable " + name)
		}
	}
	own := filepath.Join(s.configHome(), "uv", "uv.toml")
	if path, ok := either(s.lookup, "UV_CONFIG_FILE"); ok {
		own = path
	}
	for _, path := range []string{globalUV, own} {
		if err := s.uvFile(path); err != nil {
			return true, err
		}
	}
	for _, name := range []string{"UV_INDEX_URL", "UV_DEFAULT_INDEX"} {
		if v, ok := s.lookup(name); ok && v != "" {
			s.index, s.where = v, "the variable "+name
		}
	}
	return s.index != "", nil
}

func (s *pythonSettings) uvFile(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.uvText(path, text)
}

func (s *pythonSettings) uvText(path string, text []byte) error {
	var t uvToml
	if err := toml.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, errdefs.ErrFailedPrecondition) // the error could quote a password
	}
	if len(t.ExtraIndex)+len(t.FindLinks) > 0 {
		return errSecondIndex(path)
	}
	if t.IndexURL != "" {
		s.index, s.where = t.IndexURL, path
	}
	for _, i := range t.Index {
		switch {
		case i.Explicit: // for packages that a project says so of
		case !i.Default:
			return errSecondIndex(path)
		default:
			s.index, s.where = i.URL, path
		}
	}
	return nil
}

// pip reads pip's settings.
func (s *pythonSettings) pip() error {
	own := []string{filepath.Join(s.home, ".pip", "pip.conf"), filepath.Join(s.configHome(), "pip", "pip.conf")}
	if path, ok := either(s.lookup, "PIP_CONFIG_FILE"); ok {
		own = []string{path}
	}
	for _, path := range append([]string{globalPip}, own...) {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := s.pipText(path, string(text)); err != nil {
			return err
		}
	}
	for _, name := range []string{"PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"} {
		if v, ok := s.lookup(name); ok && v != "" {
			return errSecondIndex("the variable " + name)
		}
	}
	for key, name := range map[string]string{"index-url": "PIP_INDEX_URL", "proxy": "PIP_PROXY", "cert": "PIP_CERT"} {
		if v, ok := s.lookup(name); ok && v != "" {
			s.pipKey(key, v, "the variable "+name)
		}
	}
	return nil
}

// pipText reads pip.conf: sections, "key = value", further lines of a value further in.
func (s *pythonSettings) pipText(path, text string) error {
	section, key := "", ""
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		further := len(line) > 0 && (line[0] == ' ' || line[0] == '\t')
		switch {
		case word == "" || word[0] == '#' || word[0] == ';':
			continue
		case word[0] == '[':
			section, key = strings.Trim(word, "[]"), ""
			continue
		case section != "global" && section != "install" && section != "download":
			continue
		}
		value := word
		if !further {
			at := strings.IndexAny(word, "=:")
			if at < 0 {
				continue
			}
			key, value = strings.ReplaceAll(strings.TrimSpace(word[:at]), "_", "-"), strings.TrimSpace(word[at+1:])
		}
		if value != "" && (key == "extra-index-url" || key == "find-links") {
			return errSecondIndex(path)
		}
		s.pipKey(key, value, path)
	}
	return nil
}

func (s *pythonSettings) pipKey(key, value, where string) {
	if value == "" {
		return
	}
	switch key {
	case "index-url", "index", "i":
		s.index, s.where = value, where
	case "proxy":
		s.proxy = value
	case "cert":
		s.ca = value
	}
}

func (s *pythonSettings) configHome() string {
	if dir, ok := either(s.lookup, "XDG_CONFIG_HOME"); ok && filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(s.home, ".config")
}

// outside is how pip would reach the world from here.
func (s *pythonSettings) outside() wire.Outside {
	var o wire.Outside
	if s.proxy == "" {
		s.proxy, _ = either(s.lookup, "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY")
	}
	o.Proxy = wire.NewSecret(s.proxy)
	o.NoProxy, _ = either(s.lookup, "NO_PROXY", "no_proxy")
	if s.ca == "" {
		s.ca, _ = either(s.lookup, "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
	}
	if s.ca != "" {
		pem, err := os.ReadFile(s.ca)
		if err != nil {
			s.notices = append(s.notices, "The certificates that your Python settings name cannot be read; the system's are used.")
		}
		o.CA = string(pem)
	}
	return o
}

// splitIndex takes user and password out of an index's URL.
func splitIndex(address string) (string, []wire.Credential, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return "", nil, fmt.Errorf("the index's URL cannot be read: %w", errdefs.ErrInvalidArgument) // it may hold a password
	}
	var auth []wire.Credential
	if u.User != nil {
		password, _ := u.User.Password()
		auth = []wire.Credential{basic(u, u.User.Username(), password)}
		u.User = nil
	}
	return strings.TrimRight(u.String(), "/"), auth, nil
}
