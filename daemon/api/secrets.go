package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Secrets is every secret there is or that a server wants, without values.
type Secrets struct {
	Keeper  Keeper   `json:"keeper"`
	Secrets []Secret `json:"secrets"` // by name
}

// Keeper is what holds the key that secrets are sealed with.
type Keeper struct {
	// State is ready, none (there is neither a keyring nor a file), locked (a passphrase or the keyring's
	// unlocking is wanted) or waiting (the keyring asks the person).
	State string `json:"state"`
	By    string `json:"by"`   // keyring | file; "" while none
	Why   string `json:"why"`  // a sentence; "" while ready
	Next  string `json:"next"` // what to do, a command or a sentence; "" while ready
}

// Secret is one, and who may use it.
type Secret struct {
	Name        string        `json:"name"`
	Missing     bool          `json:"missing"` // wanted by a server, and not stored
	Version     int64         `json:"version"`
	Created     *time.Time    `json:"created,omitempty"`
	Changed     *time.Time    `json:"changed,omitempty"`
	Expires     *time.Time    `json:"expires,omitempty"`
	Expired     bool          `json:"expired"`
	FromCommand bool          `json:"from_command"` // a command gives its value
	LastUse     *SecretUsed   `json:"last_use,omitempty"`
	Grants      []SecretGrant `json:"grants"`
}

// SecretGrant is leave for a server to use a secret.
type SecretGrant struct {
	Server string        `json:"server"`
	Mode   string        `json:"mode"` // placeholder | env | file; sent to a server at a url, which has neither Env nor File
	Env    string        `json:"env,omitempty"`
	File   string        `json:"file,omitempty"`
	Arg    string        `json:"arg,omitempty"` // the flag behind which the server finds a placeholder, in place of Env and File
	Places []SecretPlace `json:"places"`
	// Scheme stands before the value in the header Authorization of a server at a url: Bearer where none is set,
	// "none" for nothing.
	Scheme string     `json:"scheme,omitempty"`
	Hosts  []string   `json:"hosts"` // with their ports
	Tools  []string   `json:"tools"` // patterns; none means any
	Until  *time.Time `json:"until,omitempty"`
	Ask    bool       `json:"ask"`
	// The four below are told, not set.
	Weaker  bool   `json:"weaker" required:"false"`   // the server holds the value itself
	InForce bool   `json:"in_force" required:"false"` // false once Until has passed
	Words   string `json:"words" required:"false"`    // the whole grant, a sentence
	// Lacks says of a proposal what is not known, so that it cannot be granted as it is.
	Lacks *Problem `json:"lacks,omitempty"`
}

// SecretPlace is where in a request the value is put.
type SecretPlace struct {
	In   string `json:"in"` // header | query | body
	Name string `json:"name"`
}

// SecretUsed is one use.
type SecretUsed struct {
	At      time.Time `json:"at"`
	Version int64     `json:"version"`
	Server  string    `json:"server"`
	Session string    `json:"session"`
	Agent   string    `json:"agent"`
	Calls   []string  `json:"calls"`
	Mode    string    `json:"mode"`
	Host    string    `json:"host,omitempty"` // "" where the server was handed it
}

// SecretSet stores a secret, or its next version. Exactly one of Value and Command is set.
type SecretSet struct {
	Name    string     `json:"name"`
	Value   Hidden     `json:"value,omitempty"`
	Command []string   `json:"command,omitempty"` // argv that prints the value; run by the daemon, without a shell
	Expires *time.Time `json:"expires,omitempty"`
}

// SecretRotation is what came of a rotation: everything the secret was used for, and who lost it.
type SecretRotation struct {
	Uses    []SecretUsed `json:"uses"`    // the latest first
	Revoked []string     `json:"revoked"` // servers
	Ended   int          `json:"ended"`   // sandboxes that held the value, and are gone
}

// KeeperOpen unlocks, or first makes, the file in which the key is kept where there is no keyring. With
// nothing set it has the keyring ask its owner.
type KeeperOpen struct {
	Passphrase Hidden `json:"passphrase,omitempty"`
	Create     bool   `json:"create,omitempty"` // make the file; only where none is
	Cancel     bool   `json:"cancel,omitempty"` // stop waiting for the keyring
	// Reset gives up the values that cannot be opened any more: their key, or the passphrase of its file, is
	// lost. With Create a new file is made.
	Reset bool `json:"reset,omitempty"`
}

// Hidden is a text that is sent and never shown: fmt and slog print something in its place.
type Hidden string

// Format hides the text, whatever the verb.
func (Hidden) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "(hidden)") }

// LogValue hides the text.
func (Hidden) LogValue() slog.Value { return slog.StringValue("(hidden)") }

const secretsPath = "/api/v1/secrets"

func secretPath(name string) string { return secretsPath + "/" + url.PathEscape(name) }

// Secrets lists every secret.
func (c *Client) Secrets(ctx context.Context) (Secrets, error) {
	return get[Secrets](ctx, c, secretsPath, nil)
}

// SetSecret stores one.
func (c *Client) SetSecret(ctx context.Context, s SecretSet) (Secret, error) {
	var out Secret
	return out, c.do(ctx, http.MethodPost, secretsPath, nil, s, &out)
}

// RemoveSecret forgets one, its value and its grants.
func (c *Client) RemoveSecret(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, secretPath(name), nil, nil, nil)
}

// GrantSecret lets a server use one, in place of what it was granted before.
func (c *Client) GrantSecret(ctx context.Context, name string, g SecretGrant) (Secret, error) {
	var out Secret
	return out, c.do(ctx, http.MethodPost, secretPath(name)+"/grants", nil, g, &out)
}

// ProposeGrant completes a grant by what is known of its server: the variable, the hosts, the places. Nothing is
// granted. A Problem says what is missing where that is not known.
func (c *Client) ProposeGrant(ctx context.Context, name string, g SecretGrant) (SecretGrant, error) {
	var out SecretGrant
	if err := c.do(ctx, http.MethodPost, secretPath(name)+"/grants/proposal", nil, g, &out); err != nil {
		return out, err
	}
	if out.Lacks != nil {
		return out, out.Lacks
	}
	return out, nil
}

// RevokeSecret takes one from a server at once.
func (c *Client) RevokeSecret(ctx context.Context, name, server string) (Secret, error) {
	var out Secret
	return out, c.do(ctx, http.MethodDelete, secretPath(name)+"/grants/"+url.PathEscape(server), nil, nil, &out)
}

// SecretUses lists the uses of one since a time, the latest first.
func (c *Client) SecretUses(ctx context.Context, name string, since time.Time) ([]SecretUsed, error) {
	return get[[]SecretUsed](ctx, c, secretPath(name)+"/uses", url.Values{"since": {since.UTC().Format(time.RFC3339)}})
}

// RotateSecret takes one from every server at once, and tells every use since a time. With forget the grants
// are gone for good, else they come to life with the next value.
func (c *Client) RotateSecret(ctx context.Context, name string, since time.Time, forget bool) (SecretRotation, error) {
	var out SecretRotation
	query := url.Values{"since": {since.UTC().Format(time.RFC3339)}}
	if forget {
		query.Set("forget_grants", "true")
	}
	return out, c.do(ctx, http.MethodPost, secretPath(name)+"/rotate", query, struct{}{}, &out)
}

// OpenKeeper unlocks or makes the file that holds the key.
func (c *Client) OpenKeeper(ctx context.Context, o KeeperOpen) (Keeper, error) {
	var out Keeper
	return out, c.do(ctx, http.MethodPost, secretsPath+"/keeper", nil, o, &out)
}
