// Package swap decides where in an HTTP request a sentinel is swapped for the secret's value, and
// makes the new request. It is pure: it sends nothing and asks nobody.
//
// A value is put where its placeholder says, to hosts that it names, until its time is over; there the
// sentinel has to stand as a value of its own. Wherever else a sentinel stands it stays, and that is
// told. No error and no report holds a value.
package swap

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/net/http/httpguts"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/scan"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// Target is where a request goes.
type Target struct {
	Host  string // as sandbox.Name makes it, or an address
	Port  uint16
	Clear bool // it is not encrypted
	Near  bool // it stays on this machine or in a private network; only there a value may go in the clear
}

// Places that no grant can name, for reports.
const (
	InPath    sandbox.PlaceKind = "path" // of the URL, and the method
	InTrailer sandbox.PlaceKind = "trailer"
	InAnswer  sandbox.PlaceKind = "answer" // of the host
)

// Set is a sandbox's placeholders. It does not change and may be used by many at the same time; the
// zero Set is none.
type Set struct {
	all        []*wire.Placeholder
	bySentinel map[string]*wire.Placeholder
	sentinels  *scan.Scanner
	values     *scan.Scanner
}

// New makes a Set of those of all that can be used; the error is about the others. Nothing that cannot
// be used keeps what can from being, or from being taken away.
//
// Errors: UnusableError, joined.
func New(all []wire.Placeholder) (*Set, error) {
	s := &Set{bySentinel: map[string]*wire.Placeholder{}}
	var sentinels, values []scan.Pair
	var errs []error
	for i := range all {
		p := &all[i]
		if why := s.unusable(p); why != "" {
			errs = append(errs, &UnusableError{p.Secret, p.Version, why})
			continue
		}
		s.all = append(s.all, p)
		s.bySentinel[p.Sentinel] = p
		sentinels = append(sentinels, scan.Pair{Find: p.Sentinel, Name: p.Sentinel})
		values = append(values, scan.Pair{Find: p.Value.Send(), Put: p.Sentinel, Name: p.Sentinel})
	}
	s.sentinels, s.values = scan.New(sentinels), scan.New(values)
	return s, errors.Join(errs...)
}

// UnusableError is a placeholder that cannot be used, or not toward one of its hosts. It is an InvalidArgument.
type UnusableError struct {
	Secret  string
	Version int64
	Why     string
}

func (e *UnusableError) Error() string {
	return fmt.Sprintf("the placeholder for secret %q cannot be used: %s", e.Secret, e.Why)
}

// Unwrap is for errdefs.
func (e *UnusableError) Unwrap() error { return errdefs.ErrInvalidArgument }

// All are those of its placeholders that can be used.
func (s *Set) All() []wire.Placeholder {
	all := make([]wire.Placeholder, 0, len(s.all))
	for _, p := range s.all {
		all = append(all, *p)
	}
	return all
}

// Values finds values, and puts sentinels in their place.
func (s *Set) Values() *scan.Scanner { return s.values }

// Sentinels finds sentinels; the names it gives are for Late.
func (s *Set) Sentinels() *scan.Scanner { return s.sentinels }

// Empty says that there are no placeholders.
func (s *Set) Empty() bool { return len(s.all) == 0 }

// minSentinel is how long a sentinel is at least, in bytes: shorter ones are in other texts by chance.
const minSentinel = 8

func (s *Set) unusable(p *wire.Placeholder) string {
	value := p.Value.Send()
	switch {
	case len(p.Sentinel) < minSentinel, len(value) < minSentinel:
		return fmt.Sprintf("it and its value need at least %d characters to be told from other text; the mode env has no such limit", minSentinel)
	case strings.Contains(p.Sentinel, value), strings.Contains(value, p.Sentinel):
		return "it holds its value"
	case len(p.Places) == 0:
		return "it names no place in a request"
	case len(p.Hosts) == 0:
		return "it names no host"
	}
	for _, place := range p.Places {
		if why := badPlace(place); why != "" {
			return why
		}
	}
	for _, other := range s.all {
		if strings.Contains(p.Sentinel, other.Sentinel) || strings.Contains(other.Sentinel, p.Sentinel) {
			return fmt.Sprintf("it cannot be told from that for secret %q", other.Secret)
		}
	}
	return ""
}

// kept are headers that say how a request travels, or that a proxy has to itself.
var kept = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Range", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func badPlace(place sandbox.SecretPlace) string {
	switch {
	case place.Name == "":
		return "one of its places has no name"
	case place.In == sandbox.InQuery, place.In == sandbox.InBody:
		return ""
	case place.In != sandbox.InHeader:
		return fmt.Sprintf("%q is no place in a request", place.In)
	case !httpguts.ValidHeaderFieldName(place.Name), slices.Contains(kept, canonical(place.Name)):
		return fmt.Sprintf("no value can be put in the header %q", place.Name)
	}
	return ""
}

func canonical(header string) string { return textproto.CanonicalMIMEHeaderKey(header) }

// Opens says whether a placeholder in force may be sent to that host, so that what is sent there has to
// be looked into.
func (s *Set) Opens(to Target, now time.Time) bool {
	return slices.ContainsFunc(s.all, func(p *wire.Placeholder) bool { return refuses(p, to, now) == "" })
}

// Current is what s has for exactly that sentinel and exactly that value, if it may be sent to that host;
// nil where it has nothing.
func (s *Set) Current(p *wire.Placeholder, to Target, now time.Time) *wire.Placeholder {
	mine := s.bySentinel[p.Sentinel]
	if mine == nil || mine.Value.Send() != p.Value.Send() || refuses(mine, to, now) != "" {
		return nil
	}
	return mine
}

// refuses says why p may not be sent to a host; "" when it may.
func refuses(p *wire.Placeholder, to Target, now time.Time) string {
	matching := slices.DeleteFunc(slices.Clone(p.Hosts), func(e sandbox.Endpoint) bool { return !e.Matches(to.Host, to.Port) })
	switch {
	case len(matching) == 0:
		return "It may be sent to " + hosts(p) + " only."
	case !p.Until.IsZero() && !now.Before(p.Until):
		return "The permission to send it ended at " + p.Until.UTC().Format(time.RFC3339) + "."
	case to.Clear && !to.Near:
		return "The connection is not encrypted."
	case to.Clear && !slices.ContainsFunc(matching, func(e sandbox.Endpoint) bool { return e.Host == to.Host }):
		return "The connection is not encrypted, and no rule names this very host and port."
	}
	return ""
}

func hosts(p *wire.Placeholder) string {
	var all []string
	for _, e := range p.Hosts {
		all = append(all, e.String())
	}
	return strings.Join(all, ", ")
}

// places are p's, in words.
func places(p *wire.Placeholder) string {
	var all []string
	for _, place := range p.Places {
		switch place.In {
		case sandbox.InHeader:
			all = append(all, "the header "+canonical(place.Name))
		case sandbox.InQuery:
			all = append(all, "the query's parameter "+place.Name)
		case sandbox.InBody:
			all = append(all, "the body's member "+place.Name)
		}
	}
	return strings.Join(all, ", ")
}

// declares says whether p may stand at place.
func declares(p *wire.Placeholder, place sandbox.SecretPlace) bool {
	return slices.ContainsFunc(p.Places, func(own sandbox.SecretPlace) bool {
		if own.In == sandbox.InHeader && place.In == sandbox.InHeader {
			return canonical(own.Name) == canonical(place.Name)
		}
		return own == place
	})
}

// Stay is a sentinel that is not swapped.
type Stay struct {
	Placeholder *wire.Placeholder
	Place       sandbox.SecretPlace
	Why         string // a sentence
}

// Use is a sentinel that is swapped.
type Use struct {
	Placeholder *wire.Placeholder
	Place       sandbox.SecretPlace
}

// Late is the sentinel of a name, found after its request had begun to leave; false when there is none.
func (s *Set) Late(name string, place sandbox.SecretPlace, to Target, now time.Time, why string) (Stay, bool) {
	which := s.bySentinel[name]
	if which == nil {
		return Stay{}, false
	}
	p := &Plan{set: s, to: to, now: now}
	if place.In == sandbox.InBody {
		p.inBody(which, why)
	} else {
		p.stay(which, place, why)
	}
	return p.Stays[0], true
}

// Plan is what is to be done with a request. Each secret and place is listed once.
type Plan struct {
	Uses  []Use
	Stays []Stay

	set    *Set
	to     Target
	now    time.Time
	header http.Header // those that change
	query  string      // when it changes
	body   []byte      // when it changes
}

// Plan decides about a request. body is all of its body, or nil where that is not looked into: see
// Reads.
func (s *Set) Plan(r *http.Request, body []byte, to Target, now time.Time) *Plan {
	p := &Plan{set: s, to: to, now: now, header: http.Header{}}
	if s.Empty() {
		return p
	}
	p.look(r.Method+" "+r.URL.EscapedPath(), sandbox.SecretPlace{In: InPath}, "It stands in the URL's path.")
	p.doQuery(r.URL.RawQuery)
	for name, values := range r.Header {
		p.doHeader(name, values)
	}
	p.doBody(r.Header, body)
	return p
}

// Apply is r with the values in place. What it shares with r is not changed.
func (p *Plan) Apply(r *http.Request) *http.Request {
	out := r.WithContext(r.Context())
	if len(p.header) > 0 {
		out.Header = r.Header.Clone()
		for name, values := range p.header {
			out.Header[name] = values
		}
	}
	if p.query != "" {
		u := *r.URL
		u.RawQuery = p.query
		out.URL = &u
	}
	return out
}

// Body is the body with the values in place; nil where it stays as it is.
func (p *Plan) Body() []byte { return p.body }

// look reports what sentinels stand in a text in which none is swapped.
func (p *Plan) look(text string, place sandbox.SecretPlace, why string) {
	for _, name := range p.set.sentinels.Names(text) {
		p.stay(p.set.bySentinel[name], place, why)
	}
}

func (p *Plan) stay(which *wire.Placeholder, place sandbox.SecretPlace, why string) {
	if refused := refuses(which, p.to, p.now); refused != "" {
		why = refused
	} else if !declares(which, place) {
		why = "It may be put in " + places(which) + " only."
		place.Name = shown(place.Name)
	}
	one := Stay{which, place, why}
	if !slices.Contains(p.Stays, one) {
		p.Stays = append(p.Stays, one)
	}
}

// maxShown bounds a name that the sandbox has chosen, in bytes.
const maxShown = 64

// shown is such a name for a report.
func shown(name string) string {
	name = name[:min(len(name), maxShown)]
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, name)
}

// put is the value for a text that stands at place, if it is a sentinel that may be swapped there.
func (p *Plan) put(place sandbox.SecretPlace, text string) (value string, ok bool) {
	which := p.set.bySentinel[text]
	if which == nil || !p.may(which, place) {
		return "", false
	}
	p.use(which, place)
	return which.Value.Send(), true
}

func (p *Plan) may(which *wire.Placeholder, place sandbox.SecretPlace) bool {
	return declares(which, place) && refuses(which, p.to, p.now) == ""
}

func (p *Plan) use(which *wire.Placeholder, place sandbox.SecretPlace) {
	one := Use{which, place}
	if !slices.Contains(p.Uses, one) {
		p.Uses = append(p.Uses, one)
	}
}
