package api

import (
	"context"
	"encoding/json"
	"net/url"
	"time"
)

// Policy is the person's rules about calls as they are in force, and what is wrong with the file.
type Policy struct {
	File  string `json:"file"`  // path of policy.yaml
	State string `json:"state"` // none (no file) | ok | refused (the file is wrong, the rules before it stay) | fallback (wrong, and nothing was in force before: reads ask too)
	// Digest is of the file whose rules are in force, "" for none; Since is when they came into force.
	Digest   string          `json:"digest"`
	Since    time.Time       `json:"since"`
	Problems []PolicyProblem `json:"problems"` // why the file as it stands is refused
	Warnings []PolicyWarning `json:"warnings"` // about rules in force
	Rules    []PolicyRule    `json:"rules"`    // in order: the first that matches decides
	Default  []string        `json:"default"`  // what decides where none matches, in sentences
	Projects []ProjectPolicy `json:"projects"` // policies found in folders, and those accepted
}

// PolicyProblem is one thing that is wrong with a policy file.
type PolicyProblem struct {
	File string `json:"file"`
	Line int    `json:"line"` // 0 when it is about the whole file
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	Next string `json:"next,omitempty"`
}

// PolicyWarning is something about a rule that may not be meant.
type PolicyWarning struct {
	Origin string `json:"origin"` // policy.yaml:12
	Text   string `json:"text"`
}

// PolicyRule is one rule. Lists that are empty match everything.
type PolicyRule struct {
	Name       string   `json:"name"`
	Origin     string   `json:"origin"` // policy.yaml:12
	Effect     string   `json:"effect"` // allow | ask | deny
	Words      string   `json:"words"`  // the rule in one sentence
	Reason     string   `json:"reason"` // the person's own
	Agents     []string `json:"agents"`
	Servers    []string `json:"servers"`
	Tools      []string `json:"tools"`
	Classes    []string `json:"classes"`
	Workspace  []string `json:"workspace"`
	Sensitive  *bool    `json:"sensitive,omitempty"`
	When       string   `json:"when"` // the condition; "" for none
	CoversRisk bool     `json:"covers_risk"`
}

// PolicyCheck is what is to be said about a policy file that need not be in force.
type PolicyCheck struct {
	File     string          `json:"file"`
	OK       bool            `json:"ok"`
	Rules    []PolicyRule    `json:"rules"`
	Problems []PolicyProblem `json:"problems"`
	Warnings []PolicyWarning `json:"warnings"`
}

// ProjectPolicy is the policy in a folder's files, .garita/policy.yaml. It has no effect until a
// person accepts it, by its digest, and then makes calls of servers that are given the folder stricter.
type ProjectPolicy struct {
	Dir      string          `json:"dir"`
	File     string          `json:"file"`
	State    string          `json:"state"`              // new | accepted | changed (the accepted one stays in force) | gone (likewise) | invalid
	Digest   string          `json:"digest"`             // of the file as it stands; send it back to accept exactly this
	Accepted string          `json:"accepted,omitempty"` // digest of what is in force
	At       *time.Time      `json:"at,omitempty"`       // when that was accepted
	By       string          `json:"by,omitempty"`       // who accepted it
	Allows   bool            `json:"allows"`             // its rules that allow were accepted too
	Narrows  []PolicyRule    `json:"narrows"`            // of the file as it stands: rules that ask and deny
	Widens   []PolicyRule    `json:"widens"`             // rules that allow: without effect unless accepted by name
	Lost     []PolicyRule    `json:"lost"`               // accepted rules that would be gone
	Servers  []string        `json:"servers"`            // that are given this folder, or a part of it
	Problems []PolicyProblem `json:"problems"`
}

// AcceptPolicy accepts a folder's policy, or with Remove takes that back.
type AcceptPolicy struct {
	Dir    string `json:"dir"`
	Digest string `json:"digest"`           // of the ProjectPolicy that was shown (with remove: its accepted one)
	Allows bool   `json:"allows,omitempty"` // also the rules that allow
	Remove bool   `json:"remove,omitempty"`
	Code   string `json:"code,omitempty"` // typed at a terminal: AnswerCode of the digest
	TTY    bool   `json:"tty,omitempty"`
}

// ExplainRequest names a recorded call, or a server and a tool with arguments to try.
type ExplainRequest struct {
	Call      string          `json:"call,omitempty"`
	Server    string          `json:"server,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Agent     string          `json:"agent,omitempty"` // the client's id; "" is the command line
}

// Explanation is why a call is decided as it is, now.
type Explanation struct {
	Server    string      `json:"server"`
	Tool      string      `json:"tool"`
	Agent     string      `json:"agent"`
	Class     string      `json:"class"`
	ClassWhy  string      `json:"class_why"`
	Sensitive string      `json:"sensitive"` // why; "" when it is not
	Effect    string      `json:"effect"`    // allow | ask | deny
	Decided   string      `json:"decided"`   // the rule, default rule or permission that decides
	Reason    string      `json:"reason"`
	Rule      *PolicyRule `json:"rule,omitempty"` // of the policy that matched, even if something stronger decides
	Near      []NearRule  `json:"near"`           // rules that came near
	Notes     []string    `json:"notes"`          // what the answer rests on: arguments were recorded redacted, the server has not been seen …
	Was       *Call       `json:"was,omitempty"`  // the recorded call, as it was decided then
}

// NearRule is a rule that did not decide, and why.
type NearRule struct {
	Rule PolicyRule `json:"rule"`
	Why  string     `json:"why"`
}

// ReplayRequest asks what a policy would have done with recorded calls.
type ReplayRequest struct {
	File  string    `json:"file,omitempty"` // what Text is called in answers
	Text  *string   `json:"text,omitempty"` // the policy file to try; nil is the one in force
	Since time.Time `json:"since"`
}

// Replay is what would have differed. Arguments are recorded redacted and bounded: calls about which
// that matters are counted in Unsure and marked.
type Replay struct {
	Since   time.Time      `json:"since"`
	Calls   int            `json:"calls"`
	Same    int            `json:"same"`
	Apart   int            `json:"apart"` // no policy was asked about these: a full queue, an unwritable record
	Unsure  int            `json:"unsure"`
	Counts  []ReplayCount  `json:"counts"`
	Changes []ReplayChange `json:"changes"` // the latest, at most 500
}

// ReplayCount is how many calls would go from one effect to another.
type ReplayCount struct {
	Was   string `json:"was"`
	Now   string `json:"now"`
	Calls int    `json:"calls"`
}

// ReplayChange is a call that would have been decided otherwise.
type ReplayChange struct {
	Call     string    `json:"call"`
	At       time.Time `json:"at"`
	Agent    string    `json:"agent"`
	Server   string    `json:"server"`
	Tool     string    `json:"tool"`
	Sentence string    `json:"sentence"`
	Was      string    `json:"was"` // allow | ask | deny, before anybody was asked
	WasBy    string    `json:"was_by"`
	Answer   string    `json:"answer,omitempty"` // what the person said, where one was asked
	Now      string    `json:"now"`
	NowBy    string    `json:"now_by"`
	Unsure   string    `json:"unsure,omitempty"`
}

// Policy asks for the rules in force.
func (c *Client) Policy(ctx context.Context) (Policy, error) {
	return get[Policy](ctx, c, "/api/v1/policy", nil)
}

// ExplainPolicy asks why a call is decided as it is.
func (c *Client) ExplainPolicy(ctx context.Context, r ExplainRequest) (Explanation, error) {
	return post[Explanation](ctx, c, "/api/v1/policy/explain", r)
}

// ReplayPolicy asks what a policy would have done with recorded calls.
func (c *Client) ReplayPolicy(ctx context.Context, r ReplayRequest) (Replay, error) {
	return post[Replay](ctx, c, "/api/v1/policy/replay", r)
}

// ProjectPolicy asks about the policy in a folder's files; dir is absolute.
func (c *Client) ProjectPolicy(ctx context.Context, dir string) (ProjectPolicy, error) {
	return get[ProjectPolicy](ctx, c, "/api/v1/policy/project", url.Values{"dir": {dir}})
}

// AcceptPolicy accepts a folder's policy, or takes that back.
func (c *Client) AcceptPolicy(ctx context.Context, a AcceptPolicy) (ProjectPolicy, error) {
	return post[ProjectPolicy](ctx, c, "/api/v1/policy/project", a)
}

// PolicyTest is what came of cases made up to try a policy.
type PolicyTest struct {
	Policy string       `json:"policy"` // path
	File   string       `json:"file"`   // of the cases
	OK     bool         `json:"ok"`
	Cases  []PolicyCase `json:"cases"`
}

// PolicyCase is one case, and whether it came out as expected.
type PolicyCase struct {
	Name   string `json:"name"`
	Line   int    `json:"line"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Class  string `json:"class"`
	Expect string `json:"expect"` // allow | ask | deny
	Got    string `json:"got"`
	By     string `json:"by"` // the rule that decided
	Reason string `json:"reason"`
	Wrong  string `json:"wrong"` // in words; "" when it is as expected
}
