package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// span is a stretch of the day in minutes since midnight, to excluded. One that ends before it
// begins goes past midnight.
type span struct {
	from, to int
	text     string // as written
}

func (r *reader) hours(e entry) []span {
	var out []span
	for _, s := range r.list(e) {
		h, ok := parseSpan(s)
		if !ok {
			r.bad(e.at, fmt.Sprintf("hours: %q is no stretch of the day", clip(s)), "", `write it as "09:00-18:00"`)
			continue
		}
		out = append(out, h)
	}
	return out
}

func parseSpan(s string) (span, bool) {
	from, to, ok := strings.Cut(s, "-")
	a, okFrom := parseMinute(strings.TrimSpace(from))
	b, okTo := parseMinute(strings.TrimSpace(to))
	return span{a, b, s}, ok && okFrom && okTo && a != b && a < 24*60
}

// parseMinute reads "09:00" as minutes since midnight; "24:00" is the end of the day.
func parseMinute(s string) (int, bool) {
	if s == "24:00" {
		return 24 * 60, true
	}
	t, err := time.Parse("15:04", s)
	return t.Hour()*60 + t.Minute(), err == nil && len(s) == len("15:04")
}

func (s span) holds(at time.Time) bool {
	m := at.Hour()*60 + at.Minute()
	if s.from < s.to {
		return s.from <= m && m < s.to
	}
	return m >= s.from || m < s.to
}

func onDay(list []string, at time.Time) bool {
	return len(list) == 0 || slices.Contains(list, strings.ToLower(at.Weekday().String()[:3]))
}

func inHours(list []span, at time.Time) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(s span) bool { return s.holds(at) })
}
