package client

import (
	"context"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/authority"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// What the daemon and the wall say to each other about secrets.
type (
	// Authority signs what the wall shows one sandbox for hosts to which secrets are sent.
	Authority = wire.Authority
	// Placeholder is a sentinel, the value for it, and where that may go.
	Placeholder = wire.Placeholder
	// SecretWanted is a use that waits for Leave.
	SecretWanted = wire.SecretWanted
	// SecretSeen is a sentinel that a request held, swapped or not.
	SecretSeen = wire.SecretSeen
	// Hidden is text that travels to the wall and is printed by nothing.
	Hidden = wire.Secret
)

// Hide wraps a value for a Placeholder.
func Hide(text string) Hidden { return wire.NewSecret(text) }

// NewAuthority makes the authority of one sandbox: for Sandbox.Authority, and its Cert for
// sandbox.Launch.Trust. It can sign for hosts and no others, so a sandbox that shall send a secret to
// another host is started anew.
//
// Errors: InvalidArgument when hosts is empty.
func NewAuthority(hosts []sandbox.Endpoint) (Authority, error) { return authority.New(hosts) }

// SetSecrets replaces the placeholders. When it returns, nothing is swapped any more that is not among
// them, and connections on which such a value was sent have been ended.
//
// Errors: InvalidArgument for those that cannot be used, with the reasons: all others are in force then,
// and what is not among them is not. NotFound, Unavailable.
func (o *WayOut) SetSecrets(ctx context.Context, all []Placeholder) error {
	return o.wall.tell(ctx, wire.SecretsPath, wire.Secrets{ID: o.id, Placeholders: all})
}

// Leave answers a SecretWanted, by its Use; one that nobody waits for any more is no error.
func (o *WayOut) Leave(ctx context.Context, use uint64, allow bool) error {
	return o.wall.tell(ctx, wire.LeavesPath, wire.Leave{ID: o.id, Use: use, Allow: allow})
}
