package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// PolicyFile is policy.yaml, the person's rules about calls, beside servers.yaml.
func (p Paths) PolicyFile() string { return filepath.Join(p.Config, "policy.yaml") }

// AcceptedFile keeps the policies of projects that a person accepted.
func (p Paths) AcceptedFile() string { return filepath.Join(p.State, "accepted-policies.json") }

// ReadPolicy reads policy.yaml; there is false when it is not there, which is no error.
func (p Paths) ReadPolicy() (data []byte, there bool, err error) {
	if _, err := os.Lstat(p.PolicyFile()); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if data, err = readFile(p.PolicyFile()); err == nil && data == nil {
		err = fmt.Errorf("read %s: it leads nowhere: %w", p.PolicyFile(), fs.ErrNotExist)
	}
	return data, true, err
}

// WatchPolicy calls settled, from one goroutine, once at the start and whenever policy.yaml has been
// changed and then left alone. It blocks until ctx ends and then returns nil.
func (p Paths) WatchPolicy(ctx context.Context, settled func()) error {
	return p.watch(ctx, func(e fsnotify.Event) bool {
		return e.Op != fsnotify.Chmod && filepath.Clean(e.Name) == p.PolicyFile()
	}, settled)
}

// ReadAccepted reads what WriteAccepted wrote; nil when nothing was.
func (p Paths) ReadAccepted() ([]byte, error) { return readFile(p.AcceptedFile()) }

// WriteAccepted replaces what is kept of accepted policies.
func (p Paths) WriteAccepted(data []byte) error { return writeFile(p.AcceptedFile(), data) }
