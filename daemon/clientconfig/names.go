package clientconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

// maxSlug leaves room for a suffix within a ServerName's 64 bytes.
const maxSlug = 56

// slug makes a ServerName of foreign text: what may stay stays, runs of anything else become a dash.
// Where nothing is left a name is made of the text's digest.
func slug(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == maxSlug {
			break
		}
	}
	out := strings.Trim(b.String(), "-._")
	if out == "" {
		return "server-" + short(s)
	}
	return out
}

// short is a suffix that depends on nothing but s.
func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}

// serverNames gives every entry a name of ours, different from all others without regard to case:
// names become directories. A name depends on the entry's own and on whether others are alike, not
// on the file's order.
func serverNames(entries []string) map[string]sandbox.ServerName {
	order := slices.Clone(entries)
	slices.SortFunc(order, func(a, b string) int {
		if exactA, exactB := slug(a) == a, slug(b) == b; exactA != exactB {
			if exactA {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	alike := map[string]int{}
	for _, e := range order {
		alike[strings.ToLower(slug(e))]++
	}
	out, taken := map[string]sandbox.ServerName{}, map[string]bool{}
	for _, e := range order {
		name := slug(e)
		if low := strings.ToLower(name); taken[low] || (alike[low] > 1 && name != e) {
			name += "-" + short(e)
		}
		taken[strings.ToLower(name)] = true
		out[e] = sandbox.ServerName(name)
	}
	return out
}
