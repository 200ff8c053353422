package httpapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
)

func (f *fake) Policy(context.Context) (api.Policy, error) { return api.Policy{State: "none"}, nil }

func (f *fake) ExplainPolicy(_ context.Context, r api.ExplainRequest) (api.Explanation, error) {
	return api.Explanation{Server: r.Server, Tool: r.Tool, Agent: r.Agent}, nil
}

func (f *fake) ReplayPolicy(_ context.Context, r api.ReplayRequest) (api.Replay, error) {
	return api.Replay{Since: r.Since}, nil
}

func (f *fake) ProjectPolicy(_ context.Context, dir string) (api.ProjectPolicy, error) {
	return api.ProjectPolicy{Dir: dir}, nil
}

func (f *fake) AcceptPolicy(_ context.Context, p httpapi.Peer, a api.AcceptPolicy) (api.ProjectPolicy, error) {
	f.note(p)
	return api.ProjectPolicy{Dir: a.Dir, Accepted: a.Digest}, nil
}

func TestTheClientReachesThePolicyRoutes(t *testing.T) {
	d := serve(t)
	c, ctx := d.client, t.Context()
	if p, err := c.Policy(ctx); err != nil || p.State != "none" || p.Rules == nil {
		t.Errorf("policy: %+v, %v", p, err)
	}
	if x, err := c.ExplainPolicy(ctx, api.ExplainRequest{Server: "a", Tool: "b", Agent: "c"}); err != nil || x.Server+x.Tool+x.Agent != "abc" {
		t.Errorf("explain: %+v, %v", x, err)
	}
	since := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	if r, err := c.ReplayPolicy(ctx, api.ReplayRequest{Since: since}); err != nil || !r.Since.Equal(since) {
		t.Errorf("replay: %+v, %v", r, err)
	}
	if p, err := c.ProjectPolicy(ctx, "/a b/ü"); err != nil || p.Dir != "/a b/ü" {
		t.Errorf("project: %+v, %v", p, err)
	}
	if p, err := c.AcceptPolicy(ctx, api.AcceptPolicy{Dir: "/a", Digest: "sha256:1"}); err != nil || p.Accepted != "sha256:1" {
		t.Errorf("accept: %+v, %v", p, err)
	}
	if len(d.fake.peers) != 1 || d.fake.peers[0].Page {
		t.Errorf("accepting was told of the peers %+v", d.fake.peers)
	}
}
