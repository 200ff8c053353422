package approvals

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

func TestPatterns(t *testing.T) {
	for name, tt := range map[string]struct {
		pattern, value string
		want           bool
	}{
		"itself":                        {"read_file", "read_file", true},
		"another":                       {"read_file", "read_files", false},
		"a star at the end":             {"read_*", "read_file", true},
		"a star for nothing":            {"read_*", "read_", true},
		"a star is not a prefix":        {"read_*", "xread_file", false},
		"a star passes a slash":         {"delete*", "delete/all", true},
		"stars that must go back":       {"*ab*c", "aababbc", true},
		"two stars":                     {"**", "x", true},
		"the empty pattern":             {"", "x", false},
		"the empty value":               {"*", "", true},
		"a question mark is one letter": {"?bc", "äbc", true},
		"a question mark is not none":   {"a?", "a", false},
		"brackets are themselves":       {"[a]", "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := matchPattern(tt.pattern, tt.value); got != tt.want {
				t.Errorf("matchPattern(%q, %q) = %v, want %v", tt.pattern, tt.value, got, tt.want)
			}
		})
	}
}

func TestOnlyARuleThatAllowsIsParticularAboutCapitals(t *testing.T) {
	call := Call{Server: "Files", Tool: "Delete_Repo", Class: Destroy}
	for effect, want := range map[Effect]bool{Allow: false, Ask: true, Deny: true, "": true} {
		r := Rule{Servers: []string{"files"}, Tools: []string{"delete_*"}, Effect: effect}
		if got := r.Matches(call, time.Time{}); got != want {
			t.Errorf("%q: got %v, want %v", effect, got, want)
		}
	}
}

// fixed is a Condition that says always the same.
type fixed struct {
	holds bool
	err   error
}

func (f fixed) Holds(Call, time.Time) (bool, error) { return f.holds, f.err }
func (f fixed) String() string                      { return "fixed" }

func TestRulesMatch(t *testing.T) {
	yes, no := true, false
	untold := fixed{err: errors.New("no such argument")}
	call := Call{
		Principal: Principal{UID: 1000, Client: "claude-desktop"}, Server: "files", Tool: "write_file",
		Class: Write, Mode: sandbox.Snapshot, Folders: []string{"/w/shop"},
	}
	for name, tt := range map[string]struct {
		rule Rule
		want []Part
	}{
		"nothing asked matches all":           {Rule{}, nil},
		"the agent by its entry":              {Rule{Principals: []string{"claude-*"}}, nil},
		"the agent in full":                   {Rule{Principals: []string{"uid:1000/claude-desktop"}}, nil},
		"another agent":                       {Rule{Principals: []string{"cursor"}}, []Part{PartPrincipal}},
		"one of several tools":                {Rule{Tools: []string{"read_*", "write_*"}}, nil},
		"another server and class":            {Rule{Servers: []string{"git"}, Classes: []Class{Read}}, []Part{PartServer, PartClass}},
		"another mode":                        {Rule{Modes: []sandbox.WorkspaceMode{sandbox.Direct}}, []Part{PartMode}},
		"sensitive only":                      {Rule{Sensitive: &yes}, []Part{PartSensitive}},
		"not sensitive":                       {Rule{Sensitive: &no}, nil},
		"the folder itself":                   {Rule{Folder: "/w/shop/"}, nil},
		"a folder around the server's":        {Rule{Folder: "/w", Effect: Allow}, nil},
		"a folder in the server's":            {Rule{Folder: "/w/shop/src", Effect: Ask}, nil},
		"allow, and a folder in the server's": {Rule{Folder: "/w/shop/src", Effect: Allow}, []Part{PartFolder}},
		"a folder that only begins so":        {Rule{Folder: "/w/sh"}, []Part{PartFolder}},
		"a condition that does not hold":      {Rule{When: fixed{}}, []Part{PartWhen}},
		"allow, and the condition is untold":  {Rule{Effect: Allow, When: untold}, []Part{PartWhen}},
		"ask, and the condition is untold":    {Rule{Effect: Ask, When: untold}, nil},
		"deny, and the condition is untold":   {Rule{Effect: Deny, When: untold}, nil},
		"no effect, and the condition untold": {Rule{When: untold}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := tt.rule.Misses(call, time.Time{})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("misses (-want +got):\n%s", diff)
			}
			if tt.rule.Matches(call, time.Time{}) != (len(got) == 0) {
				t.Errorf("Matches and Misses disagree")
			}
		})
	}
}

func TestWhatIsNotKnownOfACall(t *testing.T) {
	for name, tt := range map[string]struct {
		rule Rule
		call Call
	}{
		"a class that depends is a write":     {Rule{Classes: []Class{Write}}, Call{Class: Depends}},
		"no class is a write":                 {Rule{Classes: []Class{Write}}, Call{}},
		"no mode is no workspace":             {Rule{Modes: []sandbox.WorkspaceMode{sandbox.None}}, Call{}},
		"an agent that named itself no entry": {Rule{Principals: []string{"uid:7"}}, Call{Principal: Principal{UID: 7}}},
	} {
		t.Run(name, func(t *testing.T) {
			if !tt.rule.Matches(tt.call, time.Time{}) {
				t.Error("does not match")
			}
		})
	}
}

func TestTheFirstRuleDecides(t *testing.T) {
	p := Policy{Rules: []Rule{
		{Name: "a", Tools: []string{"x"}, Effect: Deny},
		{Name: "b", Effect: Ask},
		{Name: "c", Effect: Allow},
	}}
	if r, ok := p.Match(Call{Tool: "y"}, time.Time{}); !ok || r.Name != "b" {
		t.Errorf("Match = %q, %v; want b", r.Name, ok)
	}
	if _, ok := (Policy{}).Match(Call{}, time.Time{}); ok {
		t.Error("the zero policy matched")
	}
}

func TestAProjectsRulesOnlyNarrow(t *testing.T) {
	rules := func(e ...Effect) []Rule {
		var out []Rule
		for _, e := range e {
			out = append(out, Rule{Effect: e})
		}
		return out
	}
	for name, tt := range map[string]struct {
		own      []Rule
		projects [][]Rule
		want     Effect // "" where no rule matches
	}{
		"nothing says anything":                     {nil, [][]Rule{nil}, ""},
		"only the project":                          {nil, [][]Rule{rules(Ask)}, Ask},
		"a project asks about what passes":          {rules(Allow), [][]Rule{rules(Ask)}, Ask},
		"a project cannot ask about what is denied": {rules(Deny), [][]Rule{rules(Ask)}, Deny},
		"a project cannot allow what asks":          {rules(Ask), [][]Rule{rules(Allow)}, Ask},
		"the first of a project counts":             {nil, [][]Rule{rules(Allow, Deny)}, Allow},
		"the strictest of two projects counts":      {nil, [][]Rule{rules(Ask), rules(Deny), rules(Allow)}, Deny},
		"what is no effect is as strict as deny":    {rules(Ask), [][]Rule{rules("")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := Policy{Rules: tt.own, Projects: tt.projects}.Match(Call{}, time.Time{})
			if r.Effect != tt.want {
				t.Errorf("got %q, want %q", r.Effect, tt.want)
			}
		})
	}
}
