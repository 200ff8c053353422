package grants

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// Set is the grants in force, in memory. Looking up takes no lock and, where an agent has been
// granted nothing at a server, allocates nothing. It is safe for concurrent use; the zero Set is empty.
type Set struct {
	mu    sync.Mutex // held while it is changed
	state atomic.Pointer[state]
}

// state is the grants at one moment; it is never changed.
type state struct {
	byOwner map[owner][]approvals.Grant
	byID    map[approvals.GrantID]approvals.Grant
}

// owner is whose a grant is, and for which server.
type owner struct {
	principal approvals.Principal
	server    sandbox.ServerName
}

var nothing state

func (s *Set) now() *state {
	if p := s.state.Load(); p != nil {
		return p
	}
	return &nothing
}

// Cover implements approvals.Grants.
func (s *Set) Cover(c approvals.Call, now time.Time) approvals.Coverage {
	list := s.now().byOwner[owner{c.Principal, c.Server}]
	if len(list) == 0 {
		return approvals.Coverage{}
	}
	return cover(list, c, now).coverage()
}

// Since is s as if there were only what was permitted at a moment or later.
func (s *Set) Since(from time.Time) approvals.Grants { return since{s, from} }

type since struct {
	set  *Set
	from time.Time
}

// Cover implements approvals.Grants.
func (s since) Cover(c approvals.Call, now time.Time) approvals.Coverage {
	list := slices.DeleteFunc(slices.Clone(s.set.now().byOwner[owner{c.Principal, c.Server}]), func(g approvals.Grant) bool {
		return g.Created.Before(s.from)
	})
	return cover(list, c, now).coverage()
}

// Stands says whether every grant that d rests on is still in force.
func (s *Set) Stands(d approvals.Decision, now time.Time) bool {
	if d.Grants == "" {
		return true
	}
	byID := s.now().byID
	for _, id := range d.Grants.List() {
		g, there := byID[id]
		if !there || !g.Until.IsZero() && !now.Before(g.Until) {
			return false
		}
	}
	return true
}

// Add takes g up.
func (s *Set) Add(g approvals.Grant) {
	s.change(func(byID map[approvals.GrantID]approvals.Grant) { byID[g.ID] = g })
}

// Remove lets a grant go; false when there is none.
func (s *Set) Remove(id approvals.GrantID) (there bool) {
	s.change(func(byID map[approvals.GrantID]approvals.Grant) {
		_, there = byID[id]
		delete(byID, id)
	})
	return there
}

// EndSession lets go what was granted for a session.
func (s *Set) EndSession(id approvals.SessionID) {
	if !slices.ContainsFunc(s.List(), func(g approvals.Grant) bool { return g.Session == id && id != "" }) {
		return
	}
	s.change(func(byID map[approvals.GrantID]approvals.Grant) {
		maps.DeleteFunc(byID, func(_ approvals.GrantID, g approvals.Grant) bool { return g.Session == id })
	})
}

// List is the grants in force, the oldest first. Their uses are as they were when they were added.
func (s *Set) List() []approvals.Grant {
	return slices.SortedFunc(maps.Values(s.now().byID), older)
}

func older(a, b approvals.Grant) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

func (s *Set) change(do func(map[approvals.GrantID]approvals.Grant)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	byID := maps.Clone(s.now().byID)
	if byID == nil {
		byID = map[approvals.GrantID]approvals.Grant{}
	}
	do(byID)
	next := &state{byID: byID, byOwner: map[owner][]approvals.Grant{}}
	for _, g := range slices.SortedFunc(maps.Values(byID), older) {
		key := owner{g.Principal, g.Server}
		next.byOwner[key] = append(next.byOwner[key], g)
	}
	s.state.Store(next)
}
