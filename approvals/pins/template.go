package pins

import "strings"

// Leads is how many bytes of uri a URI template (RFC 6570) has literally in common with it before its first
// expression; -1 when it cannot lead there.
func Leads(template, uri string) int {
	literal, _, expands := strings.Cut(template, "{")
	if !strings.HasPrefix(uri, literal) || !expands && literal != uri {
		return -1
	}
	return len(literal)
}
