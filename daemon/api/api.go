// Package api is the contract between the daemon and everything a person touches: the command
// line, the tray, the window and the page. It has wire types and a Client, and imports nothing of ours.
//
// Routes (served by daemon/httpapi on the user's unix socket and, for the page, on loopback):
//
//	GET    /api/v1/status                         Status
//	GET    /api/v1/doctor                         Doctor
//	GET    /api/v1/events?since=SEQ               WebSocket of Event, resumed by cursor
//	GET    /api/v1/calls?before=&limit=&server=   CallPage, newest first
//	GET    /api/v1/calls/{id}                     Call, with arguments
//	GET    /api/v1/approvals?wait=30s             []Approval that wait for a person (wait: until there is one)
//	GET    /api/v1/approvals/{id}                 Approval
//	POST   /api/v1/approvals/{id}                 Answer → Approval
//	POST   /api/v1/approvals/{id}/preview         Permit → Offer: what a yes that reaches so far would cover
//	GET    /api/v1/approval-groups                []ApprovalGroup that can be answered together
//	POST   /api/v1/approval-answers               GroupAnswer → []Approval
//	GET    /api/v1/expired-approvals              []Approval that nobody answered and nobody has seen since
//	POST   /api/v1/expired-approvals              SeenApprovals
//	GET    /api/v1/grants?all=true                []Grant in force, or all of them, oldest first
//	DELETE /api/v1/grants/{id}                    revoke it
//	GET    /api/v1/servers                        []Server
//	GET    /api/v1/servers/{name}                 Server
//	GET    /api/v1/servers/{name}/log?after=&wait=   ServerLog; wait: until there is a line behind after
//	DELETE /api/v1/servers/{name}                 remove it
//	GET    /api/v1/servers/{name}/pins            Pins: what it shows of itself, and how that stands
//	POST   /api/v1/servers/{name}/pins            PinAnswer → Pins: accept or refuse what is held back
//	GET    /api/v1/servers/{name}/network         Network: what it may reach, reaches and was refused
//	POST   /api/v1/servers/{name}/network         NetworkChange → Network: allow it a host, or take one back
//	GET    /api/v1/observations                   []ObservationSummary: what is watched, and what waits to be accepted
//	GET    /api/v1/servers/{name}/observation?after=&wait=   Observation; wait: until it is beyond after
//	POST   /api/v1/servers/{name}/observation     ObserveRequest → Observation: watch what it does, and ask about everything
//	POST   /api/v1/servers/{name}/observation/end      Observation: what was seen, and the least it needs
//	POST   /api/v1/servers/{name}/observation/mounts   MountChoice → Observation: have these in the proposal
//	POST   /api/v1/servers/{name}/observation/accept   LeastAnswer → Observation: from now on it has what was proposed
//	DELETE /api/v1/servers/{name}/observation     forget it; nothing changes
//	POST   /api/v1/servers/{name}/update          Update: what would change; nothing does yet
//	POST   /api/v1/servers/{name}/update/accept   UpdateAnswer → Update: run from what was shown
//	POST   /api/v1/servers/{name}/start           have it ready to start: installed, and no longer held back
//	POST   /api/v1/servers/{name}/stop            stop its instances
//	POST   /api/v1/servers/{name}/restart         stop its instances; the next call starts it, failures forgotten
//	POST   /api/v1/servers/{name}/freeze          its processes stand still until something is sent to it
//	POST   /api/v1/servers/{name}/thaw            they go on
//	GET    /api/v1/sessions                       []Session, running and lately ended, newest first
//	GET    /api/v1/sessions/{id}/trace?after=&wait=   Trace; wait: until there is a message behind after
//	GET    /api/v1/tracing                        Tracing
//	POST   /api/v1/tracing                        Tracing → Tracing: switch it on or off (unix socket only)
//	GET    /api/v1/tokens                         []Token, newest first
//	POST   /api/v1/tokens                         NewToken → CreatedToken, its secret this once (unix socket only)
//	DELETE /api/v1/tokens/{id}                    revoke it
//	GET    /api/v1/secrets                        Secrets: what is stored or wanted, who may use it, and what holds the key
//	POST   /api/v1/secrets                        SecretSet → Secret: store one; a command only on the unix socket
//	DELETE /api/v1/secrets/{name}                 forget it and its grants
//	POST   /api/v1/secrets/{name}/grants          SecretGrant → Secret: let a server use it
//	POST   /api/v1/secrets/{name}/grants/proposal  SecretGrant → SecretGrant: the same, completed by what is known of the server; grants nothing
//	DELETE /api/v1/secrets/{name}/grants/{server}   → Secret: take it from a server
//	GET    /api/v1/secrets/{name}/uses?since=     []SecretUsed, the latest first
//	POST   /api/v1/secrets/{name}/rotate?since=&forget_grants=   SecretRotation: take it from everybody, and tell what it was used for
//	POST   /api/v1/secrets/keeper                 KeeperOpen → Keeper: unlock, or make, the file that holds the key
//	GET    /api/v1/workspaces                     []Workspace
//	GET    /api/v1/workspaces/{server}/diff?agent=   WorkspaceDiff
//	POST   /api/v1/workspaces/{server}/apply      ApplyRequest → ApplyResult
//	POST   /api/v1/workspaces/{server}/discard    ApplyRequest → ApplyResult
//	POST   /api/v1/imports                        ImportRequest → ImportPlan (dry run or done; unix socket only)
//	POST   /api/v1/restores                       RestoreRequest → []Restored (unix socket only)
//	GET    /api/v1/policy                         Policy: the person's rules in force, and what is wrong with the file
//	POST   /api/v1/policy/explain                 ExplainRequest → Explanation: which rule decides about a call, and why
//	POST   /api/v1/policy/replay                  ReplayRequest → Replay: what a policy would have done with recorded calls
//	GET    /api/v1/policy/project?dir=            ProjectPolicy: the policy in a folder's files
//	POST   /api/v1/policy/project                 AcceptPolicy → ProjectPolicy: accept it, or take that back
//	GET    /api/v1/audit?after=&limit=&call=&session=&since=  []AuditEvent, oldest first; after < 0 counts from the end
//	POST   /api/v1/audit/verify                   Verification
//	POST   /api/v1/browser-sessions               BrowserSession: the one-time link (unix socket only)
//	POST   /api/v1/browser-sessions/claim         Claim → Claimed + cookie (loopback only)
//	DELETE /api/v1/browser-sessions               the browser signs out: its session and cookie end (loopback only)
//	POST   /api/v1/shutdown                       (unix socket only)
//	GET    /api/v1/attach                         Upgrade: garita-stdio; one MCP client's stdio (unix socket only)
//	POST   /api/v1/tool-calls                     ToolCall → ToolResult: call one tool as a client (unix socket only)
//	POST   /api/v1/hooks                          HookSettings → HookPlan: a client's hooks, put in or taken out (unix socket only)
//	POST   /api/v1/hooks/before                   HookCall → HookDecision: whether a client's own tool may be used (unix socket only)
//	POST   /api/v1/hooks/after                    HookResult: how that ended (unix socket only)
//
// Errors are Problem bodies. Times are RFC 3339; durations are milliseconds as numbers; sizes are bytes.
package api

import (
	"encoding/json"
	"time"
)

// Problem is every error answer: what, why and what to do next.
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`           // not_found | invalid | denied | precondition | conflict | unavailable | internal
	Title  string `json:"title"`          // what went wrong, one sentence
	Detail string `json:"detail"`         // why, and where
	Next   string `json:"next,omitempty"` // what to do about it, often a command
}

// Error makes a Problem an error a person can read.
func (p *Problem) Error() string {
	s := p.Title
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	if p.Next != "" {
		s += "\n  " + p.Next
	}
	return s
}

// Status is the state of the system in one honest line and a few numbers.
type Status struct {
	Version    string    `json:"version"`
	Started    time.Time `json:"started"`
	PID        int       `json:"pid"`
	Sentence   string    `json:"sentence"` // "Everything is running", or what is not
	OK         bool      `json:"ok"`
	Engine     string    `json:"engine"` // starting | ready | failed
	EngineErr  string    `json:"engine_error,omitempty"`
	Rootless   bool      `json:"rootless"`
	Warnings   []string  `json:"warnings"` // run as root; limits not in force; signing key in a file
	Servers    int       `json:"servers"`
	Running    int       `json:"running"` // instances
	Waiting    int       `json:"waiting"` // approvals
	Page       string    `json:"page"`    // http://127.0.0.1:PORT, "" when the page is off
	Door       string    `json:"door"`    // http://127.0.0.1:PORT/mcp, for clients with a token; "" when it is shut
	Home       string    `json:"home"`    // where state is kept
	CallsToday int       `json:"calls_today"`
	Prompts    Prompts   `json:"prompts"`
}

// Doctor is what this machine can and cannot do for us.
type Doctor struct {
	Checks []Check `json:"checks"`
}

// Check is one state of the machine, what follows from it, and what mends it.
type Check struct {
	Name        string `json:"name"`        // "user namespaces"
	State       string `json:"state"`       // ok | warn | fail
	Found       string `json:"found"`       // what is so
	Consequence string `json:"consequence"` // what follows; "" when ok
	Mend        string `json:"mend"`        // a command or step; "" when nothing is to be done
}

// Event says that something changed; readers fetch it anew. Kind reset: everything may have.
type Event struct {
	Seq  int64  `json:"seq"`
	Kind string `json:"kind"` // call | approval | grant | server | session | secret | network | observation | workspace | policy | status | progress | reset
	ID   string `json:"id"`   // of what changed
	// Progress is set for kind progress: long work under way, by ID.
	Progress *Progress `json:"progress,omitempty"`
}

// Progress is one step of long work. Done of Total; both 0 when unknown. Final ends it.
type Progress struct {
	Server  string `json:"server"`
	Step    string `json:"step"`
	Message string `json:"message"`
	Done    int64  `json:"done"`
	Total   int64  `json:"total"`
	Final   bool   `json:"final"`
	Failed  bool   `json:"failed"`
}

// Call is one tools/call: what it was, what was decided and why, and what came of it.
type Call struct {
	ID           string          `json:"id"`
	At           time.Time       `json:"at"`
	Agent        string          `json:"agent"` // the client id, for people: "claude-desktop"
	Principal    string          `json:"principal"`
	Session      string          `json:"session"`
	Sandbox      string          `json:"sandbox"`
	Workspace    string          `json:"workspace"`
	Server       string          `json:"server"`
	Tool         string          `json:"tool"`
	Sentence     string          `json:"sentence"` // "change src/a.ts"
	Class        string          `json:"class"`    // read | write | destroy | execute
	ClassWhy     string          `json:"class_why"`
	Effect       string          `json:"effect"` // allow | deny | ask (while it waits)
	Rule         string          `json:"rule"`
	Reason       string          `json:"reason"`
	Approval     string          `json:"approval,omitempty"` // the question's id, when there was one
	Answer       string          `json:"answer,omitempty"`   // pending | approved | denied | expired | withdrawn | covered | overruled
	By           string          `json:"by,omitempty"`
	Outcome      string          `json:"outcome"` // waiting | running | done | failed | refused | withheld | unknown
	Error        string          `json:"error,omitempty"`
	DurationMS   float64         `json:"duration_ms"` // in the server, without the waiting
	WaitedMS     float64         `json:"waited_ms"`
	ResultSize   int64           `json:"result_size"`
	ResultDigest string          `json:"result_digest,omitempty"`
	Changes      []Change        `json:"changes"`
	Findings     []string        `json:"findings"`
	Commands     []string        `json:"commands,omitempty"`  // that were executed while it ran, where rules or a person watch them
	Arguments    json.RawMessage `json:"arguments,omitempty"` // redacted; only in GET /calls/{id}
	Input        json.RawMessage `json:"input,omitempty"`     // likewise: its answers to what the server asked in the middle of the call (inputResponses, requestState)
}

// CallPage is a page of calls, newest first. Next is the `before` of the following page, "" at the end.
type CallPage struct {
	Calls []Call `json:"calls"`
	Next  string `json:"next"`
}

// Change is one path a call or a workspace changed.
type Change struct {
	Folder string `json:"folder"`
	Path   string `json:"path"`
	Kind   string `json:"kind"` // added | modified | deleted
	Type   string `json:"type"` // file | dir | symlink | other
	Size   int64  `json:"size"`
	Held   string `json:"held,omitempty"`
	Stale  bool   `json:"stale,omitempty"`
}

// Approval is a question to a person.
type Approval struct {
	ID       string     `json:"id"`
	Binding  string     `json:"binding"` // send it back with the answer: it proves what was seen
	State    string     `json:"state"`   // pending | approved | denied | expired | withdrawn | covered (by Rule) | overruled (by Rule)
	Asked    time.Time  `json:"asked"`
	Expires  time.Time  `json:"expires"`
	Answered *time.Time `json:"answered,omitempty"`
	By       string     `json:"by,omitempty"`
	Call     Call       `json:"call"`           // with the full arguments
	Title    string     `json:"title"`          // "claude-desktop wants to change one file"
	Object   string     `json:"object"`         // what it is about, in monospace: a path, a command
	Stays    string     `json:"stays"`          // where the effect stays: "It stays in the agent's workspace until you apply it."
	Diff     *FileDiff  `json:"diff,omitempty"` // for writes whose result can be foreseen
	Findings []Finding  `json:"findings"`       // what to look at before a yes; hostile text
	Before   string     `json:"before"`         // what this server did before: "14 writes, 13 approved"
	Reaches  string     `json:"reaches"`        // "no host, no secret"
	Kind     string     `json:"kind"`           // call | command | tool | apply | network | install | secret
	Rule     string     `json:"rule,omitempty"` // what covered or overruled it
	Group    string     `json:"group,omitempty"`
	Offers   []Offer    `json:"offers"` // how far a yes may reach, the narrowest first: the first is once; only in GET /approvals/{id}, while it waits

	Tool    *ToolChange    `json:"tool,omitempty"` // by kind, as those below; Call then only says who and which server
	Apply   *Application   `json:"apply,omitempty"`
	Network *NetworkAccess `json:"network,omitempty"`
	Install *Installation  `json:"install,omitempty"`
	Secret  *SecretUse     `json:"secret,omitempty"`
	Exec    *Execution     `json:"exec,omitempty"` // of kind command, where no tool call is asked about but a program that a server wants to execute
}

// Execution is a program that a server wants to execute. Texts are its own words, bounded and made visible.
type Execution struct {
	Line   string `json:"line"`             // "git push origin main"
	Path   string `json:"path,omitempty"`   // the file, as inside; "" for one in memory
	Dir    string `json:"dir,omitempty"`    // that it would run in
	Script string `json:"script,omitempty"` // of a script: how it is run, "/usr/bin/env node /srv/x.js"
	Call   string `json:"call,omitempty"`   // the call it happened in, where that is one
}

// Finding is one thing about a question that a person should look at before saying yes.
type Finding struct {
	Kind string `json:"kind"` // doubt (the agent was given a result that reads like instructions) | sensitive | arguments (credential-like, or very large) | package (why one is asked about)
	Text string `json:"text"` // one sentence
}

// Answer is a person's reply.
type Answer struct {
	Permit
	Approve bool   `json:"approve"`
	Binding string `json:"binding"`        // required: of the Approval that was shown
	Code    string `json:"code,omitempty"` // typed at a terminal
	TTY     bool   `json:"tty,omitempty"`  // the answer was typed at a real terminal
}

// Server is one configured server and what runs of it.
type Server struct {
	Name      string     `json:"name"`
	Command   []string   `json:"command"`
	Image     string     `json:"image,omitempty"`
	URL       string     `json:"url,omitempty"` // of a server that runs elsewhere
	State     string     `json:"state"`         // stopped | starting | ready | frozen | stopping | failed
	Reason    string     `json:"reason,omitempty"`
	Package   string     `json:"package,omitempty"` // "@scope/name@1.2.3 sha512-…", from garita.lock
	Workspace string     `json:"workspace"`         // snapshot | read-only | direct | none
	Folders   []string   `json:"folders"`
	Clients   []string   `json:"clients"` // settings files that point here
	Limits    []Limit    `json:"limits"`  // in force now, or as they will be
	Notices   []string   `json:"notices"`
	Instances []Instance `json:"instances"`
	Tools     []Tool     `json:"tools"`
	Variables []string   `json:"variables,omitempty"` // that the server sees, by name; secrets say so
	Exec      *ExecRules `json:"exec,omitempty"`      // what it may execute; without rules it is whatever it wants
	// Observed says that a person watches it (observing), or that a proposal of that waits (ended).
	Observed string    `json:"observed,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
}

// ExecRules are patterns of command lines. Deny is stronger than ask, and ask than allow; what none of
// them has is denied.
type ExecRules struct {
	Allow []string `json:"allow"`
	Ask   []string `json:"ask"`
	Deny  []string `json:"deny"`
}

// Limit is one limit that really holds.
type Limit struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	By    string `json:"by"`
}

// Tool is one tool as the server listed it, and what it is taken to do.
type Tool struct {
	Name    string `json:"name"`
	Class   string `json:"class"`
	Demoted string `json:"demoted,omitempty"` // why it may no longer pass as a read
}

// Instance is one running sandbox.
type Instance struct {
	ID      string    `json:"id"`
	Session string    `json:"session"`
	Agent   string    `json:"agent"`
	State   string    `json:"state"`
	Started time.Time `json:"started"`
	Limits  []Limit   `json:"limits"`
}

// ServerLog is the last stderr lines of a server's sandboxes; hostile text.
type ServerLog struct {
	Lines   []string `json:"lines"`
	Next    int64    `json:"next"`    // the after of what follows
	Skipped int64    `json:"skipped"` // lines between after and here that were let go: too many came
}

// Session is one client attached to a server, or to several.
type Session struct {
	ID      string     `json:"id"`
	Agent   string     `json:"agent"`
	Server  string     `json:"server"` // "" for the door to all of them
	Door    string     `json:"door"`   // stdio | http | call
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended,omitempty"`
}

// Tracing says whether messages are kept for GET /sessions/{id}/trace. Off, nothing is kept.
type Tracing struct {
	On bool `json:"on"`
}

// Trace is the last messages of one session, oldest first.
type Trace struct {
	On      bool           `json:"on"`
	Session Session        `json:"session"`
	Lines   []TraceMessage `json:"lines"`
	Next    int64          `json:"next"` // the after of what follows
}

// TraceMessage is one message as it passed; hostile text, redacted.
type TraceMessage struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Dir  string    `json:"dir"`  // from-client | to-client | from-server | to-server
	Size int       `json:"size"` // of the message as it was
	Text string    `json:"text"` // its beginning; "" where it was too long to be redacted
}

// Token is a bearer token for the HTTP door, without what it could be used with.
type Token struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Servers  []string   `json:"servers"`
	Tools    []string   `json:"tools"` // patterns; none means every tool
	State    string     `json:"state"` // valid | expired | revoked
	Created  time.Time  `json:"created"`
	Expires  *time.Time `json:"expires,omitempty"`
	LastUsed *time.Time `json:"last_used,omitempty"`
	Revoked  *time.Time `json:"revoked,omitempty"`
}

// NewToken asks for a token. Expires nil means never.
type NewToken struct {
	Name    string     `json:"name"`
	Servers []string   `json:"servers"` // at least one, all of them configured
	Tools   []string   `json:"tools,omitempty"`
	Expires *time.Time `json:"expires,omitempty"`
}

// CreatedToken is a token with its secret, which is shown this once and kept nowhere.
type CreatedToken struct {
	Token  Token  `json:"token"`
	Secret string `json:"secret"`
	URL    string `json:"url"` // of the door it is for; "" when the door is shut
}

// Workspace is one agent's overlay of one server's folders.
type Workspace struct {
	ID      string   `json:"id"`
	Server  string   `json:"server"`
	Agent   string   `json:"agent"`
	Folders []string `json:"folders"`
	Added   int      `json:"added"`
	Changed int      `json:"changed"`
	Deleted int      `json:"deleted"`
	Held    int      `json:"held"`
}

// WorkspaceDiff is everything that differs from the host.
type WorkspaceDiff struct {
	Workspace Workspace  `json:"workspace"`
	Files     []FileDiff `json:"files"`
	Seen      string     `json:"seen"` // send it back with an ApplyRequest: what changes after it is left out
}

// FileDiff is one change and its unified diff; Note says why there is none.
type FileDiff struct {
	Change
	Unified string `json:"unified"`
	Note    string `json:"note,omitempty"`
}

// ApplyRequest chooses what to apply or discard. No Paths means everything that is not held.
type ApplyRequest struct {
	Agent string   `json:"agent,omitempty"`
	Paths []string `json:"paths,omitempty"` // relative to their folder, or absolute
	Seen  string   `json:"seen,omitempty"`  // of the WorkspaceDiff that was shown; "" binds to nothing
}

// ApplyResult says what was done and what was left out, and why (Held or Stale).
type ApplyResult struct {
	Done []Change `json:"done"`
	Left []Change `json:"left"`
}

// ImportRequest names a client or a file. DryRun only plans; Rewire also repoints the client.
type ImportRequest struct {
	From   string `json:"from"` // "claude-desktop" or an absolute path
	DryRun bool   `json:"dry_run"`
	Rewire bool   `json:"rewire"`
	Garita string `json:"garita"` // absolute path of the garita binary the client shall run
	// Add is one server by its command line, instead of those of a client; there is nothing to rewire.
	Add *NewServer `json:"add,omitempty"`
}

// NewServer is a server as one would run it.
type NewServer struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Dir     string   `json:"dir"` // absolute; what relative paths in the command are relative to
}

// ImportPlan is what an import found, grants and did.
type ImportPlan struct {
	File    string         `json:"file"`
	Client  string         `json:"client"`
	Servers []ImportServer `json:"servers"`
	Notices []string       `json:"notices"`
	Done    bool           `json:"done"`
	Rewired bool           `json:"rewired"`
	Backup  string         `json:"backup,omitempty"`
}

// ImportServer is one entry of a client's settings.
type ImportServer struct {
	Name     string   `json:"name"`  // ours
	Entry    string   `json:"entry"` // the client's
	Command  []string `json:"command"`
	Grants   []string `json:"grants"`            // sentences: "read and write in a snapshot of /home/ana/shop"
	Warnings []string `json:"warnings"`          // dropped variables, secrets found, whole home asked for …
	Skipped  string   `json:"skipped,omitempty"` // why it is not imported
}

// RestoreRequest puts a client's settings back; Client "" means all.
type RestoreRequest struct {
	Client string `json:"client"`
}

// Restored is one settings file put back, or why it was not.
type Restored struct {
	File   string `json:"file"`
	Client string `json:"client"`
	Done   bool   `json:"done"`
	Note   string `json:"note,omitempty"`
}

// AuditEvent is one line of the record.
type AuditEvent struct {
	Seq       int64           `json:"seq"`
	At        time.Time       `json:"at"`
	Kind      string          `json:"kind"`
	Principal string          `json:"principal"`
	Session   string          `json:"session"`
	Server    string          `json:"server"`
	Call      string          `json:"call"`
	Body      json.RawMessage `json:"body"`
	Hash      string          `json:"hash"`
}

// Verification is what checking the whole record found.
type Verification struct {
	OK      bool   `json:"ok"`
	Records int64  `json:"records"`
	Bad     int64  `json:"bad"`
	Problem string `json:"problem"`
	Notice  string `json:"notice"`
	// Dropped is what is not there any more, rightly; nil when that is nothing.
	Dropped *DroppedRecord `json:"dropped,omitempty"`
}

// BrowserSession is a one-time link to the page, http://127.0.0.1:PORT/#token=TOKEN. It lives 60 s.
type BrowserSession struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires"`
}

// Claim trades a link's token for a session.
type Claim struct {
	Token string `json:"token"`
}

// Claimed carries the second token, kept per port in localStorage and sent as the header
// X-Garita-Token, or as the WebSocket subprotocol "garita.token." + it.
type Claimed struct {
	Token string `json:"token"`
}

// Attach opens a session for an MCP client; it travels as the query of GET /attach.
type Attach struct {
	Server    string   `json:"server"`    // a configured server, or
	Command   []string `json:"command"`   // a command to sandbox now (garita run)
	Client    string   `json:"client"`    // --client ID
	Agent     string   `json:"agent"`     // --agent: which workspace
	Workspace []string `json:"workspace"` // --workspace DIR, for Command
	Dir       string   `json:"dir"`       // what Command's relative paths are relative to; absolute or ""
	Mode      string   `json:"mode"`      // snapshot | read-only | direct | none, for Command
	PID       int      `json:"pid"`       // of the attached client (the caller's parent past launchers)

	Handover bool `json:"-"` // AttachStdio: the client's own stdin and stdout follow, for Stdio.TakeOver
}

// ToolCall calls one tool as a client.
type ToolCall struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// ToolResult is the tool's result as the server gave it, cleaned; or the error.
type ToolResult struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
	Denied bool            `json:"denied"` // refused by policy or person: exit code 3
}
