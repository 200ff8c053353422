package httpapi

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/api"
)

// maxWait bounds a long poll; callers ask again.
const maxWait = 10 * time.Minute

type approvalsInput struct {
	Wait string `query:"wait" doc:"How long to wait for one, such as 30s" maxLength:"32"`
}

func (s *Server) approvals(ctx context.Context, in *approvalsInput) ([]api.Approval, error) {
	wait, err := waitOf(in.Wait)
	if err != nil {
		return nil, err
	}
	return s.backend.Approvals(ctx, wait)
}

// waitOf reads a duration; "" is none.
func waitOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 {
		return 0, fmt.Errorf("read wait %q: not a duration such as 30s: %w", text, errdefs.ErrInvalidArgument)
	}
	return min(wait, maxWait), nil
}

func (s *Server) approval(ctx context.Context, in *idInput) (api.Approval, error) {
	return s.backend.Approval(ctx, in.ID)
}

type answerInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body api.Answer
}

// answer passes a person's reply on. What was typed at a terminal cannot come from the page.
func (s *Server) answer(ctx context.Context, in *answerInput) (api.Approval, error) {
	a, peer := in.Body, peerOf(ctx)
	if peer.Page {
		a.TTY, a.Code = false, ""
	}
	return s.backend.Answer(ctx, peer, in.ID, a)
}
