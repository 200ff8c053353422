package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

const (
	// usualScheme stands before most tokens in the header Authorization.
	usualScheme = "Bearer"
	// noScheme is how it is declared that nothing does.
	noScheme = "none"
)

var schemeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)

// sent reads leave to send a secret to a server at a url. There is no sandbox in which it could be found, and
// no host but its own.
func (s declaredSecret) sent(address string) (g sandbox.SecretGrant, err error) {
	if g.Secret, err = sandbox.ParseSecretName(s.Name); err != nil {
		return g, err
	}
	if err := s.refuseInside(); err != nil {
		return g, err
	}
	g.Mode, g.Ask = sandbox.SecretSent, s.Ask
	if g.Places, err = s.places(); err != nil {
		return g, err
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return g, fmt.Errorf("its url is not one")
	}
	g.Hosts = []sandbox.Endpoint{Origin(u)}
	if err := checkSent(g.Places, u); err != nil {
		return g, err
	}
	if g.Scheme, err = s.scheme(g.Places); err != nil {
		return g, err
	}
	if g.Until, err = parseUntil(s.Until); err != nil {
		return g, err
	}
	tools, err := declaredTools{Allow: s.Tools}.lower()
	g.Tools = tools.Allow
	return g, err
}

// refuseInside refuses what only a sandbox has.
func (s declaredSecret) refuseInside() error {
	for _, inside := range []struct {
		key string
		set bool
	}{
		{"env", s.Env != ""},
		{"file", s.File != ""},
		{"arg", s.Arg != ""},
		{"mode", s.Mode != "" && s.Mode != string(sandbox.SecretSent)},
		{"body", len(s.Body) > 0},
		{"hosts", len(s.Hosts) > 0},
	} {
		if inside.set {
			return fmt.Errorf("%s: a server at a url has none; name the header (or query) in which Garita sends it there", inside.key)
		}
	}
	return nil
}

// checkSent refuses places that belong to the messages themselves, and those that the url fills already.
func checkSent(places []sandbox.SecretPlace, u *url.URL) error {
	for _, p := range places {
		switch {
		case p.In == sandbox.InHeader && (slices.Contains(ourHeaders, p.Name) || strings.HasPrefix(p.Name, "Mcp-")):
			return fmt.Errorf("header: %s is set by Garita and carries no secret", p.Name)
		case p.In == sandbox.InQuery && u.Query().Has(p.Name):
			return fmt.Errorf("query: the url has %q already; take it out there", p.Name)
		}
	}
	return nil
}

// scheme is what stands before the value in the header Authorization.
func (s declaredSecret) scheme(places []sandbox.SecretPlace) (string, error) {
	switch {
	case !slices.Contains(places, usualPlace):
		if s.Scheme != "" {
			return "", fmt.Errorf("scheme goes with the header %s alone", usualPlace.Name)
		}
		return "", nil
	case s.Scheme == "":
		return usualScheme, nil
	case s.Scheme == noScheme:
		return "", nil
	case !schemeName.MatchString(s.Scheme):
		return "", fmt.Errorf("scheme: want one word such as Bearer, Basic or token, or none")
	}
	return s.Scheme, nil
}

// declareScheme is how a grant's scheme is written; "" where it goes without saying.
func declareScheme(g sandbox.SecretGrant) string {
	switch {
	case len(g.Places) > 0 && !slices.Contains(g.Places, usualPlace), g.Scheme == usualScheme:
		return ""
	case g.Scheme == "":
		return noScheme
	}
	return g.Scheme
}

// SecretHosts are where the secrets of a server at a url are sent: there alone.
func SecretHosts(source sandbox.Source) []sandbox.Endpoint {
	u, err := url.Parse(source.URL)
	if err != nil || u.Host == "" {
		return nil
	}
	return []sandbox.Endpoint{Origin(u)}
}

// Origin is the host and port that a server's url leads to.
func Origin(u *url.URL) sandbox.Endpoint {
	e := sandbox.Endpoint{Host: strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), Port: sandbox.DefaultPort}
	if u.Scheme == "http" {
		e.Port = 80
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		e.Port = uint16(n)
	}
	return e
}
