package engine

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// maxSightings bounds what is kept of one sandbox; more is counted as lost.
const maxSightings = 2000

// sightings is what was seen in one observed sandbox.
type sightings struct {
	mu    sync.Mutex // guards the fields below
	seq   int64
	kept  map[string]*sandbox.Sighting
	rolls bool // the oldest makes room for more
	lost  int
	blind string
	over  bool
	more  chan struct{} // closed and replaced when there is more to tell
}

func newSightings() *sightings {
	return &sightings{kept: map[string]*sandbox.Sighting{}, more: make(chan struct{})}
}

// add notes one thing that was done at a moment.
func (s *sightings) add(kind sandbox.SightingKind, l look) {
	s.put(sandbox.Sighting{Kind: kind, Path: l.path, Argv: l.argv, Write: l.write}, l.at)
}

// put notes what was seen at a moment, or that it was seen once more; kept is false where there is too much.
func (s *sightings) put(what sandbox.Sighting, at time.Time) (kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s %t %q %q %q %q %q %d", what.Kind, what.Write, what.Path, what.Argv, what.Dir, what.Pattern, what.Why, what.Ask)
	one := s.kept[key]
	switch {
	case one == nil && len(s.kept) >= maxSightings && !s.rolls:
		s.lost++
		return false
	case one == nil:
		s.makeRoom()
		one = &what
		one.First = at
		s.kept[key] = one
	}
	s.seq++
	one.Seq, one.Last = s.seq, at
	one.Count++
	s.tell()
	return true
}

// makeRoom lets go of what was seen longest ago, where there is too much. s.mu is held.
func (s *sightings) makeRoom() {
	if len(s.kept) < maxSightings {
		return
	}
	oldest, seq := "", s.seq+1
	for key, one := range s.kept {
		if one.Seq < seq {
			oldest, seq = key, one.Seq
		}
	}
	delete(s.kept, oldest)
}

func (s *sightings) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost++
}

// end says that nothing more will be seen: the sandbox is over, or, with a reason, not to be looked into.
func (s *sightings) end(blind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if blind == "" {
		s.over = true
	} else if s.blind == "" {
		s.blind = blind
	}
	s.tell()
}

// tell wakes whoever waits. s.mu is held.
func (s *sightings) tell() {
	close(s.more)
	s.more = make(chan struct{})
}

// after is what was seen behind seq; while there is nothing new it waits until ctx ends.
func (s *sightings) after(ctx context.Context, seq int64) sandbox.Sightings {
	for {
		s.mu.Lock()
		out := sandbox.Sightings{List: []sandbox.Sighting{}, Lost: s.lost, Blind: s.blind, Over: s.over}
		for _, one := range s.kept {
			if one.Seq > seq {
				out.List = append(out.List, *one)
			}
		}
		more := s.more
		s.mu.Unlock()
		if len(out.List) > 0 || out.Over {
			slices.SortFunc(out.List, func(a, b sandbox.Sighting) int { return int(a.Seq - b.Seq) })
			return out
		}
		select {
		case <-more:
		case <-ctx.Done():
			return out
		}
	}
}

// getSightings answers what was seen in an observed sandbox behind ?after, and waits up to ?wait
// milliseconds for something.
func (e *Engine) getSightings(r *http.Request, b *box) (any, error) {
	if b.seen == nil {
		return nil, fmt.Errorf("instance %s is not observed: %w", b.launch.ID, errdefs.ErrFailedPrecondition)
	}
	after, err := strconv.ParseInt(r.FormValue("after"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("after: %w: %w", err, errdefs.ErrInvalidArgument)
	}
	wait, err := strconv.ParseInt(r.FormValue("wait"), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("wait: %w: %w", err, errdefs.ErrInvalidArgument)
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(wait)*time.Millisecond)
	defer cancel()
	return b.seen.after(ctx, after), nil
}

// observe gets ready to be asked by the kernel about the programs of b, at the returned socket in dir.
func (b *box) observe(dir string) (socket string, err error) {
	if !b.launch.Observe && b.launch.Exec == nil {
		return "", nil
	}
	socket = filepath.Join(dir, "n")
	w := &watcher{note: b.seen, files: b.launch.Observe, skip: b.visible(), mounts: b.mounted(), broken: b.blinded}
	if b.launch.Exec != nil {
		if b.held, err = newHolder(*b.launch.Exec, b.seen, b.unheld); err != nil {
			return "", fmt.Errorf("hold %s to its rules for commands: %w", b.launch.Server, err)
		}
		w.held, b.held.touch = b.held, func(name string) { w.touch(look{path: name, at: time.Now().UTC()}) }
	}
	if err := w.watchAt(socket); err != nil {
		return "", fmt.Errorf("observe %s: %w", b.launch.Server, err)
	}
	b.onUndo(w.close)
	return socket, nil
}

// unheld remembers why programs cannot be held to their rules here.
func (b *box) unheld(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cannot = err
}

// mounted are the places of its mounts.
func (b *box) mounted() (places []string) {
	for _, m := range b.launch.Mounts {
		places = append(places, m.At)
	}
	return places
}

// blinded ends a sandbox whose programs wait for answers that do not come any more.
func (b *box) blinded(err error) {
	b.seen.end("What its programs do could no longer be seen, and so it was ended: " + err.Error() + ".")
	_ = b.signal(killed)
}

// visible is what is there by our doing, and below which nothing that is missing could be given.
func (b *box) visible() []string {
	dirs := []string{
		"/usr", "/etc", "/proc", "/sys", "/dev", "/run", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin",
		"/boot", "/.garita", "/workspace", sandbox.PackageRoot,
	}
	for _, f := range b.launch.Folders {
		dirs = append(dirs, f.Host)
	}
	for _, m := range b.launch.Mounts {
		dirs = append(dirs, m.At)
	}
	if t := b.launch.Root.Toolchain; t != "" {
		dirs = append(dirs, t)
	}
	return dirs
}

// notHeld makes plain why a sandbox with rules for commands was not started, where that is due to them.
func notHeld(l sandbox.Launch, b *box, err error) error {
	if l.Exec == nil {
		return err
	}
	var why error
	if b != nil {
		b.mu.Lock()
		why = b.cannot
		b.mu.Unlock()
	}
	switch {
	case why == nil && strings.Contains(err.Error(), "seccomp"):
		why = err
	case why == nil:
		return err
	}
	return fmt.Errorf("start %s: this machine's kernel or runc cannot hold it to its rules for commands: %v; take exec out of servers.yaml, or see garita doctor: %w", l.Server, why, errdefs.ErrFailedPrecondition)
}

// cannotObserve says whether a start failed because this host's runc or kernel cannot ask us.
func cannotObserve(l sandbox.Launch, err error) bool {
	return l.Observe && l.Exec == nil && err != nil && strings.Contains(err.Error(), "seccomp")
}
