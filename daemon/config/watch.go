package config

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long files must be left alone before they are read: editors write in several steps.
const settle = 300 * time.Millisecond

// Watch reads the files again whenever they have been changed and then calls told, from one
// goroutine, if what is in force changed or a problem appeared or went away; problem is nil when
// all files are in force. It blocks until ctx ends and then returns nil.
func (s *Store) Watch(ctx context.Context, told func(problem error)) error {
	had := s.Problem()
	return s.paths.watch(ctx, s.ours, func() {
		changed, problem := s.Reload()
		if changed || text(problem) != text(had) {
			told(problem)
		}
		had = problem
	})
}

// watch calls settled, from one goroutine, once at the start and whenever files of ours have been
// changed and then left alone.
func (p Paths) watch(ctx context.Context, ours func(fsnotify.Event) bool, settled func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", p.Config, err)
	}
	defer func() { _ = w.Close() }()
	if err := w.Add(p.Config); err != nil {
		return fmt.Errorf("watch %s: %w", p.Config, err)
	}
	quiet := time.NewTimer(0) // once at the start: something may have changed before the watch was on
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err, ok := <-w.Errors:
			if !ok || !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch %s: %w", p.Config, err)
			}
			quiet.Reset(settle)
		case e := <-w.Events:
			if ours(e) {
				quiet.Reset(settle)
			}
		case <-quiet.C:
			settled()
		}
	}
}

// ours leaves out our own temporary files and mere looks at a file.
func (s *Store) ours(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	switch filepath.Clean(e.Name) {
	case s.paths.ServersFile(), s.paths.SettingsFile(), s.paths.LockFile():
		return true
	}
	return false
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
