package protocol

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestEditSetsAndTakesOutMembers(t *testing.T) {
	set := func(name, value string) Member { return Member{name, jsontext.Value(value)} }
	for name, tt := range map[string]struct {
		in      string
		members []Member
		want    string
	}{
		"nothing to change":   {`{ "a" : 1e400 }`, []Member{{"b", nil}}, `{ "a" : 1e400 }`},
		"nothing at all":      {``, nil, `{}`},
		"set, out and new":    {`{"a":1,"b":9007199254740993,"c":3}`, []Member{{"a", nil}, set("c", "4"), set("d", "[]")}, `{"b":9007199254740993,"c":4,"d":[]}`},
		"the only one out":    {`{"a":1}`, []Member{{"a", nil}}, `{}`},
		"new ones in order":   {`{}`, []Member{set("z", "1"), set("a", "2")}, `{"z":1,"a":2}`},
		"a name that escapes": {`{"a":1}`, []Member{set("\u0061", "2")}, `{"a":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			var in jsontext.Value
			if tt.in != "" {
				in = jsontext.Value(tt.in)
			}
			got, err := Edit(in, tt.members...)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
	for _, broken := range []string{`[]`, `{`, `null`, `{"a":1,"a":2}`} {
		if _, err := Edit(jsontext.Value(broken)); err == nil {
			t.Errorf("%s was taken", broken)
		}
	}
}
