package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
)

var errSecrets = fmt.Errorf("secrets: %w", errdefs.ErrNotImplemented)

// Secrets implements httpapi.Backend.
func (d *Daemon) Secrets(context.Context) (api.Secrets, error) {
	return api.Secrets{Keeper: api.Keeper{State: "none", Why: "Secrets cannot be kept yet."}}, nil
}

// SetSecret implements httpapi.Backend.
func (d *Daemon) SetSecret(context.Context, httpapi.Peer, api.SecretSet) (api.Secret, error) {
	return api.Secret{}, errSecrets
}

// RemoveSecret implements httpapi.Backend.
func (d *Daemon) RemoveSecret(context.Context, httpapi.Peer, string) error { return errSecrets }

// GrantSecret implements httpapi.Backend.
func (d *Daemon) GrantSecret(context.Context, httpapi.Peer, string, api.SecretGrant) (api.Secret, error) {
	return api.Secret{}, errSecrets
}

// RevokeSecret implements httpapi.Backend.
func (d *Daemon) RevokeSecret(context.Context, httpapi.Peer, string, string) (api.Secret, error) {
	return api.Secret{}, errSecrets
}

// SecretUses implements httpapi.Backend.
func (d *Daemon) SecretUses(context.Context, string, time.Time) ([]api.SecretUsed, error) {
	return nil, errSecrets
}

// RotateSecret implements httpapi.Backend.
func (d *Daemon) RotateSecret(context.Context, httpapi.Peer, string, time.Time) (api.SecretRotation, error) {
	return api.SecretRotation{}, errSecrets
}

// OpenKeeper implements httpapi.Backend.
func (d *Daemon) OpenKeeper(context.Context, httpapi.Peer, api.KeeperOpen) (api.Keeper, error) {
	return api.Keeper{}, errSecrets
}
