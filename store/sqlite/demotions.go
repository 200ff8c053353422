package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// toolKey is one tool of one server.
type toolKey struct {
	server sandbox.ServerName
	tool   string
}

// Demote takes from a tool the right to pass as a read, durably. The first reason stays.
func (s *Store) Demote(ctx context.Context, d store.Demotion) error {
	body, err := encode(wireDemoted{clip(d.Tool), clip(d.Reason)})
	if err != nil {
		return err
	}
	d.At = time.Now().Truncate(time.Microsecond).UTC()
	s.mu.Lock()
	defer s.mu.Unlock()
	k := toolKey{d.Server, d.Tool}
	if _, already := s.demoted[k]; already {
		return nil
	}
	events := [...]placed{{Event: store.Event{Kind: store.ToolDemoted, At: d.At, Principal: d.Principal, Session: d.Session, Server: d.Server, Call: d.Call, Body: body}}}
	err = s.commit(ctx, true, events[:], func(ctx context.Context) error {
		_, err := s.w.conn.ExecContext(ctx, "INSERT INTO demotions (server, tool, reason, call, at) VALUES (?, ?, ?, ?, ?)",
			string(d.Server), d.Tool, d.Reason, string(d.Call), d.At.UnixMicro())
		return err
	})
	if err != nil {
		return fmt.Errorf("demote %s of %s: %w", d.Tool, d.Server, err)
	}
	s.demoted[k] = d
	return nil
}

// Standing is what is held against the tool of c. It is part of approvals/gate's standings.
func (s *Store) Standing(_ context.Context, c approvals.Call) (approvals.Standing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return approvals.Standing{Demoted: s.demoted[toolKey{c.Server, c.Tool}].Reason}, nil
}

// Demotions lists the demoted tools of server, or of all when it is "", by name.
func (s *Store) Demotions(server sandbox.ServerName) []store.Demotion {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []store.Demotion
	for k, d := range s.demoted {
		if server == "" || k.server == server {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b store.Demotion) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
	return all
}

func (s *Store) loadDemotions(ctx context.Context) (map[toolKey]store.Demotion, error) {
	all, err := collect(ctx, s.w, scanDemotion, "SELECT server, tool, reason, call, at FROM demotions")
	if err != nil {
		return nil, fmt.Errorf("read demotions: %w", err)
	}
	m := make(map[toolKey]store.Demotion, len(all))
	for _, d := range all {
		m[toolKey{d.Server, d.Tool}] = d
	}
	return m, nil
}

func scanDemotion(row scanner) (store.Demotion, error) {
	var d store.Demotion
	var at int64
	err := row.Scan(&d.Server, &d.Tool, &d.Reason, &d.Call, &at)
	d.At = micros(at)
	return d, err
}
