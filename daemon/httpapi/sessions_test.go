package httpapi

import (
	"testing"
	"time"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func newClock() *clock { return &clock{at: time.Unix(1e9, 0)} }

func TestALinkIsClaimedOnceAndInTime(t *testing.T) {
	c := newClock()
	s := newSessions(c.now)
	first, _ := s.link(nil)
	second, _ := s.link(nil)
	cookie, token, ok := s.claim(first)
	if !ok || cookie == token {
		t.Fatalf("got %q, %q, %v", cookie, token, ok)
	}
	if _, _, ok := s.claim(first); ok {
		t.Error("claimed twice")
	}
	if _, _, ok := s.claim(""); ok {
		t.Error("claimed with nothing")
	}
	c.pass(linkLife)
	if _, _, ok := s.claim(second); ok {
		t.Error("claimed too late")
	}
	if _, ok := s.find(cookie, token); !ok {
		t.Error("the session is not there")
	}
}

func TestASessionNeedsBothSecretsOfTheSameOne(t *testing.T) {
	c := newClock()
	s := newSessions(c.now)
	claim := func() (string, string) {
		link, _ := s.link(nil)
		cookie, token, _ := s.claim(link)
		return cookie, token
	}
	cookie1, token1 := claim()
	cookie2, token2 := claim()
	for name, pair := range map[string][2]string{
		"no token":           {cookie1, ""},
		"no cookie":          {"", token1},
		"nothing":            {"", ""},
		"another's token":    {cookie1, token2},
		"another's cookie":   {cookie2, token1},
		"swapped":            {token1, cookie1},
		"the cookie as both": {cookie1, cookie1},
	} {
		if _, ok := s.find(pair[0], pair[1]); ok {
			t.Errorf("%s: let in", name)
		}
	}
	if _, ok := s.find(cookie2, token2); !ok {
		t.Error("the right pair is refused")
	}
	c.pass(sessionLife)
	if _, ok := s.find(cookie1, token1); ok {
		t.Error("let in after its end")
	}
}

func TestLinksAndSessionsAreBounded(t *testing.T) {
	c := newClock()
	s := newSessions(c.now)
	first, _ := s.link(nil)
	for range maxLinks {
		c.pass(time.Second)
		s.link(nil)
	}
	if len(s.links) != maxLinks {
		t.Errorf("%d links", len(s.links))
	}
	if _, _, ok := s.claim(first); ok {
		t.Error("the oldest link was kept")
	}
	for range maxSessions + 1 {
		link, _ := s.link(nil)
		s.claim(link)
	}
	if len(s.byKey) != maxSessions {
		t.Errorf("%d sessions", len(s.byKey))
	}
}

func TestAFloodOfRefusalsIsRecordedInPart(t *testing.T) {
	c := newClock()
	f := newRefusals(c.now)
	said := 0
	for range 1000 {
		if _, ok := f.take(); ok {
			said++
		}
	}
	if said != refusalBurst {
		t.Errorf("%d recorded", said)
	}
	c.pass(refusalPause)
	unsaid, ok := f.take()
	if !ok || unsaid != 1000-refusalBurst {
		t.Errorf("got %d, %v", unsaid, ok)
	}
}
