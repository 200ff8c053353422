package store

import (
	"path"
	"slices"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// TokenPrefix begins the secret of every bearer token, so that people and scanners know one by sight.
const TokenPrefix = "garita_"

// TokenID names one bearer token; it is public: "t" and 16 hex digits.
type TokenID string

// Token is a bearer token for the HTTP door as it is remembered: what it permits, and nothing it
// could be used with.
type Token struct {
	ID       TokenID
	Name     string               // for people: "inspector on my laptop"
	Servers  []sandbox.ServerName // that it opens; none opens nothing
	Tools    []string             // path.Match patterns of the tools it sees; none means every tool
	Created  time.Time
	Expires  time.Time // zero means never
	LastUsed time.Time // to the minute or so; zero means never
	Revoked  time.Time // zero while it is not
}

// Valid says whether it may still be used at now.
func (t Token) Valid(now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || now.Before(t.Expires))
}

// Opens says whether it is for this server.
func (t Token) Opens(s sandbox.ServerName) bool { return slices.Contains(t.Servers, s) }

// Sees says whether it is for a tool of that name.
func (t Token) Sees(tool string) bool {
	if len(t.Tools) == 0 {
		return true
	}
	return slices.ContainsFunc(t.Tools, func(pattern string) bool {
		ok, err := path.Match(pattern, tool)
		return err == nil && ok
	})
}
