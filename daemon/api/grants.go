package api

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"time"
)

// Match is what a permission asks of one argument: exactly one of Equals, Prefix and Command is set.
type Match struct {
	Path    string `json:"path"`              // JSON pointer into the arguments: "/path"; "" is all of them
	Equals  string `json:"equals,omitempty"`  // the JSON text of the value it must have
	Prefix  string `json:"prefix,omitempty"`  // the folder a path, or every path of a list, must lie in: "src/"
	Command string `json:"command,omitempty"` // the words a simple shell command must begin with: "git status"
}

// Permit is how far a yes reaches. The zero Permit is once.
type Permit struct {
	Scope string     `json:"scope,omitempty"` // once | session | until | always | collect
	Until *time.Time `json:"until,omitempty"` // for until
	Match []Match    `json:"match,omitempty"` // all must hold; none means whatever the arguments are
}

// Offer is a permission that can be given with a yes, in words, and what it would have covered of
// the calls that wait or were asked about lately.
type Offer struct {
	Permit
	Words   string    `json:"words"`
	Matches []Matched `json:"matches"`
}

// Matched is a call that a permission would cover.
type Matched struct {
	Call     string `json:"call"`
	Sentence string `json:"sentence"`
	Object   string `json:"object"`
}

// Grant is a permission that was given: to one agent, for one server and, but for collect, one tool,
// as they were defined then.
type Grant struct {
	ID       string     `json:"id"`
	State    string     `json:"state"` // valid | ended | revoked
	Words    string     `json:"words"`
	Scope    string     `json:"scope"` // session | until | always | collect
	Agent    string     `json:"agent"`
	Server   string     `json:"server"`
	Tool     string     `json:"tool,omitempty"`  // "" for collect: all of the server's
	Class    string     `json:"class,omitempty"` // "" for collect
	Session  string     `json:"session,omitempty"`
	Until    *time.Time `json:"until,omitempty"`
	Match    []Match    `json:"match"`
	Approval string     `json:"approval"` // the question it answered
	By       string     `json:"by"`
	Created  time.Time  `json:"created"`
	Revoked  *time.Time `json:"revoked,omitempty"`
	Used     *time.Time `json:"used,omitempty"` // last
	Uses     int64      `json:"uses"`           // calls it has let through
}

// ApprovalGroup is questions that can be answered together: the writes, or reads, of one session at
// one server that wait. Its ID changes with its members.
type ApprovalGroup struct {
	ID      string        `json:"id"`
	Title   string        `json:"title"` // "12 writes to src/ by claude-code"
	Agent   string        `json:"agent"`
	Server  string        `json:"server"`
	Class   string        `json:"class"`
	Members []GroupMember `json:"members"` // in the order of GET /approvals
}

// GroupMember is one question of a group.
type GroupMember struct {
	Seen
	Tool     string `json:"tool"`
	Sentence string `json:"sentence"`
	Object   string `json:"object"`
}

// Seen names a question and what was seen of it.
type Seen struct {
	ID      string `json:"id"`
	Binding string `json:"binding"`
}

// GroupAnswer is one reply to several questions: those that are named, as they were seen, and no
// others. What it permits beyond belongs to the first of them that still waits.
type GroupAnswer struct {
	Permit
	Approve bool   `json:"approve"`
	Members []Seen `json:"members"`
	Code    string `json:"code,omitempty"` // typed at a terminal: GroupCode of Members
	TTY     bool   `json:"tty,omitempty"`
}

// GroupCode is what a person types at a terminal to answer these questions together.
func GroupCode(members []Seen) string {
	h := sha256.New()
	for _, m := range members {
		_, _ = io.WriteString(h, m.ID+" "+m.Binding+"\n") // never fails
	}
	return AnswerCode("sha256:" + hex.EncodeToString(h.Sum(nil)))
}

// SeenApprovals names questions that expired unanswered and have been seen; none means all.
type SeenApprovals struct {
	IDs []string `json:"ids,omitempty"`
}

// Prompts is how often calls of the last seven days had to be put to a person.
type Prompts struct {
	Calls      int            `json:"calls"`
	Asked      int            `json:"asked"`
	PerHundred float64        `json:"per_hundred"` // of Calls, Asked
	Agents     []AgentPrompts `json:"agents"`      // the busiest first
}

// AgentPrompts is one agent's share.
type AgentPrompts struct {
	Agent      string  `json:"agent"`
	Calls      int     `json:"calls"`
	Asked      int     `json:"asked"`
	PerHundred float64 `json:"per_hundred"`
}

// ToolChange is a tool that is new, or defined otherwise than it was accepted; hostile text.
type ToolChange struct {
	Tool     string   `json:"tool"`
	Before   string   `json:"before,omitempty"` // digest of the accepted definition; "" when it is new
	After    string   `json:"after,omitempty"`  // "" when it is gone
	Diff     string   `json:"diff,omitempty"`   // unified
	Findings []string `json:"findings"`
}

// Application is a workspace's changes, to be copied to the person's files.
type Application struct {
	Workspace string   `json:"workspace"`
	Seen      string   `json:"seen"`
	Paths     []string `json:"paths"`
}

// NetworkAccess is hosts that a server wants to reach, or has reached.
type NetworkAccess struct {
	Hosts []string `json:"hosts"`
	Call  string   `json:"call,omitempty"`
	After bool     `json:"after"` // it has happened: what is asked is whether the result may be used
	// Addresses are the hosts' real ones as far as they are known: a name that may not be reached yet is
	// not looked up.
	Addresses []string `json:"addresses"`
	// Upload is set where the host is reached already, and what is asked is whether something may be sent there.
	Upload *Upload `json:"upload,omitempty"`
	// HostKey is set where the host may be reached, by SSH, and what is asked is whether this is its key.
	HostKey *HostKey `json:"host_key,omitempty"`
}

// HostKey is a key by which a host that is reached by SSH has named itself.
type HostKey struct {
	Type        string `json:"type"`        // "ssh-ed25519"
	Fingerprint string `json:"fingerprint"` // "SHA256:…"
}

// Upload is what a server is about to send.
type Upload struct {
	Bytes int64    `json:"bytes"` // so far, beyond what came back; 0 where something was found in it
	Kinds []string `json:"kinds"` // what was found in it: "a GitHub token"
}

// Installation is a package that a server wants installed, or the install script of one that is.
type Installation struct {
	Package   string   `json:"package"`
	Integrity string   `json:"integrity,omitempty"`
	Script    string   `json:"script,omitempty"` // what would run, whole; hostile text
	Doubts    []string `json:"doubts"`           // why a person is asked, a sentence each
}

// SecretUse is a secret that a server wants to use towards hosts.
type SecretUse struct {
	Secret string   `json:"secret"`
	Hosts  []string `json:"hosts"`
	// Agent is set where the secret is a key of the person's own ssh agent; Secret is its fingerprint then.
	Agent *AgentUse `json:"agent,omitempty"`
}

// AgentUse is one signature that a server wants of the person's ssh agent, to sign in at a host.
type AgentUse struct {
	User    string `json:"user"`    // as whom; the server's own word
	Comment string `json:"comment"` // of the key, in the person's agent
	HostKey string `json:"host_key"`
}
