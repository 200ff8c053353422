package protocol

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func request(t *testing.T, method, params string) Message {
	t.Helper()
	m, err := Parse(NewRequest("1", method, jsontext.Value(params)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestHeadersSayWhatTheBodySays(t *testing.T) {
	params, err := ParamHeaders(jsontext.Value(`{"properties":{
		"region":{"type":"string","x-mcp-header":"Region"},
		"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
		"dry":{"type":"boolean","x-mcp-header":"Dry"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"Mcp-Param-Old": {"x"}, "Mcp-Name": {"other"}}
	m := request(t, MethodToolsCall, `{"name":"naïve","arguments":{"region":" us ","deep":{"n":42.0},"dry":null}}`)
	SetHeaders(h, V20260728, m, params)
	want := http.Header{
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"=?base64?bmHDr3Zl?="},
		"Mcp-Param-Region": {"=?base64?IHVzIA==?="}, "Mcp-Param-N": {"42"},
	}
	if d := cmp.Diff(h, want); d != "" {
		t.Error(d)
	}
	if err := CheckHeaders(h, m, params); err != nil {
		t.Error(err)
	}
}

func TestHeadersThatDoNotSayWhatTheBodySaysAreFound(t *testing.T) {
	params := []ParamHeader{{Path: []string{"r"}, Name: "R"}, {Path: []string{"n"}, Name: "N"}}
	m := request(t, MethodToolsCall, `{"name":"danger","arguments":{"r":"Hello","n":7}}`)
	for name, tt := range map[string]struct {
		change func(http.Header)
		ok     bool
	}{
		"as they should be":         {func(http.Header) {}, true},
		"other method":              {func(h http.Header) { h.Set(HeaderMethod, "tools/list") }, false},
		"method in capitals":        {func(h http.Header) { h.Set(HeaderMethod, "TOOLS/CALL") }, false},
		"no method":                 {func(h http.Header) { h.Del(HeaderMethod) }, false},
		"two methods":               {func(h http.Header) { h.Add(HeaderMethod, "tools/call") }, false},
		"other name":                {func(h http.Header) { h.Set(HeaderName, "safe_tool") }, false},
		"no name":                   {func(h http.Header) { h.Del(HeaderName) }, false},
		"name in Base64":            {func(h http.Header) { h.Set(HeaderName, "=?base64?ZGFuZ2Vy?=") }, true},
		"argument in Base64":        {func(h http.Header) { h.Set("Mcp-Param-R", "=?base64?SGVsbG8=?=") }, true},
		"Base64 without padding":    {func(h http.Header) { h.Set("Mcp-Param-R", "=?base64?SGVsbG8?=") }, false},
		"no Base64":                 {func(h http.Header) { h.Set("Mcp-Param-R", "=?base64?SGVs!!!bG8=?=") }, false},
		"Base64 without its prefix": {func(h http.Header) { h.Set("Mcp-Param-R", "SGVsbG8=") }, false},
		"argument without header":   {func(h http.Header) { h.Del("Mcp-Param-R") }, false},
		"number spelled otherwise":  {func(h http.Header) { h.Set("Mcp-Param-N", "7.0") }, true},
		"other number":              {func(h http.Header) { h.Set("Mcp-Param-N", "8") }, false},
		"header nobody asked for":   {func(h http.Header) { h.Set("Mcp-Param-Else", "8") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			SetHeaders(h, V20260728, m, params)
			tt.change(h)
			if err := CheckHeaders(h, m, params); (err == nil) != tt.ok {
				t.Errorf("got %v, want it taken: %v", err, tt.ok)
			}
		})
	}
	t.Run("header without its argument", func(t *testing.T) {
		m := request(t, MethodToolsCall, `{"name":"danger","arguments":{"r":null}}`)
		h := http.Header{"Mcp-Param-R": {"x"}}
		h.Set(HeaderMethod, m.Method)
		h.Set(HeaderName, "danger")
		if CheckHeaders(h, m, params) == nil {
			t.Error("it was taken")
		}
	})
}

func TestBrokenHeaderAnnotationsAreTold(t *testing.T) {
	t.Run("attack_H30", func(t *testing.T) {
		for name, schema := range map[string]string{
			"CRLF":                  `{"properties":{"a":{"type":"string","x-mcp-header":"A\r\nB: c"}}}`,
			"empty":                 `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`,
			"no string":             `{"properties":{"a":{"type":"string","x-mcp-header":7}}}`,
			"duplicate by case":     `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
			"on a number":           `{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`,
			"on an array item":      `{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`,
			"below anyOf":           `{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`,
			"in a definition":       `{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}`,
			"at the top":            `{"type":"string","x-mcp-header":"A"}`,
			"not ASCII":             `{"properties":{"a":{"type":"string","x-mcp-header":"é"}}}`,
			"duplicate far apart":   `{"properties":{"a":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}},"c":{"type":"string","x-mcp-header":"A"}}}`,
			"nested without an end": strings.Repeat(`{"properties":{"a":`, 100) + `{"type":"string","x-mcp-header":"A"}` + strings.Repeat("}}", 100),
		} {
			if got, err := ParamHeaders(jsontext.Value(schema)); err == nil {
				t.Errorf("%s was taken: %v", name, got)
			}
		}
	})
	for name, schema := range map[string]string{
		"none":                         `{"type":"object"}`,
		"true":                         `true`,
		"a property of that name":      `{"properties":{"x-mcp-header":{"type":"string"}}}`,
		"the name in a default":        `{"properties":{"a":{"default":{"x-mcp-header":""}}}}`,
		"additionalProperties a truth": `{"additionalProperties":false,"properties":{"a":{"items":true}}}`,
	} {
		if got, err := ParamHeaders(jsontext.Value(schema)); err != nil || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func FuzzHeader(f *testing.F) {
	f.Add("=?base64?eA==?=")
	f.Fuzz(func(t *testing.T, s string) {
		if got, ok := DecodeHeader(EncodeHeader(s)); !ok || got != s {
			t.Fatalf("%q came back as %q", s, got)
		}
	})
}
