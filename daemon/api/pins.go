package api

import (
	"context"
	"net/url"
	"time"
)

// Pins is what a server shows of itself, and how that stands. Every text of the server's has what is not
// seen in it written out: ⟨U+200B⟩.
type Pins struct {
	Server  string    `json:"server"`
	Binding string    `json:"binding"` // of all that is held back, "" for nothing: send it back with the answer, it proves what was seen
	Items   []PinItem `json:"items"`   // those that wait first, then those that were refused, then the accepted
}

// PinItem is one thing that a server shows.
type PinItem struct {
	Kind     string       `json:"kind"` // tool | prompt | resource | template | instructions
	Name     string       `json:"name"`
	State    string       `json:"state"` // waits | refused | accepted | cosmetic (accepted, but for how it is written)
	Why      string       `json:"why,omitempty"`
	Digest   string       `json:"digest"`
	Before   string       `json:"before,omitempty"` // the digest that was accepted; "" when it is new
	Drift    string       `json:"drift,omitempty"`  // cosmetic | changed | widened
	Accepted *time.Time   `json:"accepted,omitempty"`
	By       string       `json:"by,omitempty"`   // "first use", "page", "terminal, pid 4242"
	Text     string       `json:"text,omitempty"` // all of it, where it waits or was refused
	Findings []PinFinding `json:"findings"`
	Fields   []PinField   `json:"fields"` // what has changed
}

// PinFinding is one thing that was found in an item.
type PinFinding struct {
	Kind    string `json:"kind"`  // hidden | instructions | reference | lookalike | duplicate | name | schema | encoded
	Field   string `json:"field"` // JSON pointer into the definition
	Excerpt string `json:"excerpt"`
	Why     string `json:"why"`
	Holds   bool   `json:"holds"` // it is why the item waits; others are only told of
}

// PinField is one field before and after; "" means that there was, or is, none.
type PinField struct {
	Field string `json:"field"`
	Old   string `json:"old"`
	New   string `json:"new"`
	Drift string `json:"drift"`
	Why   string `json:"why,omitempty"`
}

// PinAnswer is a person's answer about items that wait.
type PinAnswer struct {
	Accept  bool     `json:"accept"`
	Binding string   `json:"binding"`         // required: of the Pins that were shown
	Items   []string `json:"items,omitempty"` // "tool/read_file", also of those that were refused; none means all that wait
	Code    string   `json:"code,omitempty"`  // typed at a terminal
	TTY     bool     `json:"tty,omitempty"`   // the answer was typed at a real terminal
}

// Pins asks what a server shows, and how that stands.
func (c *Client) Pins(ctx context.Context, server string) (Pins, error) {
	return get[Pins](ctx, c, "/api/v1/servers/"+url.PathEscape(server)+"/pins", nil)
}

// AnswerPins accepts or refuses what waits, and returns what the server shows as it then stands.
func (c *Client) AnswerPins(ctx context.Context, server string, a PinAnswer) (Pins, error) {
	return post[Pins](ctx, c, "/api/v1/servers/"+url.PathEscape(server)+"/pins", a)
}
