package httpapi

import (
	"context"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// observations is what the backend does about servers that a person watches. What begins, ends or
// accepts one is refused to peers that may not answer for the person (PermissionDenied).
type observations interface {
	// Observations are those that go on, and those that wait to be accepted.
	Observations(ctx context.Context) ([]api.ObservationSummary, error)
	// Observation returns at once, or with wait > 0 once its Seq is above after.
	Observation(ctx context.Context, server string, after int64, wait time.Duration) (api.Observation, error)
	Observe(ctx context.Context, peer Peer, server string, r api.ObserveRequest) (api.Observation, error)
	EndObservation(ctx context.Context, peer Peer, server string) (api.Observation, error)
	ChooseMounts(ctx context.Context, peer Peer, server string, m api.MountChoice) (api.Observation, error)
	AcceptObservation(ctx context.Context, peer Peer, server string, a api.LeastAnswer) (api.Observation, error)
	ForgetObservation(ctx context.Context, peer Peer, server string) error
}

func (s *Server) observations(ctx context.Context, _ *struct{}) ([]api.ObservationSummary, error) {
	return s.backend.Observations(ctx)
}

func (s *Server) observation(ctx context.Context, in *logInput) (api.Observation, error) {
	wait, err := waitOf(in.Wait)
	if err != nil {
		return api.Observation{}, err
	}
	return s.backend.Observation(ctx, in.Name, in.After, wait)
}

type observeInput struct {
	Name string `path:"name" maxLength:"128"`
	Body api.ObserveRequest
}

func (s *Server) observe(ctx context.Context, in *observeInput) (api.Observation, error) {
	return s.backend.Observe(ctx, peerOf(ctx), in.Name, in.Body)
}

func (s *Server) endObservation(ctx context.Context, in *nameInput) (api.Observation, error) {
	return s.backend.EndObservation(ctx, peerOf(ctx), in.Name)
}

type mountsInput struct {
	Name string `path:"name" maxLength:"128"`
	Body api.MountChoice
}

func (s *Server) chooseMounts(ctx context.Context, in *mountsInput) (api.Observation, error) {
	return s.backend.ChooseMounts(ctx, peerOf(ctx), in.Name, in.Body)
}

type leastAnswerInput struct {
	Name string `path:"name" maxLength:"128"`
	Body api.LeastAnswer
}

// acceptObservation passes a reply on, as answer does: the page types no codes.
func (s *Server) acceptObservation(ctx context.Context, in *leastAnswerInput) (api.Observation, error) {
	a, peer := in.Body, peerOf(ctx)
	if peer.Page {
		a.TTY, a.Code = false, ""
	}
	return s.backend.AcceptObservation(ctx, peer, in.Name, a)
}

func (s *Server) forgetObservation(ctx context.Context, in *nameInput) error {
	return s.backend.ForgetObservation(ctx, peerOf(ctx), in.Name)
}
