package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

type nameInput struct {
	Name string `path:"name" maxLength:"128"`
}

func (s *Server) servers(ctx context.Context, _ *nothing) ([]api.Server, error) {
	return s.backend.Servers(ctx)
}

func (s *Server) server(ctx context.Context, in *nameInput) (api.Server, error) {
	return s.backend.Server(ctx, in.Name)
}

type logInput struct {
	Name  string `path:"name" maxLength:"128"`
	After int64  `query:"after" doc:"The next of an answer to go on from" minimum:"0"`
	Wait  string `query:"wait" doc:"How long to wait for a line, such as 30s" maxLength:"32"`
}

func (s *Server) serverLog(ctx context.Context, in *logInput) (api.ServerLog, error) {
	wait, err := waitOf(in.Wait)
	if err != nil {
		return api.ServerLog{}, err
	}
	return s.backend.ServerLog(ctx, in.Name, in.After, wait)
}

func (s *Server) startServer(ctx context.Context, in *nameInput) error {
	return s.backend.StartServer(ctx, peerOf(ctx), in.Name)
}

func (s *Server) restartServer(ctx context.Context, in *nameInput) error {
	return s.backend.RestartServer(ctx, peerOf(ctx), in.Name)
}

func (s *Server) removeServer(ctx context.Context, in *nameInput) error {
	return s.backend.RemoveServer(ctx, peerOf(ctx), in.Name)
}

func (s *Server) stopServer(ctx context.Context, in *nameInput) error {
	return s.backend.StopServer(ctx, peerOf(ctx), in.Name)
}
