package sandbox

import (
	"fmt"

	"github.com/containerd/errdefs"
)

// maxServerName bounds a ServerName, in bytes: names become directory and container names.
const maxServerName = 64

// ParseServerName takes a name from foreign text. Errors are InvalidArgument.
func ParseServerName(s string) (ServerName, error) {
	if len(s) == 0 || len(s) > maxServerName {
		return "", fmt.Errorf("server name of %d characters, want 1 to %d: %w", len(s), maxServerName, errdefs.ErrInvalidArgument)
	}
	for i := range len(s) {
		if !nameByte(s[i], i == 0) {
			return "", fmt.Errorf("server name %q: want letters, digits, '.', '_' and '-', a letter or digit first: %w", s, errdefs.ErrInvalidArgument)
		}
	}
	return ServerName(s), nil
}

func nameByte(c byte, first bool) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	case c == '.', c == '_', c == '-':
		return !first
	}
	return false
}
