package config

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/garita-dev/garita/sandbox"
)

// Store holds the settings in force. Its methods may be called at the same time. What it returns
// is the caller's to keep, not to change.
type Store struct {
	paths Paths

	mu       sync.Mutex // guards the fields below and writing the files
	servers  map[sandbox.ServerName]sandbox.Server
	settings Settings
	lock     Lock
	problems map[string]error // by file; none when all are in force as they stand
}

// Open creates the directories of p that are missing and reads the files. A file that does not
// parse is not an error of Open: nothing of it is in force and Problem says so.
func Open(p Paths) (*Store, error) {
	if err := p.Create(); err != nil {
		return nil, err
	}
	s := &Store{
		paths: p, settings: defaults(p.Isolated), lock: Lock{Version: version},
		servers: map[sandbox.ServerName]sandbox.Server{}, problems: map[string]error{},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read()
	return s, nil
}

// Paths says where everything is.
func (s *Store) Paths() Paths { return s.paths }

// Reload reads the files again and says whether anything changed. A file that does not parse
// leaves in force what it said before.
func (s *Store) Reload() (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = s.read()
	return changed, s.problem()
}

// Problem says which files are not in force as they stand, and why; nil when all are.
func (s *Store) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem()
}

func (s *Store) problem() error {
	var errs []error
	for _, file := range slices.Sorted(maps.Keys(s.problems)) {
		errs = append(errs, s.problems[file])
	}
	return errors.Join(errs...)
}

// Servers lists the servers by name.
func (s *Store) Servers() []sandbox.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]sandbox.Server, 0, len(s.servers))
	for _, name := range slices.Sorted(maps.Keys(s.servers)) {
		out = append(out, s.servers[name])
	}
	return out
}

// Server finds one server.
func (s *Store) Server(name sandbox.ServerName) (sandbox.Server, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	srv, ok := s.servers[name]
	return srv, ok
}

// Settings is config.yaml over the defaults.
func (s *Store) Settings() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings
}

// Pins is what was accepted of a server, and whether that is known: not while garita.lock cannot be read.
func (s *Store) Pins(name sandbox.ServerName) (p Pins, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, broken := s.problems[s.paths.LockFile()]
	return s.lock.Pins[name].Clone(), !broken
}

// Image is the lock's image of a server, if there is one.
func (s *Store) Image(name sandbox.ServerName) (Image, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.lock.Images[name]
	return i, ok
}

// Package is the lock's entry for a server; nil when there is none.
func (s *Store) Package(name sandbox.ServerName) *sandbox.Package {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.lock.Packages[name]
	if !ok {
		return nil
	}
	p.Entry = slices.Clone(p.Entry)
	return &p
}
