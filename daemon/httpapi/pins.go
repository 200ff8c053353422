package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

// reviews is what the backend does about what servers show of themselves.
type reviews interface {
	Pins(ctx context.Context, server string) (api.Pins, error)
	// AnswerPins refuses peers that may not answer for the person (PermissionDenied), and records the try.
	AnswerPins(ctx context.Context, peer Peer, server string, a api.PinAnswer) (api.Pins, error)
}

func (s *Server) pins(ctx context.Context, in *nameInput) (api.Pins, error) {
	return s.backend.Pins(ctx, in.Name)
}

type pinAnswerInput struct {
	Name string `path:"name" maxLength:"128"`
	Body api.PinAnswer
}

// answerPins passes a reply on, as answer does: the page types no codes.
func (s *Server) answerPins(ctx context.Context, in *pinAnswerInput) (api.Pins, error) {
	a, peer := in.Body, peerOf(ctx)
	if peer.Page {
		a.TTY, a.Code = false, ""
	}
	return s.backend.AnswerPins(ctx, peer, in.Name, a)
}
