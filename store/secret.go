package store

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// The kinds of event about secrets. None holds a value.
const (
	SecretSet     Kind = "secret.set" // stored, or stored anew: its version
	SecretRemoved Kind = "secret.removed"
	SecretGranted Kind = "secret.granted" // to a server: the whole grant
	SecretRevoked Kind = "secret.revoked"
	SecretRotated Kind = "secret.rotated" // after suspicion: revoked everywhere at once
	SecretUsed    Kind = "secret.used"    // put into a request, or handed to a server: version, host, calls
	SecretRefused Kind = "secret.refused" // its sentinel was sent where it may not be used
)

// SecretRef is what is known of a secret without its value.
type SecretRef struct {
	Name    string // as sandbox.ParseSecretName makes it
	Version int64  // counts from 1; each new value has the next
	Created time.Time
	Changed time.Time // when the value was stored last
	Expires time.Time // zero means never; past it the secret counts as missing
	// Command gives the value anew, argv; nil where the value is kept. It is run by the daemon without a shell.
	Command []string
	LastUse SecretUse // the newest; zero At means never
}

// Expired says that the value may not be used any more at now.
func (r SecretRef) Expired(now time.Time) bool {
	return !r.Expires.IsZero() && !now.Before(r.Expires)
}

// SecretUse is one use of a secret.
type SecretUse struct {
	Secret    string
	Version   int64
	At        time.Time
	Server    sandbox.ServerName
	Session   approvals.SessionID
	Principal approvals.Principal
	Calls     []approvals.CallID // under way then; exact when one
	Mode      sandbox.SecretMode
	Host      string // "api.github.com:443"; "" where it was handed to the server
}

// SecretValue is the bytes of a secret. Nothing prints it: not fmt with any verb, not slog, not an
// encoder. Copies share the bytes; the zero SecretValue is empty.
type SecretValue struct{ text *string }

// NewSecretValue keeps b's text.
func NewSecretValue(b []byte) SecretValue {
	if len(b) == 0 {
		return SecretValue{}
	}
	text := string(b)
	return SecretValue{&text}
}

// Reveal is the value, for the one place it is meant for.
func (v SecretValue) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// IsZero says that there is no value.
func (v SecretValue) IsZero() bool { return v.text == nil }

const hidden = "(secret)"

// String hides the value.
func (v SecretValue) String() string { return hidden }

// GoString hides the value.
func (v SecretValue) GoString() string { return hidden }

// Format hides the value, whatever the verb.
func (v SecretValue) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// LogValue hides the value.
func (v SecretValue) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the value.
func (v SecretValue) MarshalText() ([]byte, error) { return []byte(hidden), nil }
