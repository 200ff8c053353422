package sanitize

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/idna"

	"github.com/garita-dev/garita/daemon/protocol"
)

const (
	// maxAsk bounds what a server may ask a person at once, in bytes.
	maxAsk = 10 << 10
	// maxTokens bounds what it may have a client's model write, where it may ask that at all.
	maxTokens = 4096
)

// Ask judges what a server asks of its client: params as they may go on, or why they may not. method
// is elicitation/create or sampling/createMessage, any other passes. Nothing is opened or fetched.
func Ask(method string, params jsontext.Value, o Options) (jsontext.Value, []Finding, error) {
	switch method {
	case "elicitation/create":
		if err := elicits(params); err != nil {
			return nil, nil, err
		}
	case "sampling/createMessage":
		if err := samples(params); err != nil {
			return nil, nil, err
		}
	default:
		return params, nil, nil
	}
	clean, findings := Value(params, o)
	if method == "elicitation/create" {
		clean = withHost(clean, o.Server)
	}
	return clean, findings, nil
}

// elicits says why a person is not to be asked this.
func elicits(params jsontext.Value) error {
	if len(params) > maxAsk {
		return fmt.Errorf("it is %d bytes long; a question has at most %d", len(params), maxAsk)
	}
	m, err := protocol.Members(params, "mode", "message", "url", "requestedSchema", "elicitationId")
	if err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	switch mode := protocol.Text(m["mode"]); {
	case mode == "url" || mode == "" && m["url"] != nil:
		_, err := Address(protocol.Text(m["url"]))
		return err
	case mode != "" && mode != "form":
		return fmt.Errorf("nobody knows its mode %q", bounded(mode))
	}
	if word := secretWord(protocol.Text(m["message"])); word != "" {
		return fmt.Errorf("it asks for a secret (%q); those are given to Garita, never typed into a server's form", word)
	}
	return asksSecret(m["requestedSchema"])
}

// asksSecret looks at the fields of a form.
func asksSecret(schema jsontext.Value) error {
	var found string
	protocol.EachScalar(schema, func(s protocol.Scalar) {
		if s.Number || found != "" {
			return
		}
		text := string(protocol.Unquoted(schema[s.From:s.To]))
		if text == "password" && !s.Name { // a format, a title
			found = text
			return
		}
		if word := secretWord(words(text)); word != "" {
			found = word
		}
	})
	if found != "" {
		return fmt.Errorf("its form asks for a secret (%q); those are given to Garita, never typed into a server's form", found)
	}
	return nil
}

// words is a name as words: apiKey and api_key are "api key".
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		if 'A' <= r && r <= 'Z' && i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z' {
			b.WriteByte(' ')
		}
		if r == '_' || r == '-' || r == '.' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

var secretWords = regexp.MustCompile(`(?i)\b(pass ?words?|passwd|pwd|pass ?phrases?|pass ?codes?|pins?(?: codes?| numbers?)|secrets?|(?:api|access|private|secret|ssh|signing|encryption|recovery|license) ?keys?|(?:access|auth|api|bearer|refresh|personal access|github|gitlab|session|security) ?tokens?|^tokens?$|(?:your|the|paste|enter) tokens?|credentials?|otp|one[ -]?time (?:codes?|pass)|2fa|mfa|totp|verification codes?|security codes?|cvv|cvc|card numbers?|credit cards?|seed phrases?|mnemonics?|social security|ssn|passwort|kennwort|contraseña|mot de passe|senha|пароль|密码|密碼|パスワード|비밀번호)\b`)

// wholeWords are those above that \b does not know the ends of.
var wholeWords = []string{"пароль", "密码", "密碼", "パスワード", "비밀번호", "contraseña"}

// secretWord is the word in a text that asks for a secret, "" when there is none. Letters that look
// like others are taken for them.
func secretWord(text string) string {
	text = latin(Text(text))
	if m := secretWords.FindString(words(text)); m != "" {
		return m
	}
	for _, w := range wholeWords {
		if strings.Contains(strings.ToLower(text), w) {
			return w
		}
	}
	return ""
}

// lookalikes are letters of other scripts, and digits, that are drawn like ours.
var lookalikes = strings.NewReplacer("а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "ѕ", "s", "ԁ", "d", "і", "i", "у", "y", "х", "x", "ο", "o", "α", "a", "ρ", "p")

// latin is text with lookalikes replaced where it is mostly Latin, and full-width letters as plain ones.
func latin(text string) string {
	text = strings.Map(func(r rune) rune {
		if 0xff01 <= r && r <= 0xff5e {
			return r - 0xfee0
		}
		return r
	}, text)
	mostly := 0
	for _, r := range text {
		switch {
		case 'a' <= r|0x20 && r|0x20 <= 'z':
			mostly++
		case r >= 0x370 && r <= 0x52f:
			mostly--
		}
	}
	if mostly > 0 {
		return lookalikes.Replace(text)
	}
	return text
}

// Address reads a web address that a person is to be sent to, and gives its host as it really is:
// in ASCII ("xn--…" where it has other letters). The error says why nobody is to be sent there.
func Address(text string) (host string, err error) {
	if len(text) > maxURL/2 {
		return "", fmt.Errorf("its address is %d bytes long", len(text))
	}
	if Text(text) != text || strings.ContainsAny(text, "\\ \t\n\"<>`") {
		return "", fmt.Errorf("its address has characters that addresses do not have")
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("its address cannot be read")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return "", fmt.Errorf("its address is of the kind %q, and only https leads a person anywhere", bounded(u.Scheme))
	case u.User != nil:
		return "", fmt.Errorf("its address has a name before the host, which is how one host is made to look like another")
	case u.Hostname() == "":
		return "", fmt.Errorf("its address has no host")
	}
	if host, err = idna.ToASCII(strings.ToLower(u.Hostname())); err != nil || strings.ContainsAny(host, "%") {
		return "", fmt.Errorf("its address has a host that cannot be read")
	}
	if u.Scheme == "http" && !loopback(host) {
		return "", fmt.Errorf("its address is http, which anybody on the way can read; only this machine itself may be reached so")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", fmt.Errorf("its address has no port that there is")
		}
		host += ":" + port
	}
	return host, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// withHost says before the words of a question who asks, and where a link really leads.
func withHost(params jsontext.Value, server string) jsontext.Value {
	m, err := protocol.Members(params)
	if err != nil || m["url"] == nil {
		return params
	}
	host, err := Address(protocol.Text(m["url"]))
	if err != nil {
		return params
	}
	note := fmt.Sprintf("[The server %q asks you to open a page at %s] %s", server, host, protocol.Text(m["message"]))
	if strings.Contains(host, "xn--") {
		note = fmt.Sprintf("[The server %q asks you to open a page at %s, a name with letters that may look like others] %s", server, host, protocol.Text(m["message"]))
	}
	changed, err := protocol.Edit(params, protocol.Member{Name: "message", Value: protocol.Quote(note)})
	if err != nil {
		return params
	}
	return changed
}

// samples says why a client's model is not to be asked this, by a server that may ask it at all.
func samples(params jsontext.Value) error {
	m, err := protocol.Members(params, "includeContext", "maxTokens", "tools", "toolChoice", "messages", "systemPrompt")
	if err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	if c := protocol.Text(m["includeContext"]); m["includeContext"] != nil && c != "none" && c != "thisServer" {
		return fmt.Errorf("it wants the context of other servers (includeContext %q)", bounded(c))
	}
	if m["tools"] != nil || m["toolChoice"] != nil {
		return fmt.Errorf("it gives the model tools")
	}
	if n, err := strconv.ParseFloat(string(m["maxTokens"]), 64); m["maxTokens"] != nil && (err != nil || n > maxTokens) {
		return fmt.Errorf("it asks for %s tokens; at most %d may be", bounded(string(m["maxTokens"])), maxTokens)
	}
	return nil
}
