// Package approvals is the vocabulary of who may do what: agents, calls, decisions, the questions
// put to a person and what that person's answers permit. Evaluate, the decision itself, is pure.
package approvals

import (
	"fmt"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// Principal is who asks: the user and the client entry a session came in by. What a client says
// of itself is a label, never part of this.
type Principal struct {
	UID    int    `json:"uid"`
	Client string `json:"client"` // the id `connect --client ID` was given; "" for none
	// Token is the id of the bearer token it came in by, "" at the doors that know the user by the socket.
	Token string `json:"token,omitempty"`
}

// SessionID names one client attached to one server: "s" and 16 hex digits.
type SessionID string

// CallID names one tools/call: "c" and 16 hex digits.
type CallID string

// RequestID names one question put to a person: "r" and 32 hex digits (unguessable).
type RequestID string

// Class is what a call does to the world.
type Class string

// The classes, mildest first. Depends means the arguments decide; it never remains in a Decision.
const (
	Read    Class = "read"
	Write   Class = "write"
	Destroy Class = "destroy"
	Execute Class = "execute"
	Depends Class = "depends"
)

// Effect is what is done about a call.
type Effect string

// The effects. The zero Effect is not valid; code that meets it denies.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// Call is one tools/call as it will be sent.
type Call struct {
	ID        CallID                `json:"id"`
	Session   SessionID             `json:"session"`
	Principal Principal             `json:"principal"`
	Label     string                `json:"label"` // what the client calls itself; hostile text
	Server    sandbox.ServerName    `json:"server"`
	Spec      sandbox.Digest        `json:"spec"` // of the server's definition
	Instance  sandbox.InstanceID    `json:"instance"`
	Workspace sandbox.WorkspaceID   `json:"workspace"`
	Mode      sandbox.WorkspaceMode `json:"mode"`
	Folders   []string              `json:"folders,omitempty"`  // absolute folders of the host that the server is given
	External  bool                  `json:"external,omitempty"` // the server runs elsewhere: no wall around it, and nobody sees what it does
	Tool      string                `json:"tool"`
	Pin       sandbox.Digest        `json:"pin"`       // of the tool's definition; "" when the server never listed it
	Arguments []byte                `json:"arguments"` // the bytes that will be sent; nil when there are none
	// Input is a modern client's answers to what the server asked in the middle of the call
	// (inputResponses), State what the server gave along with its question (requestState): the bytes that
	// will be sent beside the arguments, nil when there are none.
	Input     []byte    `json:"input,omitempty"`
	State     []byte    `json:"state,omitempty"`
	Class     Class     `json:"class"`
	ClassWhy  string    `json:"class_why"`           // one sentence
	Sensitive string    `json:"sensitive,omitempty"` // why a read shows what is not for everybody, one clause: "it returns environment variables"; "" when it does not
	Profile   string    `json:"profile,omitempty"`   // the name of what we ship about the server, where it knows the tool
	Sentence  string    `json:"sentence"`            // "change src/a.ts": the call as a person would tell it
	At        time.Time `json:"at"`
	// Continues is the interrupted call that this one takes up: exactly the same call, let through
	// before, with the client's answers to what the server asked in between. Set by the gateway alone.
	Continues CallID `json:"continues,omitempty"`
	// Doubt is why the agent may not be speaking for the person: what a result it was given a moment ago
	// says, one clause; "" when there is no such. Set by the gateway alone.
	Doubt string `json:"doubt,omitempty"`
	// Traceparent is the caller's span, as W3C Trace Context writes it, or "". It is for exports of the record alone.
	Traceparent string `json:"traceparent,omitempty"`
}

// Outcome is how a Decision came about, where a person was asked.
type Outcome string

// The outcomes of a question. A request starts Pending and ends as one of the others, once.
const (
	Pending   Outcome = "pending"
	Approved  Outcome = "approved"
	Denied    Outcome = "denied"
	Expired   Outcome = "expired"   // nobody answered in time, or it was found pending after a crash
	Withdrawn Outcome = "withdrawn" // the client canceled or went away, or Garita was stopped
	Covered   Outcome = "covered"   // a rule or a permission given meanwhile allows it
	Overruled Outcome = "overruled" // a rule made meanwhile denies it
)

// Decision is what was decided about one call, and why.
type Decision struct {
	Effect  Effect        `json:"effect"` // from Evaluate: allow, ask, deny; from Authorize: allow or deny
	Class   Class         `json:"class"`
	Rule    string        `json:"rule"`   // where it came from: "default rule 1 (reads pass)", "grant g…"
	Reason  string        `json:"reason"` // one sentence
	Request RequestID     `json:"request,omitempty"`
	Outcome Outcome       `json:"outcome,omitempty"` // set when a person was asked
	By      string        `json:"by,omitempty"`      // who answered: "cli pid 4242", "page"
	Waited  time.Duration `json:"waited,omitempty"`
	Grants  GrantIDs      `json:"grants,omitempty"`  // that it rests on; it stands only while they do
	Collect bool          `json:"collect,omitempty"` // it may change its workspace's files and nothing else
}

// Allowed says whether the call may be sent. The zero Decision is not allowed.
func (d Decision) Allowed() bool { return d.Effect == Allow }

// ByPerson says whether a person allowed this very call, rather than a rule or an earlier permission.
func (d Decision) ByPerson() bool { return d.Allowed() && d.Outcome == Approved }

// Request is a question put to a person. It is answered once and used once.
type Request struct {
	ID      RequestID      `json:"id"`
	Kind    Kind           `json:"kind"`
	Binding sandbox.Digest `json:"binding"` // what exactly is approved: Call.Binding or Question.Binding
	// Call is the call that is asked about; for the kinds that are none it says who asks and which
	// server it is about, and has no ID and no Tool.
	Call     Call      `json:"call"`
	Subject  Subject   `json:"subject,omitzero"` // of the kinds that are no calls
	Why      Decision  `json:"why"`              // the Ask decision that led here
	Asked    time.Time `json:"asked"`
	Expires  time.Time `json:"expires"`
	Outcome  Outcome   `json:"outcome"`
	Answered time.Time `json:"answered,omitzero"`
	By       string    `json:"by,omitempty"`
	Ruling   Decision  `json:"ruling,omitzero"` // what covered or overruled it
}

// Answer is a person's reply to a Request.
type Answer struct {
	Approve bool
	By      string         // who, for the record
	Binding sandbox.Digest // what the person saw; refused when it is not the request's
	// Permit allows more than the one call, with an approval only; nil is once.
	Permit *Permission
}

// String is the principal as the record writes it: "uid:1000/claude-desktop", "uid:1000/token:t1f…".
func (p Principal) String() string {
	switch {
	case p.Token != "":
		return fmt.Sprintf("uid:%d/token:%s", p.UID, p.Token)
	case p.Client == "":
		return fmt.Sprintf("uid:%d", p.UID)
	}
	return fmt.Sprintf("uid:%d/%s", p.UID, p.Client)
}
