package clientconfig

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/sandbox"
)

func TestSecretsOfAnEntryAreMoved(t *testing.T) {
	api := []sandbox.Endpoint{{Host: "api.github.com", Port: 443}}
	header := func(names ...string) (out []sandbox.SecretPlace) {
		for _, n := range names {
			out = append(out, sandbox.SecretPlace{In: sandbox.InHeader, Name: n})
		}
		return out
	}
	for name, tt := range map[string]struct {
		env     string
		want    []sandbox.SecretGrant
		kept    map[string]string // variables
		missing bool
		says    string
	}{
		"a token that is known": {
			`"GITHUB_TOKEN":"ghp_hunter2hunter2hunter2"`,
			[]sandbox.SecretGrant{{Secret: "s-github-token", Mode: sandbox.SecretPlaceholder, Env: "GITHUB_TOKEN", Hosts: api, Places: header("Authorization")}},
			nil, false, "the secret s-github-token toward api.github.com, and nowhere else",
		},
		"the same at a host of one's own": {
			`"GITHUB_TOKEN":"ghp_hunter2hunter2hunter2","GITHUB_HOST":"git.example.com"`,
			[]sandbox.SecretGrant{{Secret: "s-github-token", Mode: sandbox.SecretEnv, Env: "GITHUB_TOKEN"}},
			map[string]string{"GITHUB_HOST": "git.example.com"},
			false, "garita secret grant s-github-token s --env GITHUB_TOKEN --host HOST",
		},
		"one that nobody knows": {
			`"API_KEY":"hunter2hunter2","LOG":"debug"`,
			[]sandbox.SecretGrant{{Secret: "s-api-key", Mode: sandbox.SecretEnv, Env: "API_KEY"}},
			map[string]string{"LOG": "debug"},
			false, "which is weaker",
		},
		"by its looks": {
			`"FOO":"ghp_0123456789abcdefghij"`,
			[]sandbox.SecretGrant{{Secret: "s-foo", Mode: sandbox.SecretEnv, Env: "FOO"}},
			nil, false, "holds it until its entry is repointed",
		},
		"report_E01": {
			`"API_TOKEN":"${LINEARISH_TOKEN}"`,
			[]sandbox.SecretGrant{{Secret: "s-api-token", Mode: sandbox.SecretEnv, Env: "API_TOKEN"}},
			nil, true, "garita secret set s-api-token",
		},
		"report_C03": {
			`"K":"${input:k}"`,
			[]sandbox.SecretGrant{{Secret: "s-k", Mode: sandbox.SecretEnv, Env: "K"}},
			nil, true, "garita secret set s-k",
		},
		"none":            {`"LOG":"debug","MAX_TOKENS":"100"`, nil, map[string]string{"LOG": "debug", "MAX_TOKENS": "100"}, false, "no host before you are asked, no secret"},
		"one that steers": {`"NPM_CONFIG__AUTH_TOKEN":"hunter2hunter2"`, nil, nil, false, "is left out"},
	} {
		t.Run(name, func(t *testing.T) {
			got := plan(t, `{"command":"npx","args":["x"],"env":{`+tt.env+`}}`, nil)
			if diff := cmp.Diff(tt.want, got.Server.Spec.Secrets); got.Skipped != "" || diff != "" {
				t.Fatalf("skipped %q\n%s", got.Skipped, diff)
			}
			if diff := cmp.Diff(tt.kept, got.Server.Spec.Env); diff != "" {
				t.Error(diff)
			}
			if len(got.Secrets) != len(tt.want) || len(tt.want) > 0 && got.Secrets[0].Value.IsZero() != tt.missing {
				t.Errorf("to be stored: %+v", got.Secrets)
			}
			all := fmt.Sprintf("%+v %#v %s %s", got, got, got.Warnings, got.Grants)
			if !strings.Contains(all, tt.says) {
				t.Errorf("%s does not say %q", all, tt.says)
			}
			if strings.Contains(all, "hunter2") || strings.Contains(all, "ghp_") {
				t.Errorf("a secret is shown: %s", all)
			}
			for _, g := range got.Server.Spec.Secrets {
				if _, err := config.CheckSecret(g, got.Server); err != nil {
					t.Errorf("%s cannot be declared: %v", g.Secret, err)
				}
			}
		})
	}
}

func TestNamesOfMovedSecrets(t *testing.T) {
	for _, tt := range []struct{ server, variable, want string }{
		{"github", "GITHUB_TOKEN", "github-token"},
		{"search", "BRAVE_API_KEY", "search-brave-api-key"},
		{"My.Tools_2", "API_KEY", "my.tools-2-api-key"},
		{"s", "_", "s-secret"},
	} {
		if got := secretNameFor(sandbox.ServerName(tt.server), tt.variable); got != tt.want {
			t.Errorf("%s of %s: %s", tt.variable, tt.server, got)
		}
	}
	long := secretNameFor("server", strings.Repeat("A_LONG_NAME_", 20))
	if _, err := sandbox.ParseSecretName(long); err != nil {
		t.Error(err)
	}
}

// TestWhatWeKnowOfVariables: each can be declared as it stands, and no variable is known twice.
func TestWhatWeKnowOfVariables(t *testing.T) {
	all, err := usuals()
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, u := range all {
		for _, v := range u.Variables {
			g := (&entry{}).grant("a", v)
			if _, err := config.CheckSecret(g, sandbox.Server{}); err != nil || g.Mode != sandbox.SecretPlaceholder || seen[v] {
				t.Errorf("%s: %+v, %v, seen before: %v", v, g, err, seen[v])
			}
			seen[v] = true
		}
	}
}

// TestNoEntryTakesAnothersSecret: neither a reference nor a value ends at a secret that is there, or that
// another server waits for, whatever the entry and its variables are called.
func TestNoEntryTakesAnothersSecret(t *testing.T) {
	other := sandbox.Server{Name: "github", Source: sandbox.Source{Command: []string{"npx", "official"}}}
	waits := sandbox.SecretGrant{Secret: "db-password", Mode: sandbox.SecretEnv, Env: "PASSWORD"}
	for name, tt := range map[string]struct {
		servers string
		known   Known
		want    map[string]string // variables, and the names of their secrets
		says    string
	}{
		"a reference, of a server that gets another name": {
			`"github":{"command":"npx","args":["evil"],"env":{"GITHUB_TOKEN":"${GITHUB_TOKEN}"}}`,
			Known{Servers: []sandbox.Server{other}, Secrets: []string{"github-token"}},
			map[string]string{"GITHUB_TOKEN": "github-" + short(fmt.Sprint("github", []string{"npx", "evil"})) + "-github-token"},
			"another server is called github",
		},
		"a reference, of a server that is new": {
			`"github":{"command":"npx","args":["evil"],"env":{"GITHUB_TOKEN":"${GITHUB_TOKEN}"}}`,
			Known{Secrets: []string{"github-token", "github-token-2"}},
			map[string]string{"GITHUB_TOKEN": "github-token-3"},
			"the name github-token is taken by another secret",
		},
		"a value": {
			`"github":{"command":"npx","args":["evil"],"env":{"GITHUB_TOKEN":"ghp_hunter2hunter2hunter2"}}`,
			Known{Secrets: []string{"github-token"}},
			map[string]string{"GITHUB_TOKEN": "github-token-2"},
			"the value of GITHUB_TOKEN becomes the secret github-token-2",
		},
		"one that another server waits for": {
			`"db":{"command":"npx","args":["evil"],"env":{"PASSWORD":"hunter2hunter2"}}`,
			Known{Servers: []sandbox.Server{{Name: "mine", Spec: sandbox.Spec{Secrets: []sandbox.SecretGrant{waits}}}}},
			map[string]string{"PASSWORD": "db-password-2"},
			"the name db-password is taken",
		},
		"two entries of one file": {
			`"a":{"command":"npx","args":["x"],"env":{"B_TOKEN":"hunter2hunter2"}},"a-b":{"command":"npx","args":["y"],"env":{"TOKEN":"hunter3hunter3"}}`,
			Known{},
			map[string]string{"B_TOKEN": "a-b-token", "TOKEN": "a-b-token-2"},
			"the name a-b-token is taken",
		},
		"two variables of one entry": {
			`"a":{"command":"npx","args":["x"],"env":{"API_KEY":"hunter2hunter2","API.KEY":"hunter3hunter3"}}`,
			Known{},
			map[string]string{"API_KEY": "a-api-key", "API.KEY": "a-api.key"},
			"",
		},
		"two variables that are written alike": {
			`"a":{"command":"npx","args":["x"],"env":{"API_KEY":"hunter2hunter2","api_key":"hunter3hunter3"}}`,
			Known{},
			map[string]string{"API_KEY": "a-api-key", "api_key": "a-api-key-2"},
			"",
		},
		"a long name": {
			`"a":{"command":"npx","args":["x"],"env":{"` + strings.Repeat("K", 61) + `_TOKEN":"hunter2hunter2"}}`,
			Known{Secrets: []string{secretNameFor("a", strings.Repeat("K", 61)+"_TOKEN")}},
			map[string]string{strings.Repeat("K", 61) + "_TOKEN": secretNameFor("a", strings.Repeat("K", 61)+"_TOKEN")[:62] + "-2"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := NewPlan([]byte(`{"mcpServers":{`+tt.servers+`}}`), "/home/ana/shop/.mcp.json", "c", tt.known, fakeHost("/home/ana", nil))
			if err != nil {
				t.Fatal(err)
			}
			got, says := map[string]string{}, ""
			for _, e := range p.Entries {
				for i, s := range e.Secrets {
					got[s.Variable] = s.Name
					if _, err := sandbox.ParseSecretName(s.Name); err != nil || e.Server.Spec.Secrets[i].Secret != s.Name {
						t.Errorf("%s: %v, and granted: %+v", s.Name, err, e.Server.Spec.Secrets)
					}
				}
				says += strings.Join(append(e.Warnings, e.Skipped), "\n")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || !strings.Contains(says, tt.says) {
				t.Errorf("%s\n%s", says, diff)
			}
		})
	}
}

// TestAnotherTimeTheSame: an entry that is imported already keeps its secret, and has no second one made.
func TestAnotherTimeTheSame(t *testing.T) {
	data := []byte(`{"mcpServers":{"s":{"command":"npx","args":["x"],"env":{"API_KEY":"hunter2hunter2"}}}}`)
	first, err := NewPlan(data, "/f", "c", Known{}, fakeHost("/home/ana", nil))
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewPlan(data, "/f", "c", Known{Servers: first.Servers(), Secrets: []string{"s-api-key"}}, fakeHost("/home/ana", nil))
	if err != nil {
		t.Fatal(err)
	}
	e := again.Entries[0]
	if !e.Kept || len(e.Secrets) != 0 || !strings.Contains(fmt.Sprint(e.Grants), "the secret s-api-key itself") || len(e.Warnings) != 1 {
		t.Errorf("%+v", e)
	}
}
