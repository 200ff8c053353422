package api

import (
	"context"
	"net/url"
)

// Update is what would change if a server ran from the newest version of its package that is allowed.
type Update struct {
	Server   string          `json:"server"`
	From     string          `json:"from"` // "name@version"
	To       string          `json:"to"`
	Binding  string          `json:"binding,omitempty"` // what exactly; "" when there is nothing to update
	Packages []PackageChange `json:"packages"`
	Scripts  []string        `json:"scripts"` // install scripts of the new one: "name@version: did not run", a line each
	Tools    []ToolUpdate    `json:"tools"`
	Notes    []string        `json:"notes"` // sentences
}

// PackageChange is one package of the tree; several versions of one are separated by commas.
type PackageChange struct {
	Name   string `json:"name"`
	Before string `json:"before,omitempty"` // "" when it is new
	After  string `json:"after,omitempty"`  // "" when it is gone
}

// ToolUpdate is one tool that the new version lists otherwise. Texts are the server's own, made visible.
type ToolUpdate struct {
	Name     string   `json:"name"`
	Change   string   `json:"change"`        // new | changed | gone
	Was      string   `json:"was,omitempty"` // what calls of it do, as far as is known: read, write …
	Is       string   `json:"is,omitempty"`
	Diff     string   `json:"diff,omitempty"` // unified
	Findings []string `json:"findings"`
}

// UpdateAnswer accepts an Update as it was shown.
type UpdateAnswer struct {
	Binding string `json:"binding"`
	Code    string `json:"code,omitempty"` // typed at a terminal
	TTY     bool   `json:"tty,omitempty"`  // the answer was typed at a real terminal
}

// Update installs the newest allowed version beside the one in use, starts it aside to see its
// tools, and says what would change. Nothing changes.
func (c *Client) Update(ctx context.Context, server string) (Update, error) {
	return post[Update](ctx, c, "/api/v1/servers/"+url.PathEscape(server)+"/update", nil)
}

// AcceptUpdate has the server run from what was shown. InvalidArgument: it is something else by now.
func (c *Client) AcceptUpdate(ctx context.Context, server string, a UpdateAnswer) (Update, error) {
	return post[Update](ctx, c, "/api/v1/servers/"+url.PathEscape(server)+"/update/accept", a)
}
