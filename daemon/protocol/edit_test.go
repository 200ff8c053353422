package protocol

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestAnEditChangesNothingElse(t *testing.T) {
	in := `{ "jsonrpc":"2.0", "future":[1], "params" : {"a": 1e400} ,"id":"a\"b","method":"x"}`
	m, err := Parse([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	got := m.WithID("12345678").WithBody(jsontext.Value(`{}`)).WithID(`"z"`)
	want := `{ "jsonrpc":"2.0", "future":[1], "params" : {} ,"id":"z","method":"x"}`
	if string(got.Raw) != want || got.ID != `"z"` || string(got.Params) != "{}" {
		t.Errorf("got %s, id %s, params %s", got.Raw, got.ID, got.Params)
	}
	again, err := Parse(got.Raw)
	if err != nil || again.id != got.id || again.body != got.body {
		t.Errorf("spans %v %v, parsed anew %v %v (%v)", got.id, got.body, again.id, again.body, err)
	}
	if string(m.Raw) != in {
		t.Errorf("the original became %s", m.Raw)
	}
}

func TestABatchIsReadElementByElement(t *testing.T) {
	m, err := Parse([]byte(`[{"jsonrpc":"2.0","id":1,"method":"x"}, 7, [], {"jsonrpc":"2.0","method":"n"}]`))
	if err != nil {
		t.Fatal(err)
	}
	all, errs, err := m.Batch()
	if err != nil || len(all) != 4 {
		t.Fatalf("%d messages, %v", len(all), err)
	}
	if all[0].Kind != Request || errs[1] == nil || errs[2] == nil || all[3].Kind != Notification {
		t.Errorf("got %+v, %v", all, errs)
	}
	for _, broken := range []string{`[]`, `[{"a":1,"a":2}]`, `[1] [2]`, `[{}`, `[`} {
		m, _ := Parse([]byte(broken))
		if _, _, err := m.Batch(); err == nil {
			t.Errorf("%s was taken", broken)
		}
	}
}

func TestMetaIsSetWithoutTouchingTheRest(t *testing.T) {
	for in, want := range map[string]string{
		"":                              `{"_meta":{"k":1}}`,
		`{"name":"x","_meta":{"p": 7}}`: `{"name":"x","_meta":{"p":7,"k":1}}`,
		`{"_meta":{"k": 2},"a":1e400}`:  `{"_meta":{"k":1},"a":1e400}`,
	} {
		var body jsontext.Value
		if in != "" {
			body = jsontext.Value(in)
		}
		got, err := WithMeta(body, "k", jsontext.Value("1"))
		if err != nil || string(got) != want {
			t.Errorf("%s became %s (%v), want %s", in, got, err, want)
		}
	}
	got, err := Without(jsontext.Value(`{"a":1,"b":2}`), "a")
	if err != nil || string(got) != `{"b":2}` {
		t.Errorf("without: %s, %v", got, err)
	}
}
