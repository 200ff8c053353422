package pins

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mtibben/confusables"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// maxName is how long a name may be: the specification's recommendation.
const maxName = 128

// name looks at what an item is called.
func (s *scan) name() {
	n := s.item.Name
	if s.item.Kind != approvals.ItemTool && s.item.Kind != approvals.ItemPrompt {
		return // the others have addresses, which are looked at as text
	}
	if why := unusual(n); why != "" {
		s.found(approvals.FoundName, "/name", excerpt(n, 0, len(n)), why, true)
	}
	if s.item.Kind != approvals.ItemTool || s.names == nil {
		return
	}
	for _, l := range s.names.Near(s.server, n) {
		s.found(approvals.FoundLookalike, "/name", excerpt(n, 0, len(n)), l.why(), l.How == Lookalike)
	}
}

// unusual says what is wrong with a name, "" when nothing is.
func unusual(n string) string {
	switch {
	case n == "":
		return "it has no name"
	case utf8.RuneCountInString(n) > maxName:
		return fmt.Sprintf("a name of %d characters; %d are usual at most", utf8.RuneCountInString(n), maxName)
	case !ascii(n) && ascii(asLatin(n)):
		return fmt.Sprintf("a name in letters that look like %q", asLatin(n))
	case strings.HasPrefix(n, "__") && strings.HasSuffix(n, "__"):
		return "a name that means something to programs"
	case strings.Contains(n, ".."):
		return "a name that is written like a path"
	case strings.Trim(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") != "":
		return "a name of other characters than letters, digits, _ - . and /"
	}
	return ""
}

// Owner is one tool of a server.
type Owner struct {
	Server sandbox.ServerName
	Name   string
}

// Names is what all servers' tools are called. The zero Names knows none. It may be read by several at
// once, not while Add is called.
type Names struct {
	exact    map[string][]sandbox.ServerName
	skeleton map[string][]Owner
	shorter  map[string][]Owner // by each name one letter less
	known    map[Owner]bool
}

// Add takes a tool in.
func (n *Names) Add(server sandbox.ServerName, name string) {
	if n.exact == nil {
		n.exact, n.skeleton, n.shorter, n.known = map[string][]sandbox.ServerName{}, map[string][]Owner{}, map[string][]Owner{}, map[Owner]bool{}
	}
	o := Owner{server, name}
	if n.known[o] || len(name) > maxName {
		return
	}
	n.known[o] = true
	n.exact[strings.ToLower(name)] = append(n.exact[strings.ToLower(name)], server)
	n.skeleton[skeleton(name)] = append(n.skeleton[skeleton(name)], o)
	for s := range lessOne(simple(name)) {
		n.shorter[s] = append(n.shorter[s], o)
	}
}

// skeleton is the same for names that look the same (Unicode TR 39).
func skeleton(name string) string { return confusables.Skeleton(name) }

// simple is a name without what is easily overlooked.
func simple(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", "/", "").Replace(name))
}

// minNear is how long a name is that another may be mistaken for by one letter.
const minNear = 6

// lessOne is s, and s without each of its letters: two words that are one letter apart share one.
func lessOne(s string) map[string]bool {
	out := map[string]bool{s: true}
	if len(s) >= minNear {
		for i := range len(s) {
			out[s[:i]+s[i+1:]] = true
		}
	}
	return out
}

// Likeness is how alike two names are.
type Likeness string

// The likenesses: the same name at another server, one that looks the same, one that is a letter apart.
const (
	Same      Likeness = "same"
	Lookalike Likeness = "lookalike"
	Close     Likeness = "close"
)

// Alike is a name that another can be taken for.
type Alike struct {
	Owner
	How Likeness
}

func (a Alike) why() string {
	switch a.How {
	case Same:
		return fmt.Sprintf("the server %s has a tool of this name, too", a.Server)
	case Lookalike:
		return fmt.Sprintf("it looks like %s of the server %s", Visible(a.Name), a.Server)
	default:
		return fmt.Sprintf("it is almost %s of the server %s", Visible(a.Name), a.Server)
	}
}

// Near are the names that a tool of server's can be taken for, in the order of their servers. Names of its
// own server count where they look the same.
func (n *Names) Near(server sandbox.ServerName, name string) []Alike {
	var out []Alike
	seen := map[Owner]bool{{server, name}: true}
	add := func(o Owner, how Likeness) {
		if !seen[o] {
			seen[o] = true
			out = append(out, Alike{o, how})
		}
	}
	for _, o := range n.skeleton[skeleton(name)] {
		if o.Name == name {
			add(o, Same)
		} else {
			add(o, Lookalike)
		}
	}
	for s := range lessOne(simple(name)) {
		for _, o := range n.shorter[s] {
			if o.Server != server && oneApart(simple(o.Name), simple(name)) {
				add(o, Close)
			}
		}
	}
	slices.SortFunc(out, func(a, b Alike) int {
		return strings.Compare(string(a.Server)+"\x00"+a.Name, string(b.Server)+"\x00"+b.Name)
	})
	return out
}

// foreign is whose tool a word is, if it is one of another server's alone and no word of everyday.
func (n *Names) foreign(server sandbox.ServerName, word string) (sandbox.ServerName, bool) {
	if !strings.ContainsAny(word, "_-") {
		return "", false
	}
	owners := n.exact[word]
	if len(owners) == 0 || slices.Contains(owners, server) {
		return "", false
	}
	return owners[0], true
}
