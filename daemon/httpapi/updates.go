package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

// updates is what the backend does about newer versions of servers' packages.
type updates interface {
	Update(ctx context.Context, peer Peer, server string) (api.Update, error)
	// AcceptUpdate refuses peers that may not answer for the person (PermissionDenied), and records the try.
	AcceptUpdate(ctx context.Context, peer Peer, server string, a api.UpdateAnswer) (api.Update, error)
}

func (s *Server) update(ctx context.Context, in *nameInput) (api.Update, error) {
	return s.backend.Update(ctx, peerOf(ctx), in.Name)
}

type updateAnswerInput struct {
	Name string `path:"name" maxLength:"128"`
	Body api.UpdateAnswer
}

// acceptUpdate passes a reply on, as answer does: the page types no codes.
func (s *Server) acceptUpdate(ctx context.Context, in *updateAnswerInput) (api.Update, error) {
	a, peer := in.Body, peerOf(ctx)
	if peer.Page {
		a.TTY, a.Code = false, ""
	}
	return s.backend.AcceptUpdate(ctx, peer, in.Name, a)
}
