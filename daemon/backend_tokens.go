package daemon

import (
	"context"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// Tokens implements httpapi.Backend.
func (d *Daemon) Tokens(context.Context) ([]api.Token, error) {
	out := []api.Token{}
	for _, t := range d.db.Tokens() {
		out = append(out, apiToken(t))
	}
	return out, nil
}

// CreateToken implements httpapi.Backend. A token is for servers that are there: one that is made
// later is not opened by what a person agreed to now.
func (d *Daemon) CreateToken(ctx context.Context, peer httpapi.Peer, n api.NewToken) (api.CreatedToken, error) {
	if err := d.mayDecide(ctx, peer, "create a token"); err != nil {
		return api.CreatedToken{}, err
	}
	t := store.Token{Name: n.Name, Tools: n.Tools}
	if n.Expires != nil {
		t.Expires = *n.Expires
	}
	for _, name := range n.Servers {
		server, err := d.configured(name)
		if err != nil {
			return api.CreatedToken{}, err
		}
		t.Servers = append(t.Servers, server.Name)
	}
	made, secret, err := d.db.CreateToken(ctx, approvals.Principal{UID: peer.UID}, t)
	if err != nil {
		return api.CreatedToken{}, err
	}
	return api.CreatedToken{Token: apiToken(made), Secret: secret, URL: d.doorAt}, nil
}

// RevokeToken implements httpapi.Backend.
func (d *Daemon) RevokeToken(ctx context.Context, peer httpapi.Peer, id string) error {
	if err := d.refuseDescendants(ctx, peer, "revoke token "+id); err != nil {
		return err
	}
	if err := d.db.RevokeToken(ctx, approvals.Principal{UID: peer.UID}, store.TokenID(id)); err != nil {
		return named(err, "token with the ID", id, "garita token list")
	}
	if at := d.door.Load(); at != nil {
		at.Drop(id)
	}
	return nil
}

func apiToken(t store.Token) api.Token {
	out := api.Token{
		ID: string(t.ID), Name: t.Name, Servers: texts(t.Servers), Tools: notNil(t.Tools), State: "valid", Created: t.Created,
		Expires: orNil(t.Expires), LastUsed: orNil(t.LastUsed), Revoked: orNil(t.Revoked),
	}
	switch {
	case !t.Revoked.IsZero():
		out.State = "revoked"
	case !t.Valid(time.Now()):
		out.State = "expired"
	}
	return out
}

func texts(names []sandbox.ServerName) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = string(n)
	}
	return out
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
