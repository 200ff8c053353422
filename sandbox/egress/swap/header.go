package swap

import (
	"encoding/base64"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// doHeader swaps in each of a header's values.
func (p *Plan) doHeader(name string, values []string) {
	place := sandbox.SecretPlace{In: sandbox.InHeader, Name: name}
	var changed []string
	for i, text := range values {
		after := p.headerValue(place, text)
		if after != text && changed == nil {
			changed = append(changed, values...)
		}
		if changed != nil {
			changed[i] = after
		}
	}
	if changed != nil {
		p.header[name] = changed
	}
	for _, which := range p.set.all {
		if strings.Contains(strings.ToLower(name), strings.ToLower(which.Sentinel)) {
			p.stay(which, sandbox.SecretPlace{In: sandbox.InHeader}, "It stands in the name of a header.")
		}
	}
}

// headerValue is one value of a header with everything swapped that may be.
func (p *Plan) headerValue(place sandbox.SecretPlace, text string) string {
	for _, name := range p.set.sentinels.Names(text) {
		which := p.set.bySentinel[name]
		why := "It does not stand there as a value of its own."
		if p.may(which, place) {
			var after string
			if after, why = inHeader(text, which); after != text {
				p.use(which, place)
				text = after
			}
		}
		if why != "" {
			p.stay(which, place, why)
		}
	}
	return text
}

// inHeader swaps which in a header's text, and says why it stays there, or a part of it.
func inHeader(text string, which *wire.Placeholder) (after, why string) {
	value := which.Value.Send()
	if !httpguts.ValidHeaderFieldValue(value) || strings.TrimSpace(value) != value {
		return text, "The value cannot stand in a header: it has a line break, another control character, or blanks at an end."
	}
	if text == which.Sentinel {
		return value, ""
	}
	scheme, coded, _ := strings.Cut(text, " ")
	if strings.EqualFold(scheme, "Basic") {
		return inBasic(scheme, coded, which)
	}
	after, left := delimited(text, which.Sentinel, value)
	if left || after == text {
		why = "It does not stand there as a value of its own."
	}
	return after, why
}

// delimited swaps where the sentinel stands alone, as in "Bearer X", "token X", "a=X; b=Y" or
// `Token token="X"`. left says that it stands somewhere else, too.
func delimited(text, sentinel, value string) (after string, left bool) {
	var out strings.Builder
	for {
		at := strings.Index(text, sentinel)
		if at < 0 {
			break
		}
		end := at + len(sentinel)
		before, behind := text[:at], text[end:]
		alone := (before == "" || strings.ContainsAny(before[at-1:], " \t=\"',;")) && (behind == "" || strings.ContainsAny(behind[:1], " \t\"',;"))
		out.WriteString(before)
		if alone {
			out.WriteString(value)
		} else {
			out.WriteString(sentinel)
			left = true
		}
		text = behind
		if alone && behind == "" {
			break
		}
	}
	out.WriteString(text)
	return out.String(), left
}

// inBasic swaps the user or the password of Basic credentials (RFC 7617).
func inBasic(scheme, coded string, which *wire.Placeholder) (after, why string) {
	text := scheme + " " + coded
	user, password, ok := credentials(strings.TrimSpace(coded))
	if !ok {
		return text, "The Basic credentials cannot be read."
	}
	value := which.Value.Send()
	switch {
	case user == which.Sentinel && strings.Contains(value, ":"):
		return text, "The value cannot be a user's name: it has a colon."
	case user != which.Sentinel && password != which.Sentinel:
		return text, "It is neither the user nor the password."
	}
	if user == which.Sentinel {
		user = value
	}
	if password == which.Sentinel {
		password = value
	}
	return scheme + " " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)), ""
}

func credentials(coded string) (user, password string, ok bool) {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(coded, "="))
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(b), ":")
}
