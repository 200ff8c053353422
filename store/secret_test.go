package store

import (
	"bytes"
	"encoding/gob"
	jsonv1 "encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/template"

	jsonv2 "github.com/go-json-experiment/json"
)

const aValue = "s3cr3t-Value/with+signs"

// holder has a value in every way that a struct can.
type holder struct {
	held     SecretValue
	pointer  *SecretValue
	list     []SecretValue
	table    map[string]SecretValue
	any      any
	Exported SecretValue
	Nested   struct{ inner SecretValue }
	SecretValue
}

func forms() map[string]any {
	v := NewSecretValue([]byte(aValue))
	h := holder{
		held: v, pointer: &v, list: []SecretValue{v}, table: map[string]SecretValue{"a": v}, any: v,
		Exported: v, Nested: struct{ inner SecretValue }{v}, SecretValue: v,
	}
	return map[string]any{
		"itself": v, "a pointer": &v, "a list": []SecretValue{v}, "an array": [1]SecretValue{v}, "a table": map[string]SecretValue{"k": v},
		"a struct": h, "a pointer to a struct": &h, "structs": []holder{h}, "anything": []any{v, &v, h},
		"an error": fmt.Errorf("set %v: %w", v, errors.New("x")), "a function's": func() SecretValue { return v },
		"a channel": make(chan SecretValue, 1),
	}
}

// shows says whether a text has the value in it, in any form that a printer may give it.
func shows(text string) bool {
	for _, form := range []string{
		aValue, fmt.Sprintf("%x", aValue), fmt.Sprintf("%X", aValue), fmt.Sprintf("% x", aValue), fmt.Sprintf("% X", aValue),
		strings.Trim(fmt.Sprintf("%d", []byte(aValue)), "[]"), "czNjcjN0LVZhbHVl", aValue[:8], "s3cr3t-Value\\/with", strings.ReplaceAll(aValue, "+", "\\u002b"),
	} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

func TestASecretValueIsNotPrinted(t *testing.T) {
	for name, v := range forms() {
		for verb := rune('A'); verb <= 'z'; verb++ {
			for _, flags := range []string{"", "+", "#", "+#", " ", "-20", "020", ".3", "# "} {
				if got := fmt.Sprintf("%"+flags+string(verb), v); shows(got) {
					t.Errorf("%s by %%%s%c: %s", name, flags, verb, got)
				}
			}
		}
		if got := fmt.Sprint(v) + fmt.Sprintln(v) + fmt.Sprintf("%v %[1]d", v); shows(got) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestASecretValueIsNotLogged(t *testing.T) {
	for name, v := range forms() {
		var out bytes.Buffer
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			l := slog.New(h)
			l.Info("m", "k", v)
			l.With("k", v).WithGroup("g").Info("m", slog.Any("k", v), slog.Group("h", "k", v))
			l.LogAttrs(t.Context(), slog.LevelError, "m", slog.Attr{Key: "k", Value: slog.AnyValue(v)})
		}
		log.New(&out, "", 0).Println("m", v)
		if shows(out.String()) {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}

func TestASecretValueIsNotEncoded(t *testing.T) {
	for name, v := range forms() {
		var out bytes.Buffer
		encoders := map[string]func() error{
			"json":        func() error { b, err := jsonv1.Marshal(v); out.Write(b); return err },
			"json indent": func() error { return jsonv1.NewEncoder(&out).Encode(v) },
			"json v2":     func() error { b, err := jsonv2.Marshal(v); out.Write(b); return err },
			"gob":         func() error { return gob.NewEncoder(&out).Encode(v) },
			"xml":         func() error { return xml.NewEncoder(&out).Encode(v) },
			"template": func() error {
				return template.Must(template.New("t").Parse(`{{.}} {{printf "%v %q %x" . . .}}`)).Execute(&out, v)
			},
		}
		for how, encode := range encoders {
			out.Reset()
			if err := encode(); err != nil { // some refuse, which is as well
				out.WriteString(err.Error())
			}
			if shows(out.String()) {
				t.Errorf("%s by %s: %s", name, how, out.String())
			}
		}
	}
}

// A crash prints what it was given, and the stacks.
func TestASecretValueIsNotInACrash(t *testing.T) {
	if how := os.Getenv("SECRET_VALUE_CRASH"); how != "" {
		v := NewSecretValue([]byte(aValue))
		var asAny any = v
		switch how {
		case "value":
			panic(v)
		case "struct":
			panic(holder{held: v, any: v})
		case "error":
			panic(fmt.Errorf("set %v: %w", v, os.ErrInvalid))
		case "assertion":
			_ = asAny.(interface{ Nothing() }) //nolint:errcheck // it is to fail
		}
	}
	for _, how := range []string{"value", "struct", "error", "assertion"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestASecretValueIsNotInACrash$")
		cmd.Env = append(os.Environ(), "SECRET_VALUE_CRASH="+how, "GOTRACEBACK=system")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "panic") {
			t.Errorf("%s: it did not crash", how)
		}
		if shows(string(out)) {
			t.Errorf("%s: %s", how, out)
		}
	}
}

func TestASecretValueIsRevealedToWhoMeansIt(t *testing.T) {
	if got := NewSecretValue([]byte(aValue)).Reveal(); got != aValue {
		t.Errorf("got %q", got)
	}
	var none SecretValue
	if !none.IsZero() || none.Reveal() != "" || !NewSecretValue(nil).IsZero() {
		t.Error("nothing is not nothing")
	}
}
