package approvals

import (
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// GrantID names one remembered permission: "g" and 16 hex digits.
type GrantID string

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

// Argument is what a grant asks of one argument.
type Argument struct {
	Path   string // RFC 6901 JSON pointer into the arguments: "/path"
	Equals string // canonical JSON of the value it must have; "" when Prefix decides
	Prefix string // what a string must begin with; a path's prefix ends in "/", and ".." never matches
}
