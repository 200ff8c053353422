package match

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRun(t *testing.T) {
	a := New([][]byte{[]byte("he"), []byte("she"), []byte("hers"), []byte("x-y")}, true)
	var got []string
	tell := func(w int32, end int) { got = append(got, fmt.Sprint(w, end)) }
	state := a.Run(0, []byte("usHErs X"), tell)
	a.Run(state, []byte("-Y"), tell)
	want := []string{"1 4", "0 4", "2 6", "3 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func FuzzRun(f *testing.F) {
	f.Add("ab,b,abc", "xabcabb")
	f.Fuzz(func(t *testing.T, words, text string) {
		var list [][]byte
		for w := range strings.SplitSeq(words, ",") {
			if w != "" {
				list = append(list, []byte(w))
			}
		}
		n, want := 0, 0
		New(list, false).Run(0, []byte(text), func(int32, int) { n++ })
		for _, w := range list {
			for i := range text {
				if strings.HasPrefix(text[i:], string(w)) {
					want++
				}
			}
		}
		if n != want && strings.ToValidUTF8(text, "") == text {
			t.Fatalf("%d of %q in %q, want %d", n, words, text, want)
		}
	})
}
