package protocol

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestEachScalar(t *testing.T) {
	v := jsontext.Value(`{"a":[{"type":"text","text":"x\"\\"},{"text":"y"}], "b": -1.5e3, "c":{"d\u0061":null},"e":["f",["g",2]]}`)
	var got []string
	groups := map[string]uint64{}
	EachScalar(v, func(s Scalar) {
		var way []string
		for _, p := range s.Path {
			way = append(way, string(p.Name))
		}
		kind := "value"
		if s.Name {
			kind = "name"
		}
		got = append(got, fmt.Sprintf("%s %s %s", kind, strings.Join(way, "/"), v[s.From:s.To]))
		groups[string(v[s.From:s.To])] = s.Group
	})
	want := []string{
		`name a "a"`, `name a//type "type"`, `value a//type "text"`, `name a//text "text"`, `value a//text "x\"\\"`,
		`name a//text "text"`, `value a//text "y"`, `name b "b"`, `value b -1.5e3`, `name c "c"`, `name c/d\u0061 "d\u0061"`,
		`name e "e"`, `value e/ "f"`, `value e// "g"`, `value e// 2`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if g := groups[`"x\"\\"`]; g == 0 || g != groups[`"y"`] || g == groups[`"f"`] || groups[`-1.5e3`] != 0 {
		t.Errorf("groups %v", groups)
	}
}

func TestSpliced(t *testing.T) {
	v := jsontext.Value(`{"a":1,"b":2}`)
	if got := Spliced(v, nil); &got[0] != &v[0] {
		t.Error("a value without splices was copied")
	}
	got := Spliced(v, []Splice{{11, 12, []byte("3")}, {5, 6, []byte(`"x"`)}, {5, 5, []byte("lost")}})
	if string(got) != `{"a":"x","b":3}` {
		t.Errorf("got %s", got)
	}
}

func FuzzEachScalar(f *testing.F) {
	f.Add([]byte(`{"a":["b",{"c":"d\\"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, want := 0, 0
		EachScalar(b, func(s Scalar) {
			if s.From < 0 || s.To <= s.From || s.To > len(b) {
				t.Fatalf("%d..%d of %d", s.From, s.To, len(b))
			}
			n++
		})
		if !jsontext.Value(b).IsValid() {
			return
		}
		d := jsontext.NewDecoder(strings.NewReader(string(b)))
		for {
			tok, err := d.ReadToken()
			if err != nil {
				break
			}
			if k := tok.Kind(); k == '"' || k == '0' {
				want++
			}
		}
		if n != want {
			t.Fatalf("%d scalars of %q, want %d", n, b, want)
		}
	})
}
