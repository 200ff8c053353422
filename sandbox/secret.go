package sandbox

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// SecretMode says how a secret gets to where it is used. The zero SecretMode is none at all.
type SecretMode string

// The modes of a SecretGrant.
const (
	// SecretPlaceholder: the sandbox has a sentinel of the same shape; the wall puts the value in its
	// place in requests to the granted hosts. The value never enters the sandbox.
	SecretPlaceholder SecretMode = "placeholder"
	// SecretEnv and SecretFile: the server has the value itself, in a variable or a file. Weaker.
	SecretEnv  SecretMode = "env"
	SecretFile SecretMode = "file"
	// SecretSent: the server is at a URL, and we put the value into requests to it ourselves. Nothing of it is
	// anywhere else.
	SecretSent SecretMode = "sent"
)

// SecretGrant is leave for one server to use one secret. The zero SecretGrant grants nothing.
type SecretGrant struct {
	Secret string     `json:"secret"` // its name, as ParseSecretName makes it
	Mode   SecretMode `json:"mode"`
	// Env is the variable, and File the absolute path below SecretsDir, in which the server finds the
	// sentinel or the value. Exactly one is set; File in SecretFile, Env in SecretEnv, either with a
	// placeholder, neither in SecretSent.
	Env  string `json:"env,omitempty"`
	File string `json:"file,omitempty"`
	// Arg is the flag behind which the server finds the sentinel among its arguments, in place of Env and File and
	// with a placeholder only: no value is ever an argument. One that ends in "=" has it in the same word.
	Arg string `json:"arg,omitempty"`
	// Places are where in a request the value may be put, and Hosts to whom; only with a placeholder and in
	// SecretSent, and then at least one each. In SecretSent it is put into each of them, and Hosts is where the
	// server is.
	Places []SecretPlace `json:"places,omitempty"`
	Hosts  []Endpoint    `json:"hosts,omitempty"`
	// Scheme stands before the value in the header Authorization, in SecretSent: "Bearer"; "" for nothing.
	Scheme string `json:"scheme,omitempty"`
	// Tools are path.Match patterns: the placeholder is swapped only while every call under way is of
	// such a tool. None means whenever the server runs.
	Tools []string  `json:"tools,omitempty"`
	Until time.Time `json:"until,omitzero"` // zero means until it is revoked
	Ask   bool      `json:"ask,omitempty"`  // a person is asked before each use
}

// SecretsDir is a tmpfs in which granted files are, inside.
const SecretsDir = "/run/secrets"

// SecretPlace is where in an HTTP request a sentinel is swapped for the value.
type SecretPlace struct {
	In   PlaceKind `json:"in"`
	Name string    `json:"name"` // of the header (canonical), the query's parameter or the body's member
}

// PlaceKind is a part of an HTTP request.
type PlaceKind string

// The places. In a header, credentials of Basic are decoded, swapped and encoded again. A body is
// JSON, whose member of that name at any depth is meant, or a form.
const (
	InHeader PlaceKind = "header"
	InQuery  PlaceKind = "query"
	InBody   PlaceKind = "body"
)

// InForce says whether g grants anything at now.
func (g SecretGrant) InForce(now time.Time) bool {
	return g.Secret != "" && g.Mode != "" && (g.Until.IsZero() || now.Before(g.Until))
}

// Covers says whether a tool of that name may use the secret.
func (g SecretGrant) Covers(tool string) bool {
	if len(g.Tools) == 0 {
		return true
	}
	return slices.ContainsFunc(g.Tools, func(pattern string) bool {
		ok, err := path.Match(pattern, tool)
		return err == nil && ok
	})
}

// SendsTo says whether the value may be put into a request to that host.
func (g SecretGrant) SendsTo(host string, port uint16) bool {
	return !g.Weaker() && slices.ContainsFunc(g.Hosts, func(e Endpoint) bool { return e.Matches(host, port) })
}

// Weaker says that the server holds the value itself.
func (g SecretGrant) Weaker() bool { return g.Mode != SecretPlaceholder && g.Mode != SecretSent }

// Where says where the secret is found: the variable, file or flag, or where in requests it is put.
func (g SecretGrant) Where() string {
	if g.Mode != SecretSent {
		return g.Env + g.File + strings.TrimSuffix(g.Arg, "=")
	}
	var all []string
	for _, p := range g.Places {
		all = append(all, string(p.In)+" "+p.Name)
	}
	return strings.Join(all, ", ")
}

// Reach is what a server with these walls may reach at now: its Network, and the hosts to which it may
// send a secret, which would be of no use otherwise. Of this machine it reaches what Network lists. Without
// any network it reaches nothing.
func (s Spec) Reach(now time.Time) Allowlist {
	l := s.Network
	if l.Empty() {
		return l
	}
	l.Endpoints = slices.Clone(l.Endpoints)
	for _, g := range s.Secrets {
		if !g.InForce(now) || g.Mode != SecretPlaceholder {
			continue
		}
		for _, e := range g.Hosts {
			if e.Host != HostName && !slices.Contains(l.Endpoints, e) && !slices.Contains(l.LAN, e) {
				l.Endpoints = append(l.Endpoints, e)
			}
		}
	}
	return l
}

// maxSecretName bounds a secret's name, in bytes.
const maxSecretName = 64

// ParseSecretName reads the name of a secret: 1–64 of [a-z0-9._-], the first one alphanumeric.
// The error says in a clause what is wrong.
func ParseSecretName(text string) (string, error) {
	for i, c := range []byte(text) {
		plain := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !plain && (i == 0 || !strings.ContainsRune("._-", rune(c))) {
			return "", fmt.Errorf("%q is no name for a secret: lower-case letters, digits, dots, dashes and underscores", text)
		}
	}
	if text == "" || len(text) > maxSecretName {
		return "", fmt.Errorf("a secret's name has 1 to %d characters", maxSecretName)
	}
	return text, nil
}
