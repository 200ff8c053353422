package api

import (
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// TestThePolicyFixturesAreOfTheContract reads what the page's tests are fed: nothing in it is
// unknown to the types, and nothing is lost on the way.
func TestThePolicyFixturesAreOfTheContract(t *testing.T) {
	keepsItsForm[Policy](t, "policy.json")
	keepsItsForm[Explanation](t, "policy-explanation.json")
	keepsItsForm[Replay](t, "policy-replay.json")
}

func keepsItsForm[T any](t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(text, &v, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	got, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	want := jsontext.Value(text)
	if err := want.Compact(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}
