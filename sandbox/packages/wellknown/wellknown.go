// Package wellknown says of a package's name whether it is a well-known one, almost one, or neither.
// It is pure. Names are all it looks at: a well-known name is no promise, and an unknown one no
// accusation.
package wellknown

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mtibben/confusables"

	"github.com/garita-dev/garita/sandbox"
)

// Kind is what there is to say of a name.
type Kind string

// The kinds. A well-known name has none.
const (
	Unknown Kind = "unknown" // none of the well-known ones
	Near    Kind = "near"    // it can be taken for one of them
)

// Doubt is a reason to look twice at a package's name.
type Doubt struct {
	Kind Kind
	Like string // the well-known name it can be taken for; "" when Unknown
	Text string // one sentence
}

// List is the well-known names of each ecosystem. The zero List knows none, and has no doubt.
type List struct {
	names map[sandbox.Ecosystem][]name
}

// name is a well-known name, and what is compared of it.
type name struct {
	whole, scope, base string
}

// Add reads names, one a line; lines that begin with "#" are remarks.
func (l *List) Add(e sandbox.Ecosystem, lines string) {
	if l.names == nil {
		l.names = map[sandbox.Ecosystem][]name{}
	}
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			l.names[e] = append(l.names[e], parse(line))
		}
	}
}

func parse(whole string) name {
	if scope, base, ok := strings.Cut(whole, "/"); ok && strings.HasPrefix(whole, "@") {
		return name{whole, scope[1:], base}
	}
	return name{whole: whole, base: whole}
}

// Doubt says what there is to say of ref's name; ok is false for a well-known one.
func (l *List) Doubt(ref sandbox.PackageRef) (d Doubt, ok bool) {
	all := l.names[ref.Ecosystem]
	if len(all) == 0 || slices.ContainsFunc(all, func(n name) bool { return n.whole == ref.Name }) {
		return Doubt{}, false
	}
	if like, how, near := nearest(parse(ref.Name), all); near {
		return Doubt{Near, like, fmt.Sprintf("The package %s %s the well-known %s; it may be somebody else's.", ref.Name, how, like)}, true
	}
	return Doubt{Kind: Unknown, Text: fmt.Sprintf("The package %s is not one of the well-known MCP servers; make sure that it is the one you mean.", ref.Name)}, true
}

// likeness is how one name can be taken for another, the worst first.
type likeness int

const (
	lookalike likeness = iota // the same to the eye
	typo                      // a letter or two apart
	moved                     // the well-known name in a scope nearly its own, or in none
	none
)

// nearest is the well-known name that n can most easily be taken for.
func nearest(n name, all []name) (like, how string, ok bool) {
	best, worst := name{}, none
	for _, k := range all {
		if l := alike(n, k); l < worst || l == worst && l != none && better(n, k, best) {
			best, worst = k, l
		}
	}
	how = map[likeness]string{
		lookalike: "looks like", typo: "is almost", moved: "has the name, in another place, of",
	}[worst]
	return best.whole, how, worst != none
}

// better prefers, of two names that are as alike, the one whose last part is the same.
func better(n, a, b name) bool {
	if same := n.base == a.base; same != (n.base == b.base) {
		return same
	}
	return a.whole < b.whole
}

func alike(n, k name) likeness {
	switch {
	case skeleton(n.whole) == skeleton(k.whole):
		return lookalike
	case n.scope == "" && k.scope == "":
		return typoOf(n.base, k.base)
	case n.scope == k.scope: // whoever has the scope has all names in it
		return none
	case n.scope == "":
		return unscoped(n.base, k)
	case k.scope != "" && near(n.scope, k.scope): // any name in a scope that is almost a known one
		return typo
	case n.base == k.base && telling(k.base):
		return moved
	}
	return none
}

// unscoped finds "modelcontextprotocol-server-filesystem" and "server-filesystem".
func unscoped(base string, k name) likeness {
	switch {
	case near(base, k.scope+"-"+k.base) || simple(base) == simple(k.scope+k.base):
		return moved
	case base == k.base && telling(k.base):
		return moved
	}
	return none
}

func typoOf(a, b string) likeness {
	if near(a, b) {
		return typo
	}
	return none
}

// telling is a name that means one server: not "mcp" or "server".
func telling(base string) bool { return len(base) > 10 && strings.ContainsAny(base, "-_.") }

// simple is a name without what is easily overlooked.
func simple(s string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(s))
}

// skeleton is the same for names that look the same: Unicode TR 39, and what is alike in most fonts.
func skeleton(s string) string {
	return confusables.Skeleton(strings.NewReplacer("0", "o", "1", "l", "i", "l", "rn", "m", "vv", "w", "_", "-").Replace(strings.ToLower(s)))
}

// Lengths from which on one, or two, slips are taken for a mistake rather than for another word.
const (
	oneSlip  = 5
	twoSlips = 12
)

// near says whether a is b with a slip or two of the finger, or its words turned around.
func near(a, b string) bool {
	if a == b {
		return true
	}
	shorter := min(len(a), len(b))
	if shorter < oneSlip {
		return false
	}
	if simple(a) == simple(b) || sameWords(a, b) {
		return true
	}
	most := 1
	if shorter >= twoSlips {
		most = 2
	}
	return differ(a, b) && distance(a, b, most) <= most
}

// differ keeps words apart that differ in a number or in one whole word: v1 and v2, time and git.
func differ(a, b string) bool {
	x, y := words(a), words(b)
	if len(x) != len(y) {
		return true
	}
	for i := range x {
		if x[i] != y[i] && len(x[i]) < oneSlip && len(y[i]) < oneSlip && distance(x[i], y[i], 1) != swap(x[i], y[i]) {
			return false
		}
	}
	return true
}

// swap is 1 for words of the same letters, which are a slip apart when they differ by a swap.
func swap(a, b string) int {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	if slices.Equal(x, y) {
		return 1
	}
	return -1
}

func sameWords(a, b string) bool {
	x, y := words(a), words(b)
	slices.Sort(x)
	slices.Sort(y)
	return len(x) > 1 && slices.Equal(x, y)
}

func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune("-_.", r) })
}

// distance is Damerau's between a and b: how many letters have to be put in, taken out, changed or
// swapped with their neighbor. It stops counting beyond most.
func distance(a, b string, most int) int {
	if n := len(a) - len(b); max(n, -n) > most {
		return most + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
