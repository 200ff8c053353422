package httpapi

import (
	"context"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// secrets is what the backend does about secrets. Whoever may not decide for the person is refused
// (PermissionDenied), and the try recorded, by all that takes a Peer; RevokeSecret refuses only
// descendants of an attached client.
type secrets interface {
	Secrets(ctx context.Context) (api.Secrets, error)
	SetSecret(ctx context.Context, peer Peer, s api.SecretSet) (api.Secret, error)
	RemoveSecret(ctx context.Context, peer Peer, name string) error
	ProposeGrant(ctx context.Context, name string, g api.SecretGrant) (api.SecretGrant, error)
	GrantSecret(ctx context.Context, peer Peer, name string, g api.SecretGrant) (api.Secret, error)
	RevokeSecret(ctx context.Context, peer Peer, name, server string) (api.Secret, error)
	SecretUses(ctx context.Context, name string, since time.Time) ([]api.SecretUsed, error)
	RotateSecret(ctx context.Context, peer Peer, name string, since time.Time, forget bool) (api.SecretRotation, error)
	OpenKeeper(ctx context.Context, peer Peer, o api.KeeperOpen) (api.Keeper, error)
}

func (s *Server) secrets(ctx context.Context, _ *nothing) (api.Secrets, error) {
	return s.backend.Secrets(ctx)
}

type setSecretInput struct {
	Body api.SecretSet
}

func (s *Server) setSecret(ctx context.Context, in *setSecretInput) (api.Secret, error) {
	return s.backend.SetSecret(ctx, peerOf(ctx), in.Body)
}

type secretInput struct {
	Name string `path:"name" maxLength:"128"`
}

func (s *Server) removeSecret(ctx context.Context, in *secretInput) error {
	return s.backend.RemoveSecret(ctx, peerOf(ctx), in.Name)
}

type grantSecretInput struct {
	Name string `path:"name" maxLength:"128"`
	Body api.SecretGrant
}

// proposeGrant completes a grant by what is known of its server; nothing is granted.
func (s *Server) proposeGrant(ctx context.Context, in *grantSecretInput) (api.SecretGrant, error) {
	return s.backend.ProposeGrant(ctx, in.Name, in.Body)
}

func (s *Server) grantSecret(ctx context.Context, in *grantSecretInput) (api.Secret, error) {
	return s.backend.GrantSecret(ctx, peerOf(ctx), in.Name, in.Body)
}

type revokeSecretInput struct {
	Name   string `path:"name" maxLength:"128"`
	Server string `path:"server" maxLength:"128"`
}

func (s *Server) revokeSecret(ctx context.Context, in *revokeSecretInput) (api.Secret, error) {
	return s.backend.RevokeSecret(ctx, peerOf(ctx), in.Name, in.Server)
}

type secretSinceInput struct {
	Name  string    `path:"name" maxLength:"128"`
	Since time.Time `query:"since" doc:"Uses since then; all that are on record without it"`
}

func (s *Server) secretUses(ctx context.Context, in *secretSinceInput) ([]api.SecretUsed, error) {
	return s.backend.SecretUses(ctx, in.Name, in.Since)
}

type rotateSecretInput struct {
	Name         string    `path:"name" maxLength:"128"`
	Since        time.Time `query:"since" doc:"Uses since then; all that are on record without it"`
	ForgetGrants bool      `query:"forget_grants" doc:"Take it from all servers for good, so that the next value is nobody's"`
}

func (s *Server) rotateSecret(ctx context.Context, in *rotateSecretInput) (api.SecretRotation, error) {
	return s.backend.RotateSecret(ctx, peerOf(ctx), in.Name, in.Since, in.ForgetGrants)
}

type openKeeperInput struct {
	Body api.KeeperOpen
}

func (s *Server) openKeeper(ctx context.Context, in *openKeeperInput) (api.Keeper, error) {
	return s.backend.OpenKeeper(ctx, peerOf(ctx), in.Body)
}
