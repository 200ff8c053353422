package api

import (
	"context"
	"encoding/json"
	"net/http"
)

// HookUse names one use of one of a client's own tools, as its hooks tell of it.
type HookUse struct {
	Client  string `json:"client"`  // "claude-code"
	PID     int    `json:"pid"`     // of the client (the caller's parent past launchers)
	Session string `json:"session"` // what the client calls its session
	Tool    string `json:"tool"`
	Use     string `json:"use"` // what the client calls this use; the same before and after it
}

// HookCall is a use that is about to be made.
type HookCall struct {
	HookUse
	Dir    string          `json:"dir"` // the client's working directory; absolute or ""
	Input  json.RawMessage `json:"input"`
	WaitMS int64           `json:"wait_ms"` // how long it may wait for a person
}

// HookDecision is what is decided about a HookCall.
type HookDecision struct {
	Decision string `json:"decision"` // allow | deny | none: nothing speaks against it, and the client's own rules decide
	Reason   string `json:"reason"`   // for the model and the person
	Rule     string `json:"rule"`
	Call     string `json:"call"` // its ID in the record; "" where it is recorded elsewhere
}

// HookResult is how a use ended.
type HookResult struct {
	HookUse
	Failed bool   `json:"failed"`
	Error  string `json:"error,omitempty"`
	Digest string `json:"digest,omitempty"` // of what it returned: "sha256:…"
	Size   int64  `json:"size"`             // bytes
}

// HookSettings asks for hooks in a client's settings file, or for them to be taken out.
type HookSettings struct {
	File   string     `json:"file"` // absolute; "" is the client's own
	DryRun bool       `json:"dry_run"`
	Hooks  []HookLine `json:"hooks,omitempty"` // to put in; none takes ours out
}

// HookLine is one hook.
type HookLine struct {
	Event   string `json:"event"`   // PreToolUse | PostToolUse | PostToolUseFailure
	Command string `json:"command"` // a shell line that runs garita
	Timeout int    `json:"timeout"` // seconds
}

// HookPlan is what is, or would be, changed in a settings file.
type HookPlan struct {
	File    string `json:"file"`
	Diff    string `json:"diff"` // unified; "" when nothing is to be changed
	Done    bool   `json:"done"`
	Backup  string `json:"backup,omitempty"`
	Note    string `json:"note,omitempty"`
	Created bool   `json:"created"` // the file was not there
}

// BeforeTool asks whether a client's own tool may be used, and waits for a person where one is asked.
func (c *Client) BeforeTool(ctx context.Context, h HookCall) (HookDecision, error) {
	return post[HookDecision](ctx, c, "/api/v1/hooks/before", h)
}

// AfterTool notes how that ended.
func (c *Client) AfterTool(ctx context.Context, h HookResult) error {
	return c.do(ctx, http.MethodPost, "/api/v1/hooks/after", nil, h, nil)
}

// SetHooks puts hooks into a client's settings, or takes ours out, or says what that would change.
func (c *Client) SetHooks(ctx context.Context, s HookSettings) (HookPlan, error) {
	return post[HookPlan](ctx, c, "/api/v1/hooks", s)
}
