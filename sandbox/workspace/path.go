package workspace

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/containerd/errdefs"
)

// EncodePath makes any file name printable and safe in JSON; see the package comment.
func EncodePath(raw string) string {
	if plain(raw) {
		return raw
	}
	var b strings.Builder
	for len(raw) > 0 {
		r, n := utf8.DecodeRuneInString(raw)
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case harmless(r, n):
			b.WriteString(raw[:n])
		default:
			for i := range n {
				fmt.Fprintf(&b, `\x%02x`, raw[i])
			}
		}
		raw = raw[n:]
	}
	return b.String()
}

func plain(raw string) bool {
	for i := range len(raw) {
		if raw[i] < ' ' || raw[i] >= 0x7f || raw[i] == '\\' {
			return false
		}
	}
	return true
}

// harmless says whether a rune of n bytes may be shown as it is.
func harmless(r rune, n int) bool {
	if r == utf8.RuneError && n == 1 {
		return false
	}
	return !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) && r != '\u2028' && r != '\u2029'
}

// DecodePath is the inverse of EncodePath. InvalidArgument if p is not of that form.
func DecodePath(p string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] != '\\' {
			b.WriteByte(p[i])
			continue
		}
		c, n, ok := unescape(p[i+1:])
		if !ok {
			return "", fmt.Errorf("path %q: a backslash is written \\\\, other bytes \\xHH: %w", p, errdefs.ErrInvalidArgument)
		}
		b.WriteByte(c)
		i += n
	}
	return b.String(), nil
}

// unescape reads what follows a backslash and says how many bytes that was.
func unescape(s string) (c byte, n int, ok bool) {
	switch {
	case strings.HasPrefix(s, `\`):
		return '\\', 1, true
	case len(s) >= 3 && s[0] == 'x':
		hi, ok1 := nibble(s[1])
		lo, ok2 := nibble(s[2])
		return hi<<4 | lo, 3, ok1 && ok2
	}
	return 0, 0, false
}

func nibble(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// cleanFolder checks the spelling of a host folder: absolute, clean, printable, not the root.
func cleanFolder(folder string) error {
	switch {
	case !path.IsAbs(folder) || path.Clean(folder) != folder || folder == "/":
		return fmt.Errorf("folder %q: want a clean absolute path: %w", folder, errdefs.ErrInvalidArgument)
	case EncodePath(strings.ReplaceAll(folder, `\`, "")) != strings.ReplaceAll(folder, `\`, ""):
		return fmt.Errorf("folder %q: the name is not printable: %w", folder, errdefs.ErrInvalidArgument)
	}
	return nil
}

// inside says whether p is dir or lies below it; both are clean and absolute, or both relative.
func inside(dir, p string) bool {
	return dir == "" || p == dir || strings.HasPrefix(p, dir+"/")
}

// join puts a name below a relative directory, "" being the folder itself.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// split is the inverse of join.
func split(p string) (dir, name string) {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i], p[i+1:]
	}
	return "", p
}
