package seal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/garita-dev/garita/store"
)

func TestAValueOpensAsWhatItWasSealedAs(t *testing.T) {
	k, value := NewKey(), "ghp_0123456789"
	sealed, err := k.Seal("a", 3, store.NewSecretValue([]byte(value)))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte(value)) {
		t.Error("it is not sealed")
	}
	if got, err := k.Open("a", 3, sealed); err != nil || got.Reveal() != value {
		t.Errorf("got %q, %v", got.Reveal(), err)
	}
	again, err := k.Seal("a", 3, store.NewSecretValue([]byte(value)))
	if err != nil || bytes.Equal(again, sealed) {
		t.Errorf("sealed twice it is the same: %v", err)
	}
	for name, open := range map[string]func() (store.SecretValue, error){
		"another name":    func() (store.SecretValue, error) { return k.Open("b", 3, sealed) },
		"another version": func() (store.SecretValue, error) { return k.Open("a", 2, sealed) },
		"another key":     func() (store.SecretValue, error) { return NewKey().Open("a", 3, sealed) },
		"a bit flipped": func() (store.SecretValue, error) {
			bad := bytes.Clone(sealed)
			bad[len(bad)/2] ^= 1
			return k.Open("a", 3, bad)
		},
		"cut short":      func() (store.SecretValue, error) { return k.Open("a", 3, sealed[:len(sealed)-1]) },
		"nothing":        func() (store.SecretValue, error) { return k.Open("a", 3, nil) },
		"another format": func() (store.SecretValue, error) { return k.Open("a", 3, append([]byte{2}, sealed[1:]...)) },
		"no key":         func() (store.SecretValue, error) { return Key{}.Open("a", 3, sealed) },
	} {
		if got, err := open(); err == nil || !got.IsZero() {
			t.Errorf("%s: it opens", name)
		}
	}
}

func TestAKeyIsReadAsItWasWritten(t *testing.T) {
	k := NewKey()
	if got, err := decode(append(k.encode(), '\n')); err != nil || got.ID() != k.ID() || *got.text != *k.text {
		t.Errorf("got %v", err)
	}
	for _, bad := range []string{"", "garita-sealing-key-1 ", "garita-sealing-key-1 AAAA", "AAAA", string(k.encode()) + "A", strings.ToUpper(string(k.encode()))} {
		if _, err := decode([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a key", bad)
		}
	}
	if NewKey().ID() == k.ID() {
		t.Error("two keys have one id")
	}
}

func TestAKeyIsNotPrinted(t *testing.T) {
	k := NewKey()
	raw, encoded := *k.text, string(k.encode()[len(keyMark):])
	holder := struct {
		key  Key
		Keys []Key
	}{k, []Key{k}}
	var out bytes.Buffer
	for _, v := range []any{k, &k, holder, &holder, []Key{k}, map[string]Key{"a": k}} {
		for _, verb := range "vsqxXdobTpcUt" {
			fmt.Fprintf(&out, "%"+string(verb)+" %+"+string(verb)+" %#"+string(verb)+"\n", v, v, v)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "key", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "key", v)
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
	}
	for _, form := range []string{raw, encoded, fmt.Sprintf("%x", raw), fmt.Sprintf("%X", raw), strings.Trim(fmt.Sprintf("%d", []byte(raw)), "[]")} {
		if strings.Contains(out.String(), form) {
			t.Errorf("it is printed as %q", form)
		}
	}
}
