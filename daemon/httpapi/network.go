package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

// networks is what the backend does about the hosts that servers reach.
type networks interface {
	Network(ctx context.Context, server string) (api.Network, error)
	// ChangeNetwork refuses peers that may not decide for the person (PermissionDenied), and records the try.
	ChangeNetwork(ctx context.Context, peer Peer, server string, c api.NetworkChange) (api.Network, error)
}

func (s *Server) network(ctx context.Context, in *nameInput) (api.Network, error) {
	return s.backend.Network(ctx, in.Name)
}

type networkInput struct {
	Name string `path:"name" maxLength:"128"`
	Body api.NetworkChange
}

func (s *Server) changeNetwork(ctx context.Context, in *networkInput) (api.Network, error) {
	return s.backend.ChangeNetwork(ctx, peerOf(ctx), in.Name, in.Body)
}
