package daemon

import (
	"crypto/rand"
	"encoding/base64"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// sentinelPrefixes are how tokens of well-known kinds begin. They say what kind it is and nothing of the
// secret, and programs look at them.
var sentinelPrefixes = []string{
	"github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "sk-ant-api03-", "sk-ant-", "sk-proj-", "sk-svcacct-", "sk-or-v1-", "sk-lf-", "sk-",
	"sk_live_", "sk_test_", "pk_live_", "pk_test_", "rk_live_", "rk_test_", "whsec_", "xoxb-", "xoxp-", "xoxa-", "xoxe-", "xoxc-", "xoxd-", "xapp-1-", "AKIA", "ASIA", "AIza",
	"hf_", "npm_", "pypi-", "ntn_", "secret_", "lin_api_", "figd_", "dop_v1_", "shpat_", "tvly-", "fc-", "pplx-", "BSA", "sbp_", "sntrys_", "sntryu_",
	"ya29.", "gsk_", "r8_", "re_", "SG.", "dckr_pat_", "EAA", "Bearer ", "Basic ", "token ",
}

// leastRandom is how many characters of a sentinel nobody can guess, whatever it stands for.
const leastRandom = 16

// leastTaken is how long a text must be, in bytes, to be kept apart from sentinels. A shorter one is in
// every third of them.
const leastTaken = 4

// sentinel is what a sandbox gets in place of a secret: as long, of the same alphabet and with the same
// beginning, for programs check that; otherwise random. It holds none of taken, and none of taken holds it.
func sentinel(value string, taken []string) string {
	for range 100 {
		s := disguised(value)
		if !slices.ContainsFunc(taken, func(t string) bool { return len(t) >= leastTaken && (strings.Contains(s, t) || strings.Contains(t, s)) }) {
			return s
		}
	}
	return randomOf(alphanumeric, max(len(value), 2*leastRandom))
}

func disguised(value string) string {
	if s, ok := disguisedJWT(value); ok {
		return s
	}
	prefix := ""
	for _, p := range sentinelPrefixes {
		if strings.HasPrefix(value, p) && len(p) > len(prefix) {
			prefix = p
		}
	}
	out, drawn := alike(value[len(prefix):])
	if drawn < leastRandom {
		out += randomOf(alphanumeric, leastRandom-drawn)
	}
	return prefix + out
}

const (
	digits       = "0123456789"
	lower        = "abcdefghijklmnopqrstuvwxyz"
	upper        = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alphanumeric = lower + digits
)

// alike replaces each character by a random one of its kind; what only parts a text stays. drawn is how
// many were drawn.
func alike(text string) (out string, drawn int) {
	small, capital := lower, upper
	if strings.Trim(text, digits+"abcdef-") == "" {
		small = small[:6]
	}
	if strings.Trim(text, digits+"ABCDEF-") == "" {
		capital = capital[:6]
	}
	var b strings.Builder
	for _, r := range text {
		from := alphanumeric
		switch {
		case strings.ContainsRune("-_.", r):
			b.WriteRune(r)
			continue
		case r >= '0' && r <= '9':
			from = digits
		case r >= 'a' && r <= 'z':
			from = small
		case r >= 'A' && r <= 'Z':
			from = capital
		}
		n := max(1, utf8.RuneLen(r))
		b.WriteString(randomOf(from, n))
		drawn += n
	}
	return b.String(), drawn
}

// disguisedJWT keeps the header of a JSON Web Token, which says by what it is signed, and has claims that
// claim nothing.
func disguisedJWT(value string) (string, bool) {
	parts := strings.Split(value, ".")
	if len(parts) != 3 || !strings.HasPrefix(parts[0], "eyJ") || !strings.HasPrefix(parts[1], "eyJ") {
		return "", false
	}
	const frame = `{"x":""}`
	claims := base64.RawURLEncoding.DecodedLen(len(parts[1])) - len(frame)
	if claims < leastRandom {
		return "", false
	}
	payload := base64.RawURLEncoding.EncodeToString([]byte(`{"x":"` + randomOf(alphanumeric, claims) + `"}`))
	signature, _ := alike(parts[2])
	return parts[0] + "." + payload + "." + signature, true
}

// randomOf is n characters of an alphabet.
func randomOf(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		k, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			panic(err) // the kernel has always some
		}
		b[i] = alphabet[k.Int64()]
	}
	return string(b)
}
