package engine

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxScan bounds how many entries of a folder are looked at, maxNamed how many findings are named.
const (
	maxScan  = 20_000
	maxNamed = 5
	scanAge  = time.Minute // how long a folder's findings hold
)

// scanner finds what leads out of a folder although nothing in its paths does: hard links to files
// elsewhere, and sockets that somebody outside listens on. It remembers for a while.
type scanner struct {
	mu   sync.Mutex // guards seen; also, one scan at a time
	seen map[string]scanned
}

type scanned struct {
	at      time.Time
	notices []string
}

// notices returns sentences for the person about a folder.
func (s *scanner) notices(ctx context.Context, folder string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.seen[folder]; ok && time.Since(known.at) < scanAge {
		return known.notices
	}
	f := scan(ctx, folder)
	if ctx.Err() != nil {
		return nil
	}
	if s.seen == nil {
		s.seen = map[string]scanned{}
	}
	s.seen[folder] = scanned{time.Now(), f.notices(folder)}
	return s.seen[folder].notices
}

type inode struct{ dev, ino uint64 }

// linked is a file with several names: how many it has, and those seen in the folder.
type linked struct {
	names uint64
	seen  []string
}

type findings struct {
	links   map[inode]*linked
	sockets []string
	cut     bool // not everything was looked at
}

func scan(ctx context.Context, folder string) findings {
	f := findings{links: map[inode]*linked{}}
	n := 0
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxScan || ctx.Err() != nil {
			f.cut = true
			return fs.SkipAll
		}
		if err != nil {
			return nil // what cannot be read here cannot be read inside
		}
		f.look(strings.TrimPrefix(path, folder+"/"), d)
		return nil
	})
	return f
}

func (f *findings) look(name string, d fs.DirEntry) {
	if d.Type() == fs.ModeSocket {
		f.sockets = append(f.sockets, name)
		return
	}
	if !d.Type().IsRegular() {
		return
	}
	info, err := d.Info()
	if err != nil {
		return
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Nlink < 2 {
		return
	}
	id := inode{st.Dev, st.Ino}
	if f.links[id] == nil {
		f.links[id] = &linked{names: st.Nlink}
	}
	f.links[id].seen = append(f.links[id].seen, name)
}

// outside are the names of files that have more names than were seen in the folder.
func (f *findings) outside() []string {
	var names []string
	for _, l := range f.links {
		if uint64(len(l.seen)) < l.names {
			names = append(names, l.seen...)
		}
	}
	slices.Sort(names)
	return names
}

func (f *findings) notices(folder string) []string {
	var notices []string
	if names := f.outside(); len(names) > 0 {
		notices = append(notices, fmt.Sprintf("%s in %s may be hard links to files outside of it: %s.", count(len(names), "file"), folder, some(names)))
	}
	if len(f.sockets) > 0 {
		notices = append(notices, fmt.Sprintf("%s in %s can be connected to from inside: %s.", count(len(f.sockets), "socket"), folder, some(f.sockets)))
	}
	if f.cut {
		notices = append(notices, fmt.Sprintf("%s is large: hard links and sockets were looked for among its first %d entries only.", folder, maxScan))
	}
	return notices
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// some names the first few; names come from the folder, so they are quoted.
func some(names []string) string {
	var quoted []string
	for _, n := range names[:min(len(names), maxNamed)] {
		quoted = append(quoted, fmt.Sprintf("%q", n))
	}
	if len(names) > maxNamed {
		quoted = append(quoted, "…")
	}
	return strings.Join(quoted, ", ")
}

// scanFolders adds notices about the box's folders while it runs; it is waited for by supervise.
func (e *Engine) scanFolders(ctx context.Context, b *box) {
	for _, f := range b.launch.Folders {
		for _, n := range e.scanner.notices(ctx, f.Host) {
			b.notice(n)
		}
	}
}
