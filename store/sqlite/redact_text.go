package sqlite

import (
	"regexp"

	"github.com/garita-dev/garita/approvals"
)

// named are the ways in which text that is no JSON gives a value a name: "name": "value" and name=value.
var named = regexp.MustCompile(`("[^"\\]{1,64}"\s*:\s*)("(?:[^"\\]|\\.)*"?)|\b([A-Za-z_][A-Za-z0-9_.-]{0,63}=)("[^"]*"?|'[^']*'?|[^\s"'&;,]+)`)

// names finds the name in what named has found.
var names = regexp.MustCompile(`[^"\s:=]+`)

// RedactText masks in a line of text what Redact masks in JSON: tokens that show by their shape, and
// values whose name says secret.
func RedactText(text string) string {
	return named.ReplaceAllStringFunc(mask(text), func(found string) string {
		part := named.FindStringSubmatch(found)
		name := part[1] + part[3]
		if !approvals.SecretName(names.FindString(name)) {
			return found
		}
		if part[1] != "" {
			return name + `"` + masked + `"`
		}
		return name + masked
	})
}
