package httpapi

import (
	"context"

	"github.com/garita-dev/garita/daemon/api"
)

func (s *Server) status(ctx context.Context, _ *nothing) (api.Status, error) {
	st, err := s.backend.Status(ctx)
	if st.Page == "" {
		st.Page = s.PageURL()
	}
	return st, err
}

func (s *Server) doctor(ctx context.Context, _ *nothing) (api.Doctor, error) {
	return s.backend.Doctor(ctx)
}

func (s *Server) shutdown(ctx context.Context, _ *nothing) error {
	return s.backend.Shutdown(ctx, peerOf(ctx))
}
