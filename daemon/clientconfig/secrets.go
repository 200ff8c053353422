package clientconfig

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secretWords, as parts of a variable's or a flag's name, say that its value is a secret.
var secretWords = []string{
	"token", "tokens", "secret", "secrets", "password", "passwd", "passphrase", "pass", "pwd", "apikey", "credential", "credentials",
	"auth", "authorization", "bearer", "pat", "cookie", "jwt", "dsn", "webhook", "signature",
}

// keyWords make "key" a secret: an API key, not a keyboard.
var keyWords = []string{"api", "access", "private", "secret", "auth", "account", "encryption", "signing", "service", "license", "client", "app"}

var nameParts = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|[0-9]+`)

// secretName says whether a variable or flag of this name holds a secret, judging by its words.
func secretName(name string) bool {
	var words []string
	for _, w := range nameParts.FindAllString(name, -1) {
		words = append(words, strings.ToLower(w))
	}
	for i, w := range words {
		if slices.Contains(secretWords, w) {
			return true
		}
		if w == "key" && (i == len(words)-1 || words[i+1] == "id") && (len(words) == 1 || slices.Contains(keyWords, words[max(0, i-1)])) {
			return true
		}
	}
	return false
}

// harmless are values that no secret has: switches, small numbers, nothing at all.
var harmless = regexp.MustCompile(`^(?:|true|false|yes|no|on|off|none|null|-?[0-9]{1,7}(?:\.[0-9]+)?)$`)

// secretForms are how well-known secrets look, whatever the name in front of them.
var secretForms = []*regexp.Regexp{
	regexp.MustCompile(`\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{10,}|\bgithub_pat_[A-Za-z0-9_]{10,}|\bglpat-[A-Za-z0-9_-]{10,}`),
	regexp.MustCompile(`\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{12,}`),
	regexp.MustCompile(`\bxox[a-z]-[A-Za-z0-9-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}`),
	regexp.MustCompile(`\b(?:hf|ntn|npm|secret|lin_api|figd|dop_v1|shpat|pypi)[_-][A-Za-z0-9_-]{8,}`),
	regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.`),
	regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`),
	regexp.MustCompile(`(?i)(?:password|passwd|pwd|secret|token|api_?key|authorization)["']?\s*[=:]\s*["']?[^\s"'$&]{4,}`),
}

// randomWord is text too long and too mixed to have been chosen by a person.
var randomWord = regexp.MustCompile(`^[A-Za-z0-9_+=-]{32,}$`)

// secretValue says whether a value is, or holds, a secret by its looks.
func secretValue(v string) bool {
	if slices.ContainsFunc(secretForms, func(re *regexp.Regexp) bool { return re.MatchString(v) }) {
		return true
	}
	if randomWord.MatchString(v) && strings.ContainsAny(v, "0123456789") && strings.ContainsAny(strings.ToLower(v), "abcdefghijklmnopqrstuvwxyz") {
		return true
	}
	return secretURL(v)
}

// secretURL finds a password in an address, or a secret among its parameters.
func secretURL(v string) bool {
	if !strings.Contains(v, "://") {
		return false
	}
	u, err := url.Parse(v)
	if err != nil {
		return strings.Contains(v, "@")
	}
	if _, has := u.User.Password(); has {
		return true
	}
	for name, values := range u.Query() {
		if secretName(name) && slices.ContainsFunc(values, func(s string) bool { return !harmless.MatchString(s) }) {
			return true
		}
	}
	return false
}

// secretArgs marks the arguments that are or hold secrets.
func secretArgs(args []string) []bool {
	marks := make([]bool, len(args))
	for i, a := range args {
		name, value, joined := strings.Cut(a, "=")
		switch {
		case secretValue(a):
			marks[i] = true
		case joined && secretName(name):
			marks[i] = !harmless.MatchString(value)
		case i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") && secretName(args[i-1]):
			marks[i] = !strings.HasPrefix(a, "-") && !harmless.MatchString(a)
		}
	}
	return marks
}

// blank stands where a secret was.
const blank = "•••"

// blanked is a command line fit to be shown: without secrets.
func blanked(command []string) []string {
	out := slices.Clone(command)
	for i, secret := range secretArgs(command) {
		if !secret {
			continue
		}
		out[i] = blank
		if name, _, ok := strings.Cut(command[i], "="); ok && strings.HasPrefix(name, "-") && !secretValue(name) {
			out[i] = name + "=" + blank
		}
	}
	return out
}
