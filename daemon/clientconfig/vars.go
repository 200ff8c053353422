package clientconfig

import (
	"regexp"
	"strings"
)

// reference is a place where a client would put something else: ${VAR}, ${env:VAR}, {env:VAR},
// ${VAR:-default}, ${{ secrets.X }}, $VAR. Lower-case $words are left alone: they are patterns and prices.
var reference = regexp.MustCompile(`\$\{\{[^}]*\}\}|\$\{[^}]*\}|\{env:[^}]*\}|\$[A-Z_][A-Z0-9_]*`)

// scope is what references can stand for without asking anybody.
type scope struct {
	home    string
	project string // the folder a project's settings belong to; "" for a user's
}

// expand replaces the references it knows in s. missing lists the ones it does not.
func (sc scope) expand(s string) (out string, missing []string) {
	out = reference.ReplaceAllStringFunc(s, func(ref string) string {
		value, ok := sc.value(ref)
		if !ok {
			missing = append(missing, ref)
			return ref
		}
		return value
	})
	return out, missing
}

func (sc scope) value(ref string) (string, bool) {
	name := strings.TrimPrefix(strings.Trim(ref, "${} "), "env:")
	switch name {
	case "userHome", "HOME":
		return sc.home, sc.home != ""
	case "workspaceFolder", "projectRoot", "CLAUDE_PROJECT_DIR":
		return sc.project, sc.project != ""
	case "pathSeparator", "/":
		return "/", true
	}
	if _, def, ok := strings.Cut(name, ":-"); ok && strings.HasPrefix(ref, "${") && !strings.HasPrefix(ref, "${{") {
		return def, !reference.MatchString(def)
	}
	return "", false
}
