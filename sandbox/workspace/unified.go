package workspace

import (
	"fmt"
	"strings"
)

// context3 is how many unchanged lines a unified diff shows around a change.
const context3 = 3

// maxWork bounds the comparison of two texts, in steps. Beyond it the differing middle is shown as
// replaced as a whole: hostile text must not cost more than hostile text is worth.
const maxWork = 8_000_000

// Unified is the difference of two texts as diff -u writes it, "" for equal ones. The names are
// shown as they are.
func Unified(oldName, newName, old, fresh string) string {
	a, b := splitLines(old), splitLines(fresh)
	hunks := group(edits(a, b), len(a))
	if len(hunks) == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", oldName, newName)
	for _, h := range hunks {
		h.write(&out, a, b)
	}
	return out.String()
}

// splitLines keeps the line ends.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// edit replaces a[a0:a1] by b[b0:b1].
type edit struct{ a0, a1, b0, b1 int }

// edits is a shortest script that turns a into b, in order, adjacent edits joined.
func edits(a, b []string) []edit {
	pre := 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		pre++
	}
	post := 0
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	x, y := intern(a[pre:len(a)-post], b[pre:len(b)-post])
	if len(x)+len(y) == 0 {
		return nil
	}
	found, ok := myers(x, y)
	if !ok {
		found = []edit{{0, len(x), 0, len(y)}}
	}
	for i := range found {
		e := &found[i]
		e.a0, e.a1, e.b0, e.b1 = e.a0+pre, e.a1+pre, e.b0+pre, e.b1+pre
	}
	return found
}

// intern numbers equal lines alike.
func intern(a, b []string) (x, y []int32) {
	numbers := make(map[string]int32, len(a))
	number := func(lines []string) []int32 {
		out := make([]int32, len(lines))
		for i, l := range lines {
			n, known := numbers[l]
			if !known {
				n = int32(len(numbers)) // at most one a byte of 2 MiB
				numbers[l] = n
			}
			out[i] = n
		}
		return out
	}
	return number(a), number(b)
}

// myers is the greedy O(ND) algorithm ("An O(ND) Difference Algorithm and Its Variations", 1986),
// given up after maxWork steps. furthest[d] keeps, for edit distance d, how far each diagonal
// -d, -d+2 … d came.
func myers(a, b []int32) ([]edit, bool) {
	var furthest [][]int32
	work := 0
	for d := 0; ; d++ {
		row := make([]int32, d+1)
		for i := range row {
			k := 2*i - d
			x := start(furthest, d, i)
			y := x - k
			from := x
			for x < len(a) && y >= 0 && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			row[i] = int32(x) // below 2^21
			work += x - from + 2
			if x >= len(a) && y >= len(b) {
				return backtrack(append(furthest, row), a, b), true
			}
		}
		furthest = append(furthest, row)
		if work > maxWork {
			return nil, false
		}
	}
}

// start is where diagonal i of distance d begins: a step down or right from distance d-1.
func start(furthest [][]int32, d, i int) int {
	if d == 0 {
		return 0
	}
	prev := furthest[d-1]
	if down(prev, d, i) {
		return int(prev[i])
	}
	return int(prev[i-1]) + 1
}

// down says whether diagonal i is best reached by an insertion.
func down(prev []int32, d, i int) bool {
	return i == 0 || i < d && prev[i-1] < prev[i]
}

func backtrack(furthest [][]int32, a, b []int32) []edit {
	x, y := len(a), len(b)
	var reversed []edit
	for d := len(furthest) - 1; d > 0; d-- {
		i := (x - y + d) / 2
		prev := furthest[d-1]
		var e edit
		if down(prev, d, i) {
			px := int(prev[i])
			py := px - (2*i - d) - 1
			e = edit{px, px, py, py + 1}
		} else {
			px := int(prev[i-1])
			py := px - (2*i - d) + 1
			e = edit{px, px + 1, py, py}
		}
		reversed = append(reversed, e)
		x, y = e.a0, e.b0
	}
	return joinEdits(reversed)
}

// joinEdits puts single steps, last first, in order and joins those that touch.
func joinEdits(reversed []edit) []edit {
	var out []edit
	for i := len(reversed) - 1; i >= 0; i-- {
		e := reversed[i]
		if n := len(out); n > 0 && out[n-1].a1 == e.a0 && out[n-1].b1 == e.b0 {
			out[n-1].a1, out[n-1].b1 = e.a1, e.b1
			continue
		}
		out = append(out, e)
	}
	return out
}

// hunk is edits close enough to be shown together.
type hunk struct {
	edits  []edit
	before int // context lines before the first edit
	after  int // and after the last
}

func group(all []edit, lines int) []hunk {
	var hunks []hunk
	for _, e := range all {
		if n := len(hunks); n > 0 {
			last := &hunks[n-1]
			if e.a0-last.edits[len(last.edits)-1].a1 <= 2*context3 {
				last.edits = append(last.edits, e)
				continue
			}
		}
		hunks = append(hunks, hunk{edits: []edit{e}, before: min(context3, e.a0)})
	}
	for i := range hunks {
		h := &hunks[i]
		h.after = min(context3, lines-h.edits[len(h.edits)-1].a1)
	}
	return hunks
}

func (h hunk) write(out *strings.Builder, a, b []string) {
	first, last := h.edits[0], h.edits[len(h.edits)-1]
	a0, a1 := first.a0-h.before, last.a1+h.after
	b0, b1 := first.b0-h.before, last.b1+h.after
	fmt.Fprintf(out, "@@ -%s +%s @@\n", lineRange(a0, a1), lineRange(b0, b1))
	at := a0
	for _, e := range h.edits {
		writeLines(out, ' ', a[at:e.a0])
		writeLines(out, '-', a[e.a0:e.a1])
		writeLines(out, '+', b[e.b0:e.b1])
		at = e.a1
	}
	writeLines(out, ' ', a[at:a1])
}

func lineRange(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(out *strings.Builder, sign byte, lines []string) {
	for _, l := range lines {
		out.WriteByte(sign)
		out.WriteString(l)
		if !strings.HasSuffix(l, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
