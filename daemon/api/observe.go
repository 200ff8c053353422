package api

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Observation is what a server does while a person watches it, and afterwards the least that it needs.
type Observation struct {
	Server string `json:"server"`
	State  string `json:"state"` // none | observing | ended
	Seq    int64  `json:"seq"`   // grows with every change
	// Since is when it began, Until when it ends by itself, Ended when it has.
	Since *time.Time `json:"since,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	Ended *time.Time `json:"ended,omitempty"`
	Seen  []Observed `json:"seen"`  // the first first
	Notes []string   `json:"notes"` // sentences: what cannot be seen here
	// Proposal is there once it has ended.
	Proposal *LeastSpec `json:"proposal,omitempty"`
}

// ObservationSummary is one server that is watched, or whose proposal waits.
type ObservationSummary struct {
	Server  string     `json:"server"`
	State   string     `json:"state"` // observing | ended
	Since   time.Time  `json:"since"`
	Until   time.Time  `json:"until"`
	Ended   *time.Time `json:"ended,omitempty"`
	Seen    int        `json:"seen"`    // things
	Changes bool       `json:"changes"` // it has ended, and there is something to accept
}

// Observed is one thing that the server did. Texts are its own words, bounded and made visible.
type Observed struct {
	Kind   string    `json:"kind"` // tool | host | command | path | secret | change
	What   string    `json:"what"` // "api.github.com:443", "/usr/bin/git status"
	Write  bool      `json:"write,omitempty"`
	Count  int       `json:"count"`
	Denied int       `json:"denied,omitempty"` // how often it was refused
	In     []string  `json:"in"`               // the tools of the calls it was done in
	Alone  bool      `json:"alone,omitempty"`  // also done while no call was under way
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
}

// LeastSpec is a server's definition as it would be if it allowed just what was seen and approved.
type LeastSpec struct {
	Binding string      `json:"binding,omitempty"` // what exactly would change; "" when nothing would
	Before  string      `json:"before"`            // its block of servers.yaml
	After   string      `json:"after"`
	Diff    string      `json:"diff,omitempty"` // unified
	Lines   []LeastLine `json:"lines"`
	Notes   []string    `json:"notes"` // sentences
}

// LeastLine is one thing of a definition, and why it is proposed.
type LeastLine struct {
	Part   string   `json:"part"`   // network | tools | workspace | mounts | secrets | commands
	Change string   `json:"change"` // keep | add | remove | suggest | refuse | tell
	What   string   `json:"what"`
	Why    string   `json:"why"` // a clause: "reached 3 times, in search_issues"
	Count  int      `json:"count"`
	In     []string `json:"in"`
	Mount  string   `json:"mount,omitempty"` // of a suggestion: what to name to have it
}

// ObserveRequest begins an observation.
type ObserveRequest struct {
	Minutes int `json:"minutes,omitempty" minimum:"0" maximum:"1440"` // until it ends by itself; 0 means 30
	// Workspace are folders that sessions get which name none; absolute.
	Workspace []string `json:"workspace,omitempty"`
}

// MountChoice are the suggested host paths that the person wants, all of them.
type MountChoice struct {
	Mounts []string `json:"mounts"`
}

// LeastAnswer accepts a LeastSpec as it was shown.
type LeastAnswer struct {
	Binding string `json:"binding"`
	Code    string `json:"code,omitempty"` // typed at a terminal
	TTY     bool   `json:"tty,omitempty"`  // the answer was typed at a real terminal
}

// Observation is how a server is or was observed; with wait > 0 it returns as soon as Seq is above after.
func (c *Client) Observation(ctx context.Context, server string, after int64, wait time.Duration) (Observation, error) {
	return get[Observation](ctx, c, observationPath(server), values("after", number(after), "wait", waiting(wait)))
}

// Observations are the servers that are watched, and those whose proposal waits, by name.
func (c *Client) Observations(ctx context.Context) ([]ObservationSummary, error) {
	return get[[]ObservationSummary](ctx, c, "/api/v1/observations", nil)
}

// Observe begins to observe a server: its sandboxes end, and from the next call on it is asked about
// everything. FailedPrecondition for a server that runs elsewhere.
func (c *Client) Observe(ctx context.Context, server string, r ObserveRequest) (Observation, error) {
	return post[Observation](ctx, c, observationPath(server), r)
}

// EndObservation ends it; what was seen is proposed.
func (c *Client) EndObservation(ctx context.Context, server string) (Observation, error) {
	return post[Observation](ctx, c, observationPath(server)+"/end", nil)
}

// ChooseMounts puts suggested mounts into the proposal, and takes others out.
func (c *Client) ChooseMounts(ctx context.Context, server string, m MountChoice) (Observation, error) {
	return post[Observation](ctx, c, observationPath(server)+"/mounts", m)
}

// AcceptObservation has servers.yaml say what was proposed. InvalidArgument: it is something else by now.
func (c *Client) AcceptObservation(ctx context.Context, server string, a LeastAnswer) (Observation, error) {
	return post[Observation](ctx, c, observationPath(server)+"/accept", a)
}

// ForgetObservation lets go of it and its proposal. Nothing changes.
func (c *Client) ForgetObservation(ctx context.Context, server string) error {
	return c.do(ctx, http.MethodDelete, observationPath(server), nil, nil, nil)
}

func observationPath(server string) string {
	return "/api/v1/servers/" + url.PathEscape(server) + "/observation"
}
