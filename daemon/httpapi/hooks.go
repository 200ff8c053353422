package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

// hookDoor is what the backend does about clients' own tools.
type hookDoor interface {
	// BeforeTool decides about one use, by the same rules as about a server's tools, and waits for a
	// person where one is asked, until ctx ends or h.WaitMS has passed.
	BeforeTool(ctx context.Context, peer Peer, h api.HookCall) (api.HookDecision, error)
	// AfterTool records how it ended. NotFound: it was never asked about.
	AfterTool(ctx context.Context, peer Peer, h api.HookResult) error
	// SetHooks refuses peers that may not decide for the person (PermissionDenied), and records the try.
	SetHooks(ctx context.Context, peer Peer, s api.HookSettings) (api.HookPlan, error)
}

type hookCallInput struct {
	Body api.HookCall
}

func (s *Server) beforeTool(ctx context.Context, in *hookCallInput) (api.HookDecision, error) {
	return s.backend.BeforeTool(ctx, peerOf(ctx), in.Body)
}

type hookResultInput struct {
	Body api.HookResult
}

func (s *Server) afterTool(ctx context.Context, in *hookResultInput) error {
	return s.backend.AfterTool(ctx, peerOf(ctx), in.Body)
}

type hookSettingsInput struct {
	Body api.HookSettings
}

func (s *Server) setHooks(ctx context.Context, in *hookSettingsInput) (api.HookPlan, error) {
	return s.backend.SetHooks(ctx, peerOf(ctx), in.Body)
}
