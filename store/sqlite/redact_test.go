package sqlite_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/store/sqlite"
)

func TestRedactLeavesTheRestAsItWas(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1,"a":[true,null,"x"]}`:          `{"b":1,"a":[true,null,"x"]}`,
		`{"n":9007199254740993,"f":1.50}`:      `{"n":9007199254740993,"f":1.50}`,
		`{"a":1,"a":2}`:                        `{"a":1,"a":2}`,
		`{"token":"x","tokens":3}`:             `{"token":"[redacted]","tokens":3}`,
		`{"password":{"deep":["a","b"]}}`:      `{"password":"[redacted]"}`,
		`{"Authorization":"Bearer abc"}`:       `{"Authorization":"[redacted]"}`,
		`"sk-ant-0123456789abcdefghij0123456"`: `"[redacted]"`,
		`{"a":1} trailing`:                     `"{\"a\":1} trailing"`,
		``:                                     `""`,
	} {
		if got := string(sqlite.Redact([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte(`{"a":[{"password":"x"}]}`))
	f.Add([]byte(`{"a":"\ud83d`))
	f.Add([]byte("\xff\xfe"))
	secret := []byte("ghp_0123456789abcdefghijklmnopqrstuvwxyz")
	f.Fuzz(func(t *testing.T, in []byte) {
		out := sqlite.Redact(in)
		if !jsontext.Value(out).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
			t.Errorf("%q is no JSON", out)
		}
		with := append([]byte(`{"a":"`), append(bytes.Clone(secret), `","b":`...)...)
		with = append(append(with, in...), '}')
		if bytes.Contains(sqlite.Redact(with), secret) {
			t.Errorf("the secret is still in %q", sqlite.Redact(with))
		}
	})
}
