// Package store is the vocabulary of what is remembered: the audit log's events, one record per
// call, bearer tokens, and the names and values of secrets. Subpackage sqlite keeps it on disk.
package store

import (
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// Kind says what an Event records. Kinds are never renamed: old logs are read for ever.
type Kind string

// The kinds of event.
const (
	DaemonStarted    Kind = "daemon.started"
	DaemonStopped    Kind = "daemon.stopped"
	SessionOpened    Kind = "session.opened"
	SessionClosed    Kind = "session.closed"
	InstanceStarted  Kind = "instance.started"
	InstanceEnded    Kind = "instance.ended"
	PackageInstalled Kind = "package.installed"
	CallDecided      Kind = "call.decided"
	CallFinished     Kind = "call.finished" // one per call, with everything about it
	ApprovalAsked    Kind = "approval.asked"
	ApprovalAnswered Kind = "approval.answered"
	ApprovalRefused  Kind = "approval.refused" // an answer or page link asked for by one who may not
	ToolDemoted      Kind = "tool.demoted"
	WorkspaceApplied Kind = "workspace.applied"
	// WorkspaceUnattributed: changes made while no call was under way, found before the next one.
	WorkspaceUnattributed Kind = "workspace.unattributed"
	WorkspaceDiscarded    Kind = "workspace.discarded"
	ConfigImported        Kind = "config.imported"
	ConfigRestored        Kind = "config.restored"
	PageLinked            Kind = "page.linked"    // a one-time link to the page was given
	AccessRefused         Kind = "access.refused" // foreign Host, Origin, or no session
	TokenCreated          Kind = "token.created"
	MessageNoted          Kind = "message.noted" // found in what a server sent outside of calls, or asked of its client and not passed on
	TokenRevoked          Kind = "token.revoked"
	// PolicyChanged: policy.yaml came into force, with the digests of what was in force before and is
	// now; or it was refused, with the problem, and what was in force stays so.
	PolicyChanged  Kind = "policy.changed"
	PolicyAccepted Kind = "policy.accepted" // a person accepted the policy in a folder's files, or withdrew that
	// RecordDropped: the oldest events are let go, so that the record keeps to its bounds. It says which, and
	// that is what makes their absence no damage.
	RecordDropped Kind = "record.dropped"
	// RecordDamaged: the record could not be read and was put aside; this one begins in its place.
	RecordDamaged Kind = "record.damaged"
	// DiskLow and DiskRecovered: there was too little room left to keep more than the record needs, and again enough.
	DiskLow       Kind = "disk.low"
	DiskRecovered Kind = "disk.recovered"
	// ServerUnhealthy: a server writes the same thing over and over.
	ServerUnhealthy Kind = "server.unhealthy"
)

// Event is one line of the audit log. Seq counts from 1 without gaps; Hash covers every other
// field and the Hash before, so an edit, a reorder and a gap each break the chain.
type Event struct {
	Seq       int64
	At        time.Time // microseconds, UTC
	Kind      Kind
	Principal approvals.Principal
	Session   approvals.SessionID
	Server    sandbox.ServerName
	Call      approvals.CallID
	Body      []byte // compact JSON object; arguments redacted and size-bounded
	Prev      sandbox.Digest
	Hash      sandbox.Digest
}

// Query says which events are wanted; the zero value means the oldest of all.
type Query struct {
	After   int64 // the Seq to go on from
	Limit   int   // at least 1
	Call    approvals.CallID
	Session approvals.SessionID
	Since   time.Time
}

// CallRecord is everything about one call, written once it has ended (kind call.finished) and,
// with Outcome "running" or "waiting", shown while it has not.
type CallRecord struct {
	Call     approvals.Call
	Decision approvals.Decision
	Outcome  CallOutcome
	Error    string // what went wrong, for a person; never a secret
	Duration time.Duration
	Result   ResultDigest
	Changes  []sandbox.Change   // files changed while it ran
	Hosts    []string           // contacted while it ran, "api.github.com:443"; nil while nothing can be
	Secrets  []string           // "NAME, version N" of those its server held or sent while it ran
	Commands []string           // programs executed while it ran, as command lines; nil where nobody looked
	Kept     []string           // paths of the artifacts it left, on the host
	Shared   []approvals.CallID // calls in flight at the same time, to which Changes may belong too
	Findings []string           // what was found in the result or its effects, one sentence each
}

// CallOutcome is how a call ended.
type CallOutcome string

// The outcomes of a call.
const (
	CallWaiting  CallOutcome = "waiting" // for a person
	CallRunning  CallOutcome = "running"
	CallDone     CallOutcome = "done"
	CallFailed   CallOutcome = "failed"   // the server answered with an error
	CallRefused  CallOutcome = "refused"  // denied by policy or person, expired or withdrawn: see Decision
	CallWithheld CallOutcome = "withheld" // it ran, and its result was kept back
	CallUnknown  CallOutcome = "unknown"  // we or the server died in the middle
)

// ResultDigest stands for a result that is not itself kept.
type ResultDigest struct {
	Digest sandbox.Digest
	Size   int64 // bytes
}

// Demotion is a tool that lost the right to pass as a read.
type Demotion struct {
	Server sandbox.ServerName
	Tool   string
	Reason string
	Call   approvals.CallID // the call that showed it
	// Principal and Session are the call's. They stand in the event, and are not found again.
	Principal approvals.Principal
	Session   approvals.SessionID
	At        time.Time
}

// Workspace is one agent's overlay of one server's folders, remembered across runs.
type Workspace struct {
	ID        sandbox.WorkspaceID
	Server    sandbox.ServerName
	Principal approvals.Principal // whose it is
	Folders   []string            // absolute host folders, in the server's order
	Created   time.Time
}

// Past is what a server's calls that were no reads came to lately.
type Past struct {
	Writes   int // calls that might change something
	Approved int // of these, approved by a person
}

// Verification is what `audit verify` found.
type Verification struct {
	Records int64 // events that verified
	OK      bool
	Bad     int64  // Seq of the first event that is wrong or missing; 0 when OK
	Problem string // one sentence naming the event and the fault
	Notice  string // such as: the signing key lies in a file
	Dropped Dropped
}

// Dropped is what has been let go of the record's beginning; the zero Dropped is nothing.
type Dropped struct {
	Upto int64     // Seq of the newest event dropped
	At   time.Time // when it was last done
	Why  string    // a sentence, for a person
}

// Retention bounds the record. What is over a bound is dropped from its beginning, in signed segments.
// The zero value of a field is no bound.
type Retention struct {
	Size int64         // bytes of the database
	Keep time.Duration // age of an event
	// Free is how many bytes the disk should have left. Below it, calls are recorded with little more than
	// their digests, and Space says so.
	Free int64
}

// Space is whether there is room for the record on its disk.
type Space struct {
	Size int64 // bytes of the record
	Free int64 // bytes left on its disk
	Low  bool  // less than there should be
}
