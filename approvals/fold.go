package approvals

import (
	"strings"
	"unicode"
)

// FoldedName is a member's name as readers see it that do not tell capitals from small letters: two
// names have one FoldedName exactly where strings.EqualFold holds.
func FoldedName(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}
