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
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// netrcAuth is what the user's .netrc has for the host of address, as curl, git and pip would use it; none for a
// host that it does not name: its "default" is for anybody, and is not sent.
func netrcAuth(home string, lookup func(string) (string, bool), address string) ([]wire.Credential, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil
	}
	file := filepath.Join(home, ".netrc")
	if named, ok := either(lookup, "NETRC"); ok {
		file = named
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", file, err, errdefs.ErrFailedPrecondition)
	}
	defer f.Close()
	user, password, ok := readNetrc(bufio.NewScanner(f), u.Hostname())
	if !ok {
		return nil, nil
	}
	return []wire.Credential{basic(u, user, password)}, nil
}

func basic(u *url.URL, user, password string) wire.Credential {
	host := u.Host
	if u.Port() == "" && u.Scheme == "http" {
		host += ":80"
	}
	pair := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return wire.Credential{Host: host, Path: "/", Header: wire.NewSecret("Basic " + pair)}
}

// readNetrc reads "machine HOST login USER password WORD", in any layout; macros are passed over.
func readNetrc(s *bufio.Scanner, host string) (user, password string, ok bool) {
	key, ours, macro := "", false, false
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		if macro = macro && line != ""; macro || strings.HasPrefix(line, "#") {
			continue
		}
		for _, word := range strings.Fields(line) {
			switch {
			case key == "machine":
				if ours {
					return user, password, ok
				}
				ours, key = strings.EqualFold(word, host), ""
			case key == "login" || key == "password" || key == "account":
				if ours && key == "login" {
					user = word
				}
				if ours && key == "password" {
					password, ok = word, true
				}
				key = ""
			case word == "default":
				if ours {
					return user, password, ok
				}
			case word == "macdef":
				macro = true
			default:
				key = word
			}
			if macro {
				break
			}
		}
	}
	return user, password, ours && ok
}
