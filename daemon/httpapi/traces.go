package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

func (s *Server) clientSessions(ctx context.Context, _ *nothing) ([]api.Session, error) {
	return s.backend.Sessions(ctx, peerOf(ctx))
}

type traceInput struct {
	ID    string `path:"id" maxLength:"64"`
	After int64  `query:"after" doc:"The next of an answer to go on from" minimum:"0"`
	Wait  string `query:"wait" doc:"How long to wait for a message, such as 30s" maxLength:"32"`
}

func (s *Server) trace(ctx context.Context, in *traceInput) (api.Trace, error) {
	wait, err := waitOf(in.Wait)
	if err != nil {
		return api.Trace{}, err
	}
	return s.backend.Trace(ctx, peerOf(ctx), in.ID, in.After, wait)
}

func (s *Server) tracing(ctx context.Context, _ *nothing) (api.Tracing, error) {
	return s.backend.Tracing(ctx)
}

type tracingInput struct {
	Body api.Tracing
}

func (s *Server) setTracing(ctx context.Context, in *tracingInput) (api.Tracing, error) {
	return s.backend.SetTracing(ctx, peerOf(ctx), in.Body)
}
