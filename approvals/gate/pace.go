package gate

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/garita-dev/garita/approvals"
)

// pace bounds how many questions a minute one session and one agent may ask, so that nobody is worn
// down into a yes. Each may ask a minute's worth at once. Its user holds Gate.mu.
type pace struct {
	session, agent int // a minute
	sessions       map[approvals.SessionID]*rate.Limiter
	agents         map[approvals.Principal]*rate.Limiter
}

// maxPaced is how many sessions, or agents, are kept track of before the idle are let go.
const maxPaced = 1000

func newPace(session, agent int) pace {
	return pace{
		session: session, agent: agent,
		sessions: map[approvals.SessionID]*rate.Limiter{}, agents: map[approvals.Principal]*rate.Limiter{},
	}
}

// take counts a question of c's session and agent, or says which of them has asked too often.
func (p pace) take(c approvals.Call, now time.Time) (full string) {
	session, agent := limiter(p.sessions, c.Session, p.session, now), limiter(p.agents, c.Principal, p.agent, now)
	switch {
	case session.TokensAt(now) < 1:
		return tooMany("session", p.session)
	case agent.TokensAt(now) < 1:
		return tooMany("agent", p.agent)
	}
	session.AllowN(now, 1)
	agent.AllowN(now, 1)
	return ""
}

func tooMany(who string, limit int) string {
	return fmt.Sprintf("This %s has asked a person more than %d questions within a minute, so nobody was asked. Wait a minute, make fewer calls that need an answer, or ask the person to allow several at once.", who, limit)
}

// limiter is the one of key, made where it is missing.
func limiter[K comparable](all map[K]*rate.Limiter, key K, perMinute int, now time.Time) *rate.Limiter {
	l, known := all[key]
	if known {
		return l
	}
	if len(all) >= maxPaced {
		for other, l := range all {
			if l.TokensAt(now) >= float64(l.Burst()) {
				delete(all, other)
			}
		}
	}
	l = rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute)
	all[key] = l
	return l
}
