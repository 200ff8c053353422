// Package match finds many words in a text in one pass, however they overlap.
package match

// Automaton finds many words at once, in one pass over the text (Aho-Corasick). It is our own
// because the libraries there are neither fold case, nor go on from one text to the next, nor fit
// two hundred words into less than some megabytes.
type Automaton struct {
	class [256]uint8 // of a byte; 0 is every byte that no word has
	width int
	next  []int32   // by state and class
	ends  [][]int32 // words that end in a state
	depth []int32   // how much of a word has been read in a state, in bytes
	sizes []int     // of each word, in bytes
}

// New looks for words; fold says that ASCII letters are the same in either case.
func New(words [][]byte, fold bool) *Automaton {
	a := &Automaton{width: 1}
	for _, w := range words {
		a.sizes = append(a.sizes, len(w))
		for _, c := range w {
			a.learn(c, fold)
		}
	}
	a.grow()
	for i, w := range words {
		a.add(int32(i), w)
	}
	a.link()
	return a
}

func (a *Automaton) learn(c byte, fold bool) {
	if a.class[c] != 0 || a.width > 255 {
		return
	}
	a.class[c] = uint8(a.width)
	if fold && letter(c) {
		a.class[c^0x20] = uint8(a.width)
	}
	a.width++
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func (a *Automaton) grow() int32 {
	for range a.width {
		a.next = append(a.next, -1)
	}
	a.ends, a.depth = append(a.ends, nil), append(a.depth, 0)
	return int32(len(a.ends) - 1)
}

func (a *Automaton) add(word int32, w []byte) {
	s := int32(0)
	for _, c := range w {
		at := int(s)*a.width + int(a.class[c])
		if a.next[at] < 0 {
			n := a.grow()
			a.next[at], a.depth[n] = n, a.depth[s]+1
		}
		s = a.next[at]
	}
	a.ends[s] = append(a.ends[s], word)
}

// link completes the table: where a word does not go on, what follows the longest beginning of
// another that has been read does.
func (a *Automaton) link() {
	fail := make([]int32, len(a.ends))
	queue := []int32{0}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if s != 0 {
			a.ends[s] = append(a.ends[s], a.ends[fail[s]]...)
		}
		for c := range a.width {
			at, other := int(s)*a.width+c, int32(0)
			if s != 0 {
				other = a.next[int(fail[s])*a.width+c]
			}
			if n := a.next[at]; n >= 0 {
				fail[n] = other
				queue = append(queue, n)
			} else {
				a.next[at] = other
			}
		}
	}
}

// Run reads text from a state on (0 at first) and tells of each word where it ends; it returns the
// state to go on from.
func (a *Automaton) Run(state int32, text []byte, found func(word int32, end int)) int32 {
	for i, c := range text {
		state = a.next[int(state)*a.width+int(a.class[c])]
		if ends := a.ends[state]; ends != nil {
			for _, w := range ends {
				found(w, i+1)
			}
		}
	}
	return state
}

// Size is how long a word is, in bytes.
func (a *Automaton) Size(word int32) int { return a.sizes[word] }

// Begun is how much of the text's end, in bytes, is the beginning of a word, in a state: the longest such.
func (a *Automaton) Begun(state int32) int { return int(a.depth[state]) }
