package httpapi

import "context"

// freezers stop and start the clocks of a server's sandboxes.
type freezers interface {
	FreezeServer(ctx context.Context, peer Peer, name string) error
	ThawServer(ctx context.Context, peer Peer, name string) error
}

func (s *Server) freezeServer(ctx context.Context, in *nameInput) error {
	return s.backend.FreezeServer(ctx, peerOf(ctx), in.Name)
}

func (s *Server) thawServer(ctx context.Context, in *nameInput) error {
	return s.backend.ThawServer(ctx, peerOf(ctx), in.Name)
}
