package api

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// The examples that the page and the command line are tried with are of the contract: each member is
// known, and none is missing that is always there.
func TestExamplesAreOfTheContract(t *testing.T) {
	for name, want := range map[string]any{
		"approval.json": &Approval{}, "approval-hostile.json": &Approval{}, "approval-tool.json": &Approval{}, "approvals.json": &[]Approval{},
		"approval-groups.json": &[]ApprovalGroup{}, "grants.json": &[]Grant{}, "network.json": &[]Network{}, "observations.json": &[]Observation{}, "pins.json": &Pins{}, "secrets.json": &Secrets{},
		"secret-uses.json": &[]SecretUsed{}, "status.json": &Status{}, "update.json": &Update{},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, want, json.RejectUnknownMembers(true)); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(members(t, again), members(t, text)); diff != "" {
				t.Errorf("members (-contract +example):\n%s", diff)
			}
		})
	}
}

// members are the names in the outermost object, or the first of a list, in order.
func members(t *testing.T, text []byte) (names []string) {
	t.Helper()
	d := jsontext.NewDecoder(bytes.NewReader(bytes.TrimLeft(text, "[ \n")))
	if _, err := d.ReadToken(); err != nil {
		t.Fatal(err)
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.String())
		if err := d.SkipValue(); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func TestAGroupsCodeIsOfItsMembers(t *testing.T) {
	one := []Seen{{"r1", "sha256:1"}, {"r2", "sha256:2"}}
	if GroupCode(one) == "" || GroupCode(one) == GroupCode(one[:1]) || GroupCode(one) == GroupCode([]Seen{one[1], one[0]}) {
		t.Errorf("code %q", GroupCode(one))
	}
}
