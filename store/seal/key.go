package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/garita-dev/garita/store"
)

// Key seals and opens values. It cannot be printed, as store.SecretValue cannot. The zero Key is none.
type Key struct{ text *string }

const keySize = 32

// NewKey makes a random one.
func NewKey() Key {
	var b [keySize]byte
	_, _ = rand.Read(b[:])
	return keyOf(b[:])
}

func keyOf(b []byte) Key {
	text := string(b)
	return Key{&text}
}

// IsZero says that there is none.
func (k Key) IsZero() bool { return k.text == nil }

// ID tells keys apart and says nothing of them: 16 hex digits.
func (k Key) ID() string {
	sum := sha256.Sum256([]byte("garita sealing key\x00" + *k.text))
	return hex.EncodeToString(sum[:8])
}

// format is the first byte of what Seal returns: AES-256-GCM, a random nonce of 12 bytes before it.
const format = 1

// Seal encrypts a value so that it opens only as that version of that secret.
func (k Key) Seal(name string, version int64, v store.SecretValue) ([]byte, error) {
	aead, err := k.aead()
	if err != nil {
		return nil, err
	}
	return aead.Seal([]byte{format}, nil, []byte(v.Reveal()), about(name, version)), nil
}

// errBroken says no more than that: why a sealed value does not open is nobody's to know.
var errBroken = errors.New("the sealed value does not open: it was changed, or sealed by another key")

// Open is the value that was sealed.
func (k Key) Open(name string, version int64, sealed []byte) (store.SecretValue, error) {
	aead, err := k.aead()
	if err != nil {
		return store.SecretValue{}, err
	}
	if len(sealed) == 0 || sealed[0] != format {
		return store.SecretValue{}, errBroken
	}
	b, err := aead.Open(nil, nil, sealed[1:], about(name, version))
	if err != nil {
		return store.SecretValue{}, errBroken
	}
	defer clear(b)
	return store.NewSecretValue(b), nil
}

// about is the additional data: a sealed value is no other secret's, and no other version's.
func about(name string, version int64) []byte {
	return []byte("garita secret\x00" + name + "\x00" + strconv.FormatInt(version, 10))
}

func (k Key) aead() (cipher.AEAD, error) {
	if k.IsZero() {
		return nil, errors.New("there is no key")
	}
	block, err := aes.NewCipher([]byte(*k.text))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// keyMark begins the text in which a key is kept, for the person who finds it.
const keyMark = "garita-sealing-key-1 "

func (k Key) encode() []byte {
	return []byte(keyMark + base64.StdEncoding.EncodeToString([]byte(*k.text)))
}

// decode reads what encode wrote. The error holds nothing of it.
func decode(text []byte) (Key, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(string(text)), strings.TrimSpace(keyMark)+" ")
	b, err := base64.StdEncoding.DecodeString(rest)
	if !ok || err != nil || len(b) != keySize {
		return Key{}, errors.New("it is not a sealing key of Garita's")
	}
	return keyOf(b), nil
}

const hidden = "(sealing key)"

// String hides the key.
func (Key) String() string { return hidden }

// GoString hides the key.
func (Key) GoString() string { return hidden }

// Format hides the key, whatever the verb.
func (Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// LogValue hides the key.
func (Key) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the key.
func (Key) MarshalText() ([]byte, error) { return []byte(hidden), nil }
