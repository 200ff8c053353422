package sqlite

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// The bodies of the events that this package writes itself. Members are added, never renamed or
// given another meaning: old logs are read for ever. Times are RFC 3339, durations microseconds.

type wireCall struct {
	ID            approvals.CallID      `json:"id"`
	At            time.Time             `json:"at"`
	Session       approvals.SessionID   `json:"session"`
	UID           int                   `json:"uid"`
	Client        string                `json:"client"`
	Token         string                `json:"token,omitempty"` // of the principal
	Label         string                `json:"label,omitempty"`
	Server        sandbox.ServerName    `json:"server"`
	Spec          sandbox.Digest        `json:"spec,omitempty"`
	Instance      sandbox.InstanceID    `json:"sandbox,omitempty"`
	Workspace     sandbox.WorkspaceID   `json:"workspace,omitempty"`
	Mode          sandbox.WorkspaceMode `json:"mode,omitempty"`
	Tool          string                `json:"tool"`
	Pin           sandbox.Digest        `json:"pin,omitempty"`
	Class         approvals.Class       `json:"class"`
	ClassWhy      string                `json:"class_why,omitempty"`
	Sentence      string                `json:"sentence,omitempty"`
	Arguments     jsontext.Value        `json:"arguments,omitempty"` // redacted and bounded
	ArgumentsSize int                   `json:"arguments_size"`      // bytes, as sent
	Input         jsontext.Value        `json:"input,omitempty"`     // answers to the server's own question, redacted and bounded
	Sensitive     string                `json:"sensitive,omitempty"`
	External      bool                  `json:"external,omitempty"`
	Traceparent   string                `json:"traceparent,omitempty"`
	Continues     approvals.CallID      `json:"continues,omitempty"` // the interrupted call that this one takes up
}

type wireDecision struct {
	Effect  approvals.Effect    `json:"effect"`
	Class   approvals.Class     `json:"class"`
	Rule    string              `json:"rule"`
	Reason  string              `json:"reason"`
	Request approvals.RequestID `json:"request,omitempty"`
	Outcome approvals.Outcome   `json:"outcome,omitempty"`
	By      string              `json:"by,omitempty"`
	Waited  int64               `json:"waited_us,omitempty"`
	Grants  approvals.GrantIDs  `json:"grants,omitempty"`
	Collect bool                `json:"collect,omitempty"`
}

// wireDecided is the body of call.decided.
type wireDecided struct {
	Call     wireCall     `json:"call"`
	Decision wireDecision `json:"decision"`
}

// wireFinished is the body of call.finished.
type wireFinished struct {
	Call     wireCall     `json:"call"`
	Decision wireDecision `json:"decision"`
	wireEnd
}

// wireEnd is what the end of a call adds to its decision.
type wireEnd struct {
	Outcome      store.CallOutcome  `json:"outcome"`
	Error        string             `json:"error,omitempty"`
	Duration     int64              `json:"duration_us"`
	ResultDigest sandbox.Digest     `json:"result_digest,omitempty"`
	ResultSize   int64              `json:"result_size"`
	Changes      []sandbox.Change   `json:"changes,omitempty"`
	Hosts        []string           `json:"hosts,omitempty"`
	Secrets      []string           `json:"secrets,omitempty"`
	Commands     []string           `json:"commands,omitempty"`
	Kept         []string           `json:"artifacts,omitempty"` // paths on the host
	Shared       []approvals.CallID `json:"shared,omitempty"`
	Findings     []string           `json:"findings,omitempty"`
}

// wireAsked is the body of approval.asked.
type wireAsked struct {
	Request approvals.RequestID `json:"request"`
	Binding sandbox.Digest      `json:"binding"`
	Asked   time.Time           `json:"asked"`
	Expires time.Time           `json:"expires"`
	Why     wireDecision        `json:"why"`
	Call    wireCall            `json:"call"`
	Kind    approvals.Kind      `json:"kind,omitempty"`
	Subject approvals.Subject   `json:"subject,omitzero"`
}

// wireAnswered is the body of approval.answered.
type wireAnswered struct {
	Request approvals.RequestID `json:"request"`
	Binding sandbox.Digest      `json:"binding"`
	Outcome approvals.Outcome   `json:"outcome"`
	By      string              `json:"by,omitempty"`
	Waited  int64               `json:"waited_us"`
	Rule    string              `json:"rule,omitempty"` // that covered or overruled it
}

// wireDemoted is the body of tool.demoted.
type wireDemoted struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

// encode makes an event's body. Text that is no valid UTF-8 is kept as far as it is.
func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return b, nil
}

// decode reads an event's body, leaving out what this version does not know.
func decode(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	return nil
}

// toWire is c with its arguments redacted and at most limit bytes of them.
func (s *Store) toWire(c approvals.Call, limit int) wireCall {
	return wireCall{
		ID: c.ID, At: c.At.UTC(), Session: c.Session, UID: c.Principal.UID, Client: c.Principal.Client, Token: c.Principal.Token,
		Label: clip(c.Label), Server: c.Server, Spec: c.Spec, Instance: c.Instance, Workspace: c.Workspace,
		Mode: c.Mode, Tool: clip(c.Tool), Pin: c.Pin, Class: c.Class, ClassWhy: clip(c.ClassWhy),
		Sentence: s.text(c.Sentence), Arguments: s.arguments(c.Arguments, limit), ArgumentsSize: len(c.Arguments), Continues: c.Continues,
		Input:     s.arguments(c.Input, limit),
		Sensitive: clip(c.Sensitive), External: c.External, Traceparent: c.Traceparent,
	}
}

func (w wireCall) call() approvals.Call {
	return approvals.Call{
		ID: w.ID, At: w.At, Session: w.Session, Principal: approvals.Principal{UID: w.UID, Client: w.Client, Token: w.Token},
		Label: w.Label, Server: w.Server, Spec: w.Spec, Instance: w.Instance, Workspace: w.Workspace,
		Mode: w.Mode, Tool: w.Tool, Pin: w.Pin, Class: w.Class, ClassWhy: w.ClassWhy,
		Sentence: w.Sentence, Arguments: w.Arguments, Continues: w.Continues, Input: w.Input,
		Sensitive: w.Sensitive, External: w.External, Traceparent: w.Traceparent,
	}
}

func toWireDecision(d approvals.Decision) wireDecision {
	return wireDecision{
		Effect: d.Effect, Class: d.Class, Rule: d.Rule, Reason: clip(d.Reason),
		Request: d.Request, Outcome: d.Outcome, By: d.By, Waited: d.Waited.Microseconds(),
		Grants: d.Grants, Collect: d.Collect,
	}
}

func (w wireDecision) decision() approvals.Decision {
	return approvals.Decision{
		Effect: w.Effect, Class: w.Class, Rule: w.Rule, Reason: w.Reason,
		Request: w.Request, Outcome: w.Outcome, By: w.By, Waited: time.Duration(w.Waited) * time.Microsecond,
		Grants: w.Grants, Collect: w.Collect,
	}
}

// Bounds of what one event keeps.
const (
	maxText    = 4 << 10 // bytes of one text
	maxChanges = 500     // changed paths, ids or findings
)

// text is a text that may tell of a call's arguments, redacted as they are and bounded.
func (s *Store) text(t string) string {
	if t == "" {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, s.redact(quote(t)))
	if err != nil {
		return masked
	}
	return clip(string(b))
}

// clip bounds a text, and says how much it left out.
func clip(s string) string { return cut(s, maxText) }

// most is at most n of list.
func most[T any](list []T, n int) []T { return list[:min(len(list), n)] }
