package engine

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/containerd/errdefs"
)

// freeze stops every process of a sandbox from running until it is thawed.
func (e *Engine) freeze(ctx context.Context, b *box) error {
	if !e.cfg.Cgroups.Freeze {
		return fmt.Errorf("freeze %s: this host gives us no freezer (%s): %w", b.launch.ID, e.cfg.Cgroups.Why, errdefs.ErrUnavailable)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.frozen {
		return nil
	}
	if err := b.task.Pause(inNamespace(ctx)); err != nil {
		return fmt.Errorf("freeze %s: %w", b.launch.ID, err)
	}
	b.frozen = true
	return nil
}

// thaw lets a frozen sandbox run again; it does nothing to others.
func (e *Engine) thaw(ctx context.Context, b *box) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.frozen {
		return nil
	}
	if err := b.task.Resume(inNamespace(ctx)); err != nil {
		return fmt.Errorf("thaw %s: %w", b.launch.ID, err)
	}
	b.frozen = false
	return nil
}

// thawAll lets every sandbox hear that its lifeline has ended.
func (e *Engine) thawAll(ctx context.Context) {
	for _, b := range e.all() {
		if err := e.thaw(ctx, b); err != nil {
			slog.Error("thaw a sandbox", "server", b.launch.Server, "err", err)
		}
	}
}
