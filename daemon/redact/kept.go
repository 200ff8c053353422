package redact

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
)

// Log is a line for a log or the record, without secrets: those of Text, values after names such as
// password, and tokens by every rule there is. Better a word too much than a secret on disk.
func (r *Redactor) Log(line string) string {
	p := r.pass(wide, len(line))
	p.wide = true
	return string(p.text([]byte(line)))
}

// LogCut is Log for the beginning of a line that was longer: its end is taken out too where a secret may
// begin there.
func (r *Redactor) LogCut(line string) string {
	p := r.pass(wide, len(line))
	p.wide, p.cut = true, true
	return string(p.text([]byte(line)))
}

// Record is Log for a JSON text, a call's arguments say, of which it keeps form and order. A text
// that is no JSON becomes a JSON string of what is left of it.
func (r *Redactor) Record(text []byte) []byte {
	v := jsontext.Value(text)
	if !v.IsValid(jsontext.AllowDuplicateNames(true)) {
		return protocol.Quote(r.Log(string(text)))
	}
	out, _ := r.value(v, wide, true)
	return out
}

// named says whether a scalar is the value of a member whose name tells of a secret.
func named(s protocol.Scalar) bool {
	for _, step := range s.Path {
		if step.Name != nil && approvals.SecretName(string(step.Name)) {
			return true
		}
	}
	return false
}

// leastShape is the shortest credential that approvals knows by its shape, in bytes.
const leastShape = 15

// assignments are the values in a text that stand behind a name for a secret and = or :.
func assignments(text []byte) []span {
	var found []span
	for i := 0; i < len(text); i++ {
		if text[i] != ':' && text[i] != '=' {
			continue
		}
		if approvals.SecretName(nameBefore(text, i)) {
			if s := valueAfter(text, i+1); s.to > s.from {
				found = append(found, s)
				i = s.to - 1
			}
		}
	}
	if len(text) < leastShape {
		return found
	}
	for _, c := range approvals.FindCredentials(text) {
		found = append(found, span{c.Start, c.End})
	}
	return found
}

// nameBefore is the name that ends before i: at most 40 bytes, quotes and spaces left out.
func nameBefore(text []byte, i int) string {
	before := text[max(0, i-44):i]
	before = bytes.TrimRight(before, " \t\"'`\\")
	from := len(before)
	for from > 0 && (word(before[from-1]) || before[from-1] == '-' || before[from-1] == '.') {
		from--
	}
	name := string(before[from:])
	if j := strings.LastIndexByte(name, '.'); j >= 0 {
		name = name[j+1:]
	}
	return name
}

// valueAfter is the value that begins after i: what is in quotes, or up to white space or a bracket,
// behind the name of a scheme ("Bearer").
func valueAfter(text []byte, i int) span {
	for i < len(text) && bytes.IndexByte([]byte(" \t=>\\"), text[i]) >= 0 {
		i++
	}
	quote := byte(0)
	if i < len(text) && bytes.IndexByte([]byte("\"'`"), text[i]) >= 0 {
		quote = text[i]
		i++
	}
	to := i
	for to < len(text) && !ends(text[to], quote) {
		to++
	}
	if s := strings.ToLower(string(text[i:min(to, i+8)])); to < len(text) && text[to] == ' ' && (s == "bearer" || s == "basic" || s == "token") {
		for to++; to < len(text) && !ends(text[to], quote); {
			to++
		}
	}
	return span{i, to}
}

func ends(c, quote byte) bool {
	if quote != 0 {
		return c == quote || c == '\n'
	}
	return c <= ' ' || bytes.IndexByte([]byte("\"'`,;{}[]()<>&"), c) >= 0
}
