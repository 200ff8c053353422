package approvals

import (
	"strings"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// GrantID names one remembered permission: "g" and 16 hex digits.
type GrantID string

// GrantIDs are grants that cover a call together, their ids separated by spaces; "" for none.
type GrantIDs string

// List is the ids one by one.
func (ids GrantIDs) List() []GrantID {
	var list []GrantID
	for _, id := range strings.Fields(string(ids)) {
		list = append(list, GrantID(id))
	}
	return list
}

// Scope is how far a person's yes reaches.
type Scope string

// The scopes, narrowest first. ScopeOnce is never kept as a Grant. ScopeCollect lets the calls of one server
// that change nothing but files of its workspace run, and asks once, when they are applied.
const (
	ScopeOnce    Scope = "once"
	ScopeSession Scope = "session"
	ScopeUntil   Scope = "until"
	ScopeAlways  Scope = "always"
	ScopeCollect Scope = "collect"
)

// Permission is what a person allows beyond the one call they are asked about.
type Permission struct {
	Scope     Scope
	Until     time.Time  // for ScopeUntil
	Arguments []Argument // all must match; none matches any arguments
}

// Grant is a permission that was given to one agent for one server as it was defined then, and, but
// for ScopeCollect, for one tool as it was defined then. It never reaches another server, another
// definition, another class.
type Grant struct {
	ID        GrantID
	Scope     Scope
	Principal Principal
	Server    sandbox.ServerName
	Spec      sandbox.Digest
	Tool      string         // "" only for ScopeCollect
	Pin       sandbox.Digest // "" only for ScopeCollect
	Class     Class          // "" only for ScopeCollect
	Sensitive bool           // it was given knowing that the tool shows what is not for everybody
	Session   SessionID      // for ScopeSession
	Workspace sandbox.WorkspaceID
	Until     time.Time  // for ScopeUntil; zero otherwise
	Arguments []Argument // all must match; none matches any arguments
	Request   RequestID  // the question it answered
	By        string
	Created   time.Time
	Revoked   time.Time // zero while it is not
	Used      time.Time // last; zero means never
	Uses      int64
}

// Argument is what a grant asks of one argument. Exactly one of Equals, Prefix and Command is set.
type Argument struct {
	Path   string // RFC 6901 JSON pointer into the arguments: "/path"; "" is all of them
	Equals string // JSON of the value it must have, whatever its spacing and the order of its members
	Prefix string // what a string must begin with; it ends in "/", and ".." never matches
	// Command is the words a shell command must begin with: "git status". Each of the simple commands
	// that a line is made of must be covered, by this or another grant. See approvals/grants.
	Command string
}

// Grants finds what a person has permitted before. Cover is pure but for now and must be quick: it
// is asked about every call that would ask.
type Grants interface {
	Cover(c Call, now time.Time) Coverage
}

// Coverage is what was permitted before that is about a call; the zero Coverage is nothing.
type Coverage struct {
	Grants  GrantIDs // that cover it; "" when it is not covered
	Words   string   // what was permitted, in a clause
	Exact   bool     // it was permitted with these very arguments, so they may be anything
	Collect bool     // by ScopeCollect: only as long as it changes nothing but the workspace
	Missing string   // the part of it that is not covered where other parts are: "git push"
}
