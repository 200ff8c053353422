package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"
)

// The lives and numbers of links and sessions.
const (
	linkLife    = 60 * time.Second
	sessionLife = 12 * time.Hour
	maxLinks    = 16
	maxSessions = 32
)

// hash stands for a secret: what is kept cannot be used to get in.
type hash [sha256.Size]byte

func hashOf(secret string) hash { return sha256.Sum256([]byte(secret)) }

// session is a browser that has claimed a link.
type session struct {
	token  hash // of the second secret, which cookies do not carry
	until  time.Time
	opened Opener
	live   context.Context // ends with the session; what was begun in it ends too
	end    context.CancelFunc
}

// link waits to be claimed.
type link struct {
	until  time.Time
	opened Opener
}

// sessions are the links waiting to be claimed and the browsers that have claimed one. They live in
// memory: a restart of the daemon ends them.
type sessions struct {
	now func() time.Time

	mu    sync.Mutex // guards the fields below
	links map[hash]link
	byKey map[hash]session // by the hash of the cookie's secret
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, links: map[hash]link{}, byKey: map[hash]session{}}
}

// link makes a secret that can be claimed once, until the time returned.
func (s *sessions) link(opened Opener) (secret string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	for len(s.links) >= maxLinks {
		delete(s.links, oldest(s.links, func(l link) time.Time { return l.until }))
	}
	secret, until = rand.Text()+rand.Text(), s.now().Add(linkLife)
	s.links[hashOf(secret)] = link{until, opened}
	return secret, until
}

// claim trades a link's secret, once, for a session's two: of the cookie and of the header.
func (s *sessions) claim(secret string) (cookie, token string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	h := hashOf(secret)
	claimed, ok := s.links[h]
	if !ok {
		return "", "", false
	}
	delete(s.links, h)
	for len(s.byKey) >= maxSessions {
		s.drop(oldest(s.byKey, func(v session) time.Time { return v.until }))
	}
	cookie, token = rand.Text()+rand.Text(), rand.Text()+rand.Text()
	live, end := context.WithCancel(context.Background())
	s.byKey[hashOf(cookie)] = session{token: hashOf(token), until: s.now().Add(sessionLife), opened: claimed.opened, live: live, end: end}
	return cookie, token, true
}

// find says which session both secrets belong to.
func (s *sessions) find(cookie, token string) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	found, ok := s.byKey[hashOf(cookie)]
	given := hashOf(token)
	if subtle.ConstantTimeCompare(found.token[:], given[:]) != 1 || !ok {
		return session{}, false
	}
	return found, true
}

// end is for a browser that signs out.
func (s *sessions) end(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(hashOf(cookie))
}

// drop ends a session. s.mu is held.
func (s *sessions) drop(h hash) {
	if v, ok := s.byKey[h]; ok {
		v.end()
		delete(s.byKey, h)
	}
}

// expire forgets what is over.
func (s *sessions) expire() {
	now := s.now()
	for h, l := range s.links {
		if !now.Before(l.until) {
			delete(s.links, h)
		}
	}
	for h, v := range s.byKey {
		if !now.Before(v.until) {
			s.drop(h)
		}
	}
}

// oldest finds the key whose value ends first.
func oldest[V any](m map[hash]V, until func(V) time.Time) hash {
	var first hash
	var when time.Time
	for h, v := range m {
		if t := until(v); when.IsZero() || t.Before(when) {
			first, when = h, t
		}
	}
	return first
}
