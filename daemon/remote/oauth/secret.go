package oauth

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"golang.org/x/net/http/httpguts"
)

// Secret is a token, a key or a password. No way of printing, logging or encoding shows it; it
// leaves this package in a header only. The zero Secret is empty.
type Secret struct{ p *string }

const redacted = "[redacted]"

// NewSecret keeps s.
func NewSecret(s string) Secret { return Secret{&s} }

// String is not the secret; neither is what the other ways of showing a value give.
func (Secret) String() string { return redacted }

// Format makes every verb print the same.
func (Secret) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, redacted) }

// MarshalText makes encodings show the same.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue makes logs show the same.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// SetHeader sets the header of that name to the secret.
func (s Secret) SetHeader(h http.Header, name string) { h.Set(name, s.open()) }

// FitsHeader tells whether the secret can be a header's value.
func (s Secret) FitsHeader() bool { return httpguts.ValidHeaderFieldValue(s.open()) }

func (s Secret) empty() bool { return s.open() == "" }

func (s Secret) open() string {
	if s.p == nil {
		return ""
	}
	return *s.p
}
