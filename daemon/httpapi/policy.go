package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

// policies is what the backend does about the person's rules.
type policies interface {
	Policy(ctx context.Context) (api.Policy, error)
	ExplainPolicy(ctx context.Context, r api.ExplainRequest) (api.Explanation, error)
	ReplayPolicy(ctx context.Context, r api.ReplayRequest) (api.Replay, error)
	ProjectPolicy(ctx context.Context, dir string) (api.ProjectPolicy, error)
	// AcceptPolicy refuses peers that may not answer for the person (PermissionDenied), and records the try.
	AcceptPolicy(ctx context.Context, peer Peer, a api.AcceptPolicy) (api.ProjectPolicy, error)
}

func (s *Server) policy(ctx context.Context, _ *nothing) (api.Policy, error) {
	return s.backend.Policy(ctx)
}

type explainInput struct {
	Body api.ExplainRequest
}

func (s *Server) explainPolicy(ctx context.Context, in *explainInput) (api.Explanation, error) {
	return s.backend.ExplainPolicy(ctx, in.Body)
}

type replayInput struct {
	Body api.ReplayRequest
}

func (s *Server) replayPolicy(ctx context.Context, in *replayInput) (api.Replay, error) {
	return s.backend.ReplayPolicy(ctx, in.Body)
}

type projectInput struct {
	Dir string `query:"dir" required:"true"`
}

func (s *Server) projectPolicy(ctx context.Context, in *projectInput) (api.ProjectPolicy, error) {
	return s.backend.ProjectPolicy(ctx, in.Dir)
}

type acceptInput struct {
	Body api.AcceptPolicy
}

func (s *Server) acceptPolicy(ctx context.Context, in *acceptInput) (api.ProjectPolicy, error) {
	return s.backend.AcceptPolicy(ctx, peerOf(ctx), in.Body)
}
