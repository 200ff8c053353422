package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
)

// masked stands for what was taken out.
const masked = "[redacted]"

// Redact masks what looks like a secret in a JSON text: values of members named so (password,
// token, authorization …) and tokens that show by their shape. The rest keeps its form and order.
// A text that is no JSON becomes a JSON string of what is left of it.
func Redact(arguments []byte) []byte {
	r, _ := redactors.Get().(*redactor)
	defer r.put()
	r.text.Reset(arguments)
	r.in.Reset(&r.text, lenient...)
	r.out.Reset(&r.kept, lenient...)
	if err := r.run(); err != nil {
		return quote(mask(string(arguments)))
	}
	return bytes.Clone(bytes.TrimSuffix(r.kept.Bytes(), []byte("\n")))
}

// redactors are used again: making the buffers of one takes longer than most arguments take.
var redactors = sync.Pool{New: func() any {
	r := &redactor{}
	r.in, r.out = jsontext.NewDecoder(&r.text), jsontext.NewEncoder(&r.kept)
	return r
}}

// put gives r back, unless it has grown much.
func (r *redactor) put() {
	const most = 64 << 10
	r.text.Reset(nil)
	if r.kept.Cap() <= most {
		r.kept.Reset()
		redactors.Put(r)
	}
}

// lenient reads what servers may accept, so that it is shown and not swallowed.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// redactor copies one JSON value, token by token.
type redactor struct {
	in   *jsontext.Decoder
	out  *jsontext.Encoder
	text bytes.Reader
	kept bytes.Buffer
}

func (r *redactor) run() error {
	secret := false // the next value belongs to a name that says so
	for {
		if secret {
			if err := r.in.SkipValue(); err != nil {
				return err
			}
			secret = false
			if err := r.out.WriteToken(jsontext.String(masked)); err != nil {
				return err
			}
			continue
		}
		t, err := r.in.ReadToken()
		if _, values := r.in.StackIndex(0); errors.Is(err, io.EOF) && values == 1 {
			return nil
		}
		if err != nil {
			return err
		}
		if t.Kind() == '"' {
			secret = r.isName() && approvals.SecretName(t.String())
			t = jsontext.String(mask(t.String()))
		}
		if err := r.out.WriteToken(t); err != nil {
			return err
		}
	}
}

// isName says whether the string just read is a member's name.
func (r *redactor) isName() bool {
	kind, n := r.in.StackIndex(r.in.StackDepth())
	return kind == '{' && n%2 == 1
}

// mask replaces the stretches of s that look like secrets.
func mask(s string) string {
	found := approvals.FindCredentials([]byte(s))
	if len(found) == 0 {
		return s
	}
	slices.SortFunc(found, func(a, b approvals.Credential) int { return a.Start - b.Start })
	var b strings.Builder
	at := 0
	for _, c := range found {
		if c.Start >= at {
			b.WriteString(s[at:c.Start] + masked)
		}
		at = max(at, c.End)
	}
	return b.String() + s[at:]
}

// arguments is what is kept of a call's arguments: valid JSON of at most about limit bytes, or nil
// when there are none.
func (s *Store) arguments(raw []byte, limit int) jsontext.Value {
	if len(raw) == 0 {
		return nil
	}
	kept := jsontext.Value(bytes.Clone(s.redact(raw))) // raw is what will be sent, and may be what redact returns
	if !kept.IsValid(lenient...) {
		kept = quote(string(kept))
	}
	if len(kept) > limit {
		kept = shorten(kept, limit)
	}
	if err := kept.Compact(lenient...); err != nil {
		return quote("arguments that could not be kept")
	}
	return kept
}

// shorten cuts the long strings of a JSON text; if that is not enough, only its beginning is kept,
// as a string.
func shorten(b jsontext.Value, limit int) jsontext.Value {
	const longest = 1 << 10
	var out bytes.Buffer
	in, enc := jsontext.NewDecoder(bytes.NewReader(b), lenient...), jsontext.NewEncoder(&out, lenient...)
	for out.Len() <= limit {
		t, err := in.ReadToken()
		if err != nil { // the end: b is valid
			return bytes.TrimSpace(out.Bytes())
		}
		if t.Kind() == '"' {
			t = jsontext.String(cut(t.String(), longest))
		}
		if err := enc.WriteToken(t); err != nil {
			break
		}
	}
	return quote(cut(string(b), limit/2)) // half: escapes make it longer
}

// cut keeps the first n bytes of s and says how many it left out.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + fmt.Sprintf("… [%d bytes left out]", len(s)-n)
}

// quote is s as a JSON string.
func quote(s string) jsontext.Value {
	b, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		return jsontext.Value(`""`)
	}
	return b
}
