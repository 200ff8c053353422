package swap

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// MaxBody bounds the bodies in which sentinels are swapped, in bytes.
const MaxBody = 8 << 20

// TooLarge is why a sentinel stays in a larger one.
const TooLarge = "The body is larger than 8 MiB."

type bodyKind int

const (
	unread bodyKind = iota
	isJSON
	isForm
)

// Reads says whether a request's body has to be read, up to MaxBody, before Plan can decide. Without,
// no sentinel in it is swapped.
func (s *Set) Reads(r *http.Request, to Target, now time.Time) bool {
	if r.Body == nil || r.Body == http.NoBody || kindOf(r.Header) == unread {
		return false
	}
	return slices.ContainsFunc(s.all, func(p *wire.Placeholder) bool {
		inBody := slices.ContainsFunc(p.Places, func(place sandbox.SecretPlace) bool { return place.In == sandbox.InBody })
		return inBody && refuses(p, to, now) == ""
	})
}

// kindOf is what a body's header says that it is.
func kindOf(h http.Header) bodyKind {
	types := h["Content-Type"]
	if len(types) != 1 || !slices.Contains([]string{"", "identity"}, strings.ToLower(h.Get("Content-Encoding"))) {
		return unread
	}
	name, parameters, err := mime.ParseMediaType(types[0])
	charset := strings.ToLower(parameters["charset"])
	switch {
	case err != nil, charset != "" && charset != "utf-8" && charset != "us-ascii":
		return unread
	case name == "application/json", strings.HasSuffix(name, "+json"):
		return isJSON
	case name == "application/x-www-form-urlencoded":
		return isForm
	}
	return unread
}

func (p *Plan) doQuery(raw string) {
	after := pairs(raw, func(name, text string) (string, bool) {
		return p.put(sandbox.SecretPlace{In: sandbox.InQuery, Name: name}, text)
	})
	if after != raw {
		p.query = after
	}
	for pair := range strings.SplitSeq(after, "&") {
		name, _, _ := strings.Cut(pair, "=")
		p.look(pair, sandbox.SecretPlace{In: sandbox.InQuery, Name: plain(name)}, "It does not stand there as a value of its own.")
	}
}

// pairs swaps in what has the form of a query. Whatever is not swapped stays as it was written.
func pairs(raw string, put func(name, text string) (string, bool)) string {
	all := strings.Split(raw, "&")
	for i, pair := range all {
		name, text, ok := strings.Cut(pair, "=")
		decoded, err := url.QueryUnescape(text)
		if !ok || err != nil {
			continue
		}
		if value, ok := put(plain(name), decoded); ok {
			all[i] = name + "=" + url.QueryEscape(value)
		}
	}
	return strings.Join(all, "&")
}

func plain(name string) string {
	if decoded, err := url.QueryUnescape(name); err == nil {
		return decoded
	}
	return name
}

func (p *Plan) doBody(h http.Header, body []byte) {
	if body == nil {
		return
	}
	put := func(name, text string) (string, bool) {
		return p.put(sandbox.SecretPlace{In: sandbox.InBody, Name: name}, text)
	}
	after, why := body, "It does not stand there as a value of its own, in a place that is named."
	var err error
	switch kindOf(h) {
	case isJSON:
		uses := len(p.Uses)
		if after, err = members(body, put); err != nil {
			p.Uses, after, why = p.Uses[:uses], body, "The body cannot be read as JSON."
		}
	case isForm:
		after = []byte(pairs(string(body), put))
	case unread:
	}
	if !bytes.Equal(after, body) {
		p.body = after
	}
	for _, name := range p.set.sentinels.NamesIn(after) {
		p.inBody(p.set.bySentinel[name], why)
	}
}

// inBody reports a sentinel that stays somewhere in the body.
func (p *Plan) inBody(which *wire.Placeholder, why string) {
	place := sandbox.SecretPlace{In: sandbox.InBody}
	if i := slices.IndexFunc(which.Places, func(own sandbox.SecretPlace) bool { return own.In == sandbox.InBody }); i >= 0 {
		place = which.Places[i]
	}
	p.stay(which, place, why)
}

// members swaps in the strings that are members of objects, at any depth, in each of the values that b
// holds. Everything else stays as it was written, byte for byte.
func members(b []byte, put func(name, text string) (string, bool)) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var out []byte
	copied, name := int64(0), ""
	for {
		kind, count := dec.StackIndex(dec.StackDepth())
		inObject := kind == '{'
		if dec.PeekKind() != '"' || !inObject {
			if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
				return append(out, b[copied:]...), nil
			} else if err != nil {
				return nil, err
			}
			continue
		}
		raw, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		text, err := jsontext.AppendUnquote(nil, raw)
		if count%2 == 0 {
			name = string(text)
			continue
		}
		if value, ok := put(name, string(text)); ok && err == nil {
			quoted, err := jsontext.AppendQuote(nil, value)
			if err != nil {
				return nil, err
			}
			end := dec.InputOffset()
			out = append(append(out, b[copied:end-int64(len(raw))]...), quoted...)
			copied = end
		}
	}
}
