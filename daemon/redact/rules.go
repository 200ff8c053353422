package redact

import (
	_ "embed"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/daemon/match"
)

// ruleText is gitleaks' rules, as build/secretrules writes them.
//
//go:embed rules.json
var ruleText []byte

// rule is one shape of a token.
type rule struct {
	ID       string   `json:"id"`
	Regex    string   `json:"regex"`
	Entropy  float64  `json:"entropy"`
	Keywords []string `json:"keywords"`

	assigned bool // it looks for NAME = VALUE rather than for a token that begins as no other does
	leads    bool // a match begins with a keyword
	bounded  bool // and what is before it is no part of a word
	run      int  // bytes without a break that a match has at least
	after    int  // bytes from the keyword's beginning that a match has at most
	compiled func() *regexp.Regexp
}

const (
	// before is how far from a keyword's beginning a match of ours begins, in bytes.
	before = 100
	// longest is how long a match is looked for; the token it ends in is taken whole.
	longest = 1 << 10
	// anyRun is the least run that is worth a closer look.
	anyRun = 8
	// leftOut are rules that would take ordinary results for secrets: assignments to anything named
	// key, and commands. They are for what is kept, where a word too much taken out harms nobody.
	leftOut = " generic-api-key curl-auth-header curl-auth-user kubernetes-secret-yaml nuget-config-password "
)

// elsewhere are rules whose work is done otherwise: private keys are found by their lines.
const elsewhere = " private-key "

// tooCommon are keywords that are no sign of a token: s.name is a field, and a repository of a
// vendor's has other digests than its tokens.
var tooCommon = map[string]bool{"s.": true, "sourcegraph": true}

// tokenEnds is what most rules want behind a token. A comma or a bracket ends one as well.
const tokenEnds = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"

// rules is a set of them and what finds their keywords.
type rules struct {
	all   []*rule
	find  *match.Automaton
	owner []int // the rule of each keyword
}

// precise are the rules for what goes on to a client, wide those for what is kept. Neither is read
// before it is needed; a rule's expression not before its keyword has been met.
var (
	precise = sync.OnceValue(func() *rules { return loadRules(false) })
	wide    = sync.OnceValue(func() *rules { return loadRules(true) })
)

// everyRule is all of them, prepared once.
var everyRule = sync.OnceValue(func() []*rule {
	var list []*rule
	if err := json.Unmarshal(ruleText, &list); err != nil {
		panic("redact: rules.json: " + err.Error()) // it is built in, and a test reads it
	}
	list = append(list, ours()...)
	for _, r := range list {
		r.prepare()
	}
	return list
})

func loadRules(all bool) *rules {
	rs := &rules{}
	var words [][]byte
	for _, r := range everyRule() {
		name := " " + r.ID + " "
		if strings.Contains(elsewhere, name) || !all && strings.Contains(leftOut, name) {
			continue
		}
		rs.all = append(rs.all, r)
		for _, k := range r.Keywords {
			if !tooCommon[k] {
				words, rs.owner = append(words, []byte(strings.ToLower(k))), append(rs.owner, len(rs.all)-1)
			}
		}
	}
	rs.find = match.New(words, true)
	return rs
}

// Keywords are the words at which the rules look closer.
func Keywords() []string {
	var all []string
	for _, r := range precise().all {
		all = append(all, r.Keywords...)
	}
	return all
}

// ours are shapes that gitleaks does not know.
func ours() []*rule {
	return []*rule{
		{ID: "garita-token", Regex: `\bgarita_[A-Za-z0-9_-]{40,}`, Keywords: []string{"garita_"}},
		{ID: "openai-project-key", Regex: `\bsk-(?:proj|svcacct|admin|ant)-[A-Za-z0-9_-]{20,}`, Keywords: []string{"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-ant-"}},
		{ID: "google-oauth-token", Regex: `\bya29\.[A-Za-z0-9_-]{20,}`, Keywords: []string{"ya29."}},
		{ID: "github-token", Regex: `\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})`, Keywords: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}},
		{ID: "aws-key-in-capitals", Regex: `\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`, Keywords: []string{"akia", "asia"}},
	}
}

func (r *rule) prepare() {
	r.assigned = strings.Contains(r.Regex, `[\w.-]{0,50}?`)
	r.run, r.after = anyRun, longest
	if tree, err := syntax.Parse(r.Regex, syntax.Perl); err == nil {
		r.run = max(anyRun, min(leastRun(tree), 24))
		r.after = min(most(tree), longest)
	}
	r.Regex = strings.ReplaceAll(r.Regex, tokenEnds, `(?:\W|$)`)
	r.leads, r.bounded = r.beginning()
	r.compiled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(r.Regex) })
}

// beginning says whether each match begins with a keyword, and behind the end of a word.
func (r *rule) beginning() (leads, bounded bool) {
	text := strings.ToLower(strings.ReplaceAll(r.Regex, `\`, ""))
	text = strings.TrimPrefix(text, "(?i)")
	bounded = strings.HasPrefix(r.Regex, `\b`) || strings.HasPrefix(r.Regex, `(?i)\b`)
	if bounded {
		text = strings.TrimPrefix(text, "b")
	}
	text = strings.TrimPrefix(text, "(")
	for _, k := range r.Keywords {
		if !strings.HasPrefix(text, k) {
			return false, false
		}
	}
	return true, bounded
}

// leastRun is the longest stretch of one class of characters that each match has.
func leastRun(re *syntax.Regexp) int {
	switch re.Op { //nolint:exhaustive // the others match nothing, or may
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCapture:
		return leastRun(re.Sub[0])
	case syntax.OpPlus:
		return leastRun(re.Sub[0])
	case syntax.OpCharClass:
		return 1
	case syntax.OpRepeat:
		if re.Sub[0].Op == syntax.OpCharClass {
			return re.Min
		}
		if re.Min > 0 {
			return leastRun(re.Sub[0])
		}
	case syntax.OpConcat:
		n := 0
		for _, s := range re.Sub {
			n = max(n, leastRun(s))
		}
		return n
	case syntax.OpAlternate:
		n := longest
		for _, s := range re.Sub {
			n = min(n, leastRun(s))
		}
		return n
	}
	return 0
}

// most is how long a match can be, longest where there is no bound.
func most(re *syntax.Regexp) int {
	n := 0
	switch re.Op { //nolint:exhaustive // the others match no characters
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = 1
	case syntax.OpStar, syntax.OpPlus:
		return longest
	case syntax.OpRepeat:
		if re.Max < 0 {
			return longest
		}
		n = re.Max * most(re.Sub[0])
	case syntax.OpConcat, syntax.OpCapture, syntax.OpQuest:
		for _, s := range re.Sub {
			n = min(longest, n+most(s))
		}
	case syntax.OpAlternate:
		for _, s := range re.Sub {
			n = max(n, most(s))
		}
	}
	return min(n, longest)
}

// scan is one text before the rules.
type scan struct {
	rs      *rules
	text    []byte
	runs    []span // stretches of at least anyRun bytes without a break, in order
	taken   []bool // of runs, by takeAll
	pending []span // by rule: the stretch to look at, where keywords were met
	first   []int  // by rule: the first of runs that is not behind its keywords
	met     []int  // the rules whose keywords were met
	budget  *int   // bytes that may still be looked at
	taking  []shaped
	found   []span // in order, without overlap
	ids     map[string]int
}

// shaped is a stretch that a rule takes for a token.
type shaped struct {
	span
	rule string
}

// apply finds what looks like a token in text. What the budget does not suffice to look at is taken
// for one where it could be one: decoys do not get a real one through.
func (rs *rules) apply(text []byte, budget *int) *scan {
	s := &scan{rs: rs, text: text, budget: budget}
	rs.find.Run(0, text, s.keyword)
	for _, r := range s.met {
		s.look(r)
	}
	s.settle()
	return s
}

// settle leaves one of the matches that say the same: rules overlap.
func (s *scan) settle() {
	if len(s.taking) == 0 {
		return
	}
	slices.SortStableFunc(s.taking, func(a, b shaped) int { return a.from - b.from })
	s.ids = map[string]int{}
	for _, m := range s.taking {
		if n := len(s.found); n > 0 && m.from < s.found[n-1].to {
			s.found[n-1].to = max(m.to, s.found[n-1].to)
			continue
		}
		s.ids[m.rule]++
		s.found = append(s.found, m.span)
	}
}

// keyword is told of each keyword, in order of its end.
func (s *scan) keyword(keyword int32, end int) {
	if s.pending == nil {
		if s.runs = runsOf(s.text); len(s.runs) == 0 {
			s.runs = []span{{len(s.text), len(s.text)}}
		}
		s.taken = make([]bool, len(s.runs))
		s.pending, s.first = make([]span, len(s.rs.all)), make([]int, len(s.rs.all))
	}
	i := s.rs.owner[keyword]
	r := s.rs.all[i]
	at := end - s.rs.find.Size(keyword)
	if r.bounded && at > 0 && word(s.text[at-1]) {
		return
	}
	window := s.window(r, at)
	if !s.worth(i, window) {
		return
	}
	switch p := &s.pending[i]; {
	case p.to == 0:
		s.met = append(s.met, i)
		*p = window
	case window.from <= p.to:
		p.to = max(p.to, window.to)
	default:
		s.look(i)
		*p = window
	}
}

// window is where a match can be whose keyword begins at a place.
func (s *scan) window(r *rule, at int) span {
	if r.leads {
		return span{max(0, at-1), min(len(s.text), at+r.after+1)}
	}
	return span{max(0, at-before), min(len(s.text), at+r.after+before)}
}

// worth says whether a window has a run long enough for a rule.
func (s *scan) worth(i int, window span) bool {
	f := &s.first[i]
	for *f < len(s.runs) && (s.runs[*f].to <= window.from || s.runs[*f].to-s.runs[*f].from < s.rs.all[i].run) {
		*f++
	}
	return *f < len(s.runs) && s.runs[*f].from < window.to
}

// look applies a rule to the stretch that waits for it.
func (s *scan) look(i int) {
	r, p := s.rs.all[i], s.pending[i]
	part := s.text[p.from:p.to]
	if *s.budget < len(part) {
		s.takeAll(r, p)
		return
	}
	*s.budget -= len(part)
	for _, m := range r.compiled().FindAllSubmatchIndex(part, -1) {
		from, to := r.secretOf(m)
		if r.assigned && entropy(part[from:to]) < r.Entropy {
			continue
		}
		s.take(r.ID, span{p.from + from, s.tokenEnd(p.from + to)})
	}
}

// secretOf is the first group of a match, where that is most of it, or all of it: the rest of an
// assignment is the name it has, of a token what ends it.
func (r *rule) secretOf(m []int) (from, to int) {
	if len(m) >= 4 && m[2] >= 0 && (r.assigned || 2*(m[3]-m[2]) > m[1]-m[0]) {
		return m[2], m[3]
	}
	return m[0], m[1]
}

// tokenEnd is where a token ends that a match ended in: shapes have a length, tokens of tomorrow another.
func (s *scan) tokenEnd(to int) int {
	for to < len(s.text) && word(s.text[to]) && word(s.text[to-1]) {
		to++
	}
	return to
}

func word(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' || c == '_' }

func (s *scan) take(id string, at span) { s.taking = append(s.taking, shaped{at, id}) }

// takeAll takes each run in a stretch for a token.
func (s *scan) takeAll(r *rule, p span) {
	i, _ := slices.BinarySearchFunc(s.runs, p.from, func(a span, at int) int { return a.to - at - 1 })
	for ; i < len(s.runs) && s.runs[i].from < p.to; i++ {
		if !s.taken[i] && s.runs[i].to-s.runs[i].from >= r.run {
			s.taken[i] = true
			s.take(unsure, s.runs[i])
		}
	}
}

// runsOf are the stretches that could be, or hold, a token.
func runsOf(text []byte) []span {
	var out []span
	from := 0
	for i, c := range text {
		if breaks[c] {
			if i-from >= anyRun {
				out = append(out, span{from, i})
			}
			from = i + 1
		}
	}
	if len(text)-from >= anyRun {
		out = append(out, span{from, len(text)})
	}
	return out
}

// breaks are the bytes that no token has.
var breaks = func() (b [256]bool) {
	for c := range 0x21 {
		b[c] = true
	}
	for _, c := range []byte("\"'`,;(){}[]<>") {
		b[c] = true
	}
	return b
}()
