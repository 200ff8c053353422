package daemon

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func TestSentinelsLookLikeWhatTheyStandFor(t *testing.T) {
	for name, tt := range map[string]struct{ value, like string }{
		"a GitHub token":    {"ghp_" + strings.Repeat("aB3", 12), `^ghp_([a-z][A-Z][0-9]){12}$`},
		"an OpenAI key":     {"sk-proj-Ab12-cd34_EF56ghijklmn", `^sk-proj-[A-Z][a-z]\d\d-[a-z]{2}\d\d_[A-Z]{2}\d\d[a-z]{8}$`},
		"hex":               {"0123456789abcdef0123456789abcdef", `^[0-9a-f]{32}$`},
		"a UUID":            {"123e4567-e89b-12d3-a456-426614174000", `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`},
		"an AWS key":        {"AKIAIOSFODNN7EXAMPLE", `^AKIA[A-Z]{8}[0-9][A-Z]{7}$`},
		"a bearer":          {"Bearer abcdefghijklmnopqrst", `^Bearer [a-z]{20}$`},
		"a short password":  {"hunter2", `^[a-z]{6}\d[a-z0-9]{9}$`},
		"odd characters":    {"pä$$wörd!pä$$wörd!", `^[a-z0-9]{22}$`},
		"nothing but marks": {"--------------------", `^[a-z0-9-]{32,}$`},
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for range 20 {
				s := sentinel(tt.value, []string{tt.value})
				if !regexp.MustCompile(tt.like).MatchString(s) {
					t.Fatalf("%q is not like %s", s, tt.like)
				}
				if strings.Contains(s, tt.value) || seen[s] {
					t.Fatalf("%q is the value, or was there before", s)
				}
				seen[s] = true
			}
		})
	}
}

func TestASentinelOfATokenIsAToken(t *testing.T) {
	part := func(v string) string { return base64.RawURLEncoding.EncodeToString([]byte(v)) }
	value := part(`{"alg":"HS256","typ":"JWT"}`) + "." + part(`{"sub":"ana","scope":"everything","exp":1}`) + "." + strings.Repeat("Zz9_", 10)
	s := sentinel(value, []string{value})
	was, is := strings.Split(value, "."), strings.Split(s, ".")
	if len(is) != 3 || is[0] != was[0] || len(is[1]) != len(was[1]) || len(is[2]) != len(was[2]) || is[1] == was[1] || is[2] == was[2] {
		t.Fatalf("%s", s)
	}
	var claims map[string]string
	text, err := base64.RawURLEncoding.DecodeString(is[1])
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	if err != nil || len(claims) != 1 {
		t.Errorf("%s: %v", text, err)
	}
}

func FuzzSentinel(f *testing.F) {
	f.Add("ghp_0123456789", "ghp_")
	f.Add("", "")
	f.Add("\xff\xfe", "a")
	f.Fuzz(func(t *testing.T, value, other string) {
		s := sentinel(value, []string{value, other})
		if len(value) >= leastTaken && strings.Contains(s, value) || len(s) < leastRandom || strings.ContainsAny(s, "\r\n\x00") {
			t.Errorf("%q for %q", s, value)
		}
	})
}
