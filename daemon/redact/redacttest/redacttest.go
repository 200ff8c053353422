// Package redacttest makes texts that are hard to redact, for tests and measurements.
package redacttest

import (
	"fmt"
	"strings"

	"github.com/garita-dev/garita/daemon/redact"
)

// Decoys is a text of that many bytes that has all the words secrets begin with, over and over, each
// before something that might be one and is none.
func Decoys(size int) []byte {
	words := redact.Keywords()
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		for _, w := range words {
			fmt.Fprintf(&b, "%s%x=abcdefgh.ijklmnop-%d ", w, i, i)
		}
	}
	return []byte(b.String()[:size])
}

// Hard is texts of that many bytes, by what makes them hard.
func Hard(size int) map[string][]byte {
	fill := func(s string) []byte { return []byte(strings.Repeat(s, size/len(s)+1)[:size]) }
	return map[string][]byte{
		"decoys":       Decoys(size),
		"one prefix":   fill("ghp_sk-eyJ"),
		"escapes":      fill(`\u0041%41`),
		"long runs":    fill("key_sk_ey_glpat-abcdefghijklmnopqrstuvwxyz0123456789 "),
		"key headers":  fill("-----BEGIN RSA PRIVATE KEY-----\n"),
		"base64":       fill("YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo+/"),
		"a repository": fill("func (s *Session) callTool(ctx context.Context, req protocol.Message) { token := s.key }\n"),
	}
}
