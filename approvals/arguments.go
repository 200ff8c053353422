package approvals

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// largeArguments is more than a read needs to say, in bytes; what is larger carries something out.
const largeArguments = 64 << 10

// Risk says in a clause why arguments ask whatever the tool: they look like credentials, or are very
// large; "" when nothing about them does.
func Risk(arguments []byte) string { return risky(arguments) }

// RiskOf is Risk of all that a call sends for its client: its arguments, and its answers to what the server asked.
func RiskOf(c Call) string {
	if risk := risky(c.Arguments); risk != "" {
		return risk
	}
	return strings.Replace(risky(c.Input), "its arguments", "its answers to the server", 1)
}

// risky says why arguments ask whatever the tool, in a clause; "" when nothing about them does.
func risky(arguments []byte) string {
	if len(arguments) > largeArguments {
		return fmt.Sprintf("its arguments are %d KiB long, more than the %d KiB a read may carry", len(arguments)>>10, largeArguments>>10)
	}
	text := unescape(arguments)
	if found := FindCredentials(text); len(found) > 0 {
		return "its arguments hold what looks like " + found[0].Kind
	}
	if name := secretMember(arguments); name != "" {
		return fmt.Sprintf("its arguments hold a value named %q", name)
	}
	return ""
}

// unescape undoes JSON's string escapes wherever they stand, so that a token cannot hide behind
// them. It is lenient: what is no escape stays.
func unescape(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			i++
			continue
		}
		var n int
		out, n = unescapeOne(out, b[i:])
		i += n
	}
	return out
}

// unescapeOne appends what the escape at the start of b stands for and says how long it is.
func unescapeOne(out, b []byte) ([]byte, int) {
	switch b[1] {
	case 'n':
		return append(out, '\n'), 2
	case 't':
		return append(out, '\t'), 2
	case 'r':
		return append(out, '\r'), 2
	case 'b', 'f':
		return append(out, ' '), 2
	case 'u':
		r, ok := hex4(b[2:])
		if !ok {
			return append(out, b[0]), 1
		}
		if low, ok := lowSurrogate(b[6:]); ok && utf16.IsSurrogate(r) {
			return utf8.AppendRune(out, utf16.DecodeRune(r, low)), 12
		}
		return utf8.AppendRune(out, r), 6
	default:
		return append(out, b[1]), 2
	}
}

func lowSurrogate(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	return hex4(b[2:])
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	return rune(n), err == nil
}

// secretMember finds the first member of a JSON text whose name says secret and whose value is a
// string that is not empty. It walks strings only, so broken JSON is no way around it.
func secretMember(b []byte) string {
	for i := 0; i < len(b); i++ {
		if b[i] != '"' {
			continue
		}
		end := stringEnd(b, i)
		rest := bytes.TrimLeft(b[end:], " \t\r\n")
		if len(rest) > 0 && rest[0] == ':' {
			value := bytes.TrimLeft(rest[1:], " \t\r\n")
			name := string(unescape(b[i+1 : max(i+1, end-1)]))
			if SecretName(name) && len(value) > 1 && value[0] == '"' && value[1] != '"' {
				return name
			}
		}
		i = end - 1
	}
	return ""
}

// stringEnd is the offset after the closing quote of the string that opens at b[start].
func stringEnd(b []byte, start int) int {
	for i := start + 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}
