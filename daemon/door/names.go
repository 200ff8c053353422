package door

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// What clients take for a name: at most so many of these bytes.
const (
	maxName   = 64
	digestLen = 16
)

// digested is what a name with a digest ends with. A tool's own name that looks like it gets one,
// too, so that no name of one kind is one of the other.
var digested = regexp.MustCompile(`_[0-9a-f]{16}$`)

// exposed is the name under which all servers together show a tool or prompt of one: server__name.
// Two different pairs have different names, and a pair has always the same.
func exposed(server, name string) string {
	full := serverPart(server) + "__" + strings.Map(nameByte, name)
	if strings.HasSuffix(full, "__"+name) && name != "" && len(full) <= maxName && !digested.MatchString(full) {
		return full
	}
	sum := sha256.Sum256([]byte(server + "\x00" + name))
	suffix := "_" + hex.EncodeToString(sum[:])[:digestLen]
	return full[:min(len(full), maxName-len(suffix))] + suffix
}

// nameByte is r where names may hold it.
func nameByte(r rune) rune {
	switch {
	case r == '-' || r == '_', '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
		return r
	}
	return '-'
}

// serverPart is a server's name as names begin: what is not a letter, a digit or a dash becomes _
// and two digits, so that two underscores stand behind it alone.
func serverPart(server string) string {
	var b strings.Builder
	for i := range len(server) {
		if c := server[i]; c == '-' || (c != '_' && c < 0x80 && nameByte(rune(c)) == rune(c)) {
			b.WriteByte(c)
		} else {
			b.WriteString("_" + hex.EncodeToString([]byte{c}))
		}
	}
	return b.String()
}
