package config

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// read reads all files, keeping what was in force where one does not parse. mu is held.
func (s *Store) read() (changed bool) {
	servers, ok := load(s, s.paths.ServersFile(), func(file string, data []byte) (map[sandbox.ServerName]sandbox.Server, error) {
		list, err := ParseServers(file, data, s.paths.Guard())
		return byName(list), err
	})
	if ok && !reflect.DeepEqual(servers, s.servers) {
		s.servers, changed = servers, true
	}
	settings, ok := load(s, s.paths.SettingsFile(), func(file string, data []byte) (Settings, error) {
		return ParseSettings(file, data, s.paths.Isolated)
	})
	if ok && settings != s.settings {
		s.settings, changed = settings, true
	}
	lock, ok := load(s, s.paths.LockFile(), ParseLock)
	if ok && !reflect.DeepEqual(lock, s.lock) {
		s.lock, changed = lock, true
	}
	return changed
}

func load[T any](s *Store, file string, parse func(string, []byte) (T, error)) (T, bool) {
	var out T
	data, err := readFile(file)
	if err == nil {
		out, err = parse(file, data)
	}
	if err != nil {
		s.problems[file] = err
		return out, false
	}
	delete(s.problems, file)
	return out, true
}

func byName(list []sandbox.Server) map[sandbox.ServerName]sandbox.Server {
	out := make(map[sandbox.ServerName]sandbox.Server, len(list))
	for _, srv := range list {
		out[srv.Name] = srv
	}
	return out
}

// Put adds servers to servers.yaml, or replaces those of the same name, all or none. A file that
// does not parse is not touched (FailedPrecondition).
func (s *Store) Put(servers ...sandbox.Server) error {
	return s.change(func(file string, data []byte, _ []sandbox.Server) ([]byte, error) {
		for _, srv := range servers {
			var err error
			if data, err = putServer(file, data, srv); err != nil {
				return nil, err
			}
		}
		return data, nil
	})
}

// Update changes one server as servers.yaml declares it when no other change is under way, so that none
// is lost: edit gets it, and must not call the Store. What edit returns is returned, and nothing is
// changed then. NotFound if there is no such server, FailedPrecondition for a file that does not parse.
func (s *Store) Update(name sandbox.ServerName, edit func(*sandbox.Server) error) error {
	return s.change(func(file string, data []byte, now []sandbox.Server) ([]byte, error) {
		i := slices.IndexFunc(now, func(srv sandbox.Server) bool { return srv.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("change server %s: it is not in servers.yaml: %w", name, errdefs.ErrNotFound)
		}
		if err := edit(&now[i]); err != nil {
			return nil, err
		}
		return putServer(file, data, now[i])
	})
}

// Remove takes a server out of servers.yaml and its lock entry with it. NotFound if there is none.
func (s *Store) Remove(name sandbox.ServerName) error {
	if _, ok := s.Server(name); !ok {
		return fmt.Errorf("remove server %s: %w", name, errdefs.ErrNotFound)
	}
	err := s.change(func(file string, data []byte, _ []sandbox.Server) ([]byte, error) {
		return dropServer(file, data, name)
	})
	if err != nil {
		return err
	}
	return s.changeLock(func(l *Lock) {
		delete(l.Packages, name)
		delete(l.Images, name)
		delete(l.Pins, name)
	})
}

// change edits servers.yaml as it is on disk now, which declares now, and puts the outcome in force.
func (s *Store) change(edit func(file string, data []byte, now []sandbox.Server) ([]byte, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := s.paths.ServersFile()
	old, err := readFile(file)
	if err != nil {
		return err
	}
	now, err := ParseServers(file, old, s.paths.Guard())
	if err != nil {
		return fmt.Errorf("change servers.yaml: mend it first: %w: %w", err, errdefs.ErrFailedPrecondition)
	}
	data, err := edit(file, old, now)
	if err != nil {
		return err
	}
	list, err := ParseServers(file, data, s.paths.Guard())
	if err != nil {
		return fmt.Errorf("change servers.yaml: %w", err)
	}
	if string(data) != string(old) {
		if err := writeFile(file, data); err != nil {
			return err
		}
	}
	s.servers = byName(list)
	delete(s.problems, file)
	return nil
}

// SetPackage records in garita.lock what was installed for a server.
func (s *Store) SetPackage(name sandbox.ServerName, p sandbox.Package) error {
	return s.changeLock(func(l *Lock) { l.Packages[name] = p })
}

// SetUpdated records in garita.lock another package of a server and what was accepted of it, both
// or neither.
func (s *Store) SetUpdated(name sandbox.ServerName, p sandbox.Package, accepted Pins) error {
	return s.changeLock(func(l *Lock) {
		if l.Pins == nil {
			l.Pins = map[sandbox.ServerName]Pins{}
		}
		l.Packages[name], l.Pins[name] = p, accepted
	})
}

// SetUpdatedImage is SetUpdated, for a server that runs from an image.
func (s *Store) SetUpdatedImage(name sandbox.ServerName, i Image, accepted Pins) error {
	return s.changeLock(func(l *Lock) {
		if l.Pins == nil {
			l.Pins = map[sandbox.ServerName]Pins{}
		}
		l.Images[name], l.Pins[name] = i, accepted
	})
}

// SetImage records in garita.lock which image a server runs from.
func (s *Store) SetImage(name sandbox.ServerName, i Image) error {
	return s.changeLock(func(l *Lock) {
		if l.Images == nil {
			l.Images = map[sandbox.ServerName]Image{}
		}
		l.Images[name] = i
	})
}

// SetPins records in garita.lock what was accepted of a server.
func (s *Store) SetPins(name sandbox.ServerName, p Pins) error {
	return s.changeLock(func(l *Lock) {
		if l.Pins == nil {
			l.Pins = map[sandbox.ServerName]Pins{}
		}
		l.Pins[name] = p
	})
}

func (s *Store) changeLock(edit func(*Lock)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := s.paths.LockFile()
	old, err := readFile(file)
	if err != nil {
		return err
	}
	next, err := ParseLock(file, old)
	if err != nil {
		return err
	}
	if next.Packages == nil {
		next.Packages = map[sandbox.ServerName]sandbox.Package{}
	}
	edit(&next)
	data, err := next.bytes()
	if err != nil {
		return err
	}
	if string(data) == string(old) {
		return nil
	}
	if err := writeFile(file, data); err != nil {
		return err
	}
	if s.lock, err = ParseLock(file, data); err != nil { // as it reads back, so that reading it is no change
		return err
	}
	delete(s.problems, file)
	return nil
}
