package clientconfig

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

// planned is what becomes of one entry, called s, on a machine with these files.
func planned(t *testing.T, entry string, files map[string]string) Entry {
	t.Helper()
	known := map[string]Kind{}
	for name := range files {
		known[name] = File
	}
	host := fakeHost("/home/ana", known)
	host.Read = func(p string) ([]byte, error) { return []byte(files[p]), nil }
	p, err := NewPlan([]byte(`{"mcpServers":{"s":`+entry+`}}`), "/home/ana/shop/.mcp.json", "c", Known{}, host)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(p), strings.Join(p.Entries[0].Command, " "), fmt.Sprintf("%+v", p.Entries[0])} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("a secret is shown: %s", text)
		}
	}
	return p.Entries[0]
}

// values are the secrets of an entry, by their names.
func values(e Entry) map[string]string {
	out := map[string]string{}
	for _, s := range e.Secrets {
		out[s.Name] = s.Value.Reveal()
	}
	return out
}

func TestServersAtAnAddress(t *testing.T) {
	at := []sandbox.Endpoint{{Host: "api.example.com", Port: 443}}
	sent := func(secret, scheme string, in sandbox.PlaceKind, name string) sandbox.SecretGrant {
		return sandbox.SecretGrant{Secret: secret, Mode: sandbox.SecretSent, Places: []sandbox.SecretPlace{{In: in, Name: name}}, Hosts: at, Scheme: scheme}
	}
	for name, tt := range map[string]struct {
		entry   string
		url     string
		headers map[string]string
		want    []sandbox.SecretGrant
		values  map[string]string // "" where a person has to give it
		says    string
	}{
		"nothing but an address": {entry: `{"type":"http","url":"https://api.example.com/mcp"}`, url: "https://api.example.com/mcp", says: "runs elsewhere"},
		"a token": {
			entry: `{"url":"https://api.example.com/mcp","headers":{"Authorization":"Bearer ghp_hunter2hunter2hunter2","X-Team":"seven"}}`,
			url:   "https://api.example.com/mcp", headers: map[string]string{"X-Team": "seven"},
			want: []sandbox.SecretGrant{sent("s-token", "Bearer", sandbox.InHeader, "Authorization")}, values: map[string]string{"s-token": "ghp_hunter2hunter2hunter2"},
			says: "the secret s-token, sent to api.example.com:443 by Garita, in the header Authorization",
		},
		"a reference": {
			entry: `{"serverUrl":"https://api.example.com/mcp","headers":{"Authorization":"token ${input:github}"}}`, url: "https://api.example.com/mcp",
			want: []sandbox.SecretGrant{sent("s-token", "token", sandbox.InHeader, "Authorization")}, values: map[string]string{"s-token": ""}, says: "garita secret set s-token",
		},
		"another client's reference": {
			entry: `{"httpUrl":"https://api.example.com/mcp","requestInit":{"headers":{"x-api-key":"${env:KEY}"}}}`, url: "https://api.example.com/mcp",
			want: []sandbox.SecretGrant{sent("s-api-key", "", sandbox.InHeader, "X-Api-Key")}, values: map[string]string{"s-api-key": ""}, says: "header X-Api-Key refers to a secret",
		},
		"a value of a header that nobody knows": {
			entry: `{"url":"https://api.example.com/mcp","headers":{"X-Shop":"ghp_hunter2hunter2hunter2"}}`, url: "https://api.example.com/mcp",
			want: []sandbox.SecretGrant{sent("s-shop", "", sandbox.InHeader, "X-Shop")}, values: map[string]string{"s-shop": "ghp_hunter2hunter2hunter2"}, says: "s-shop",
		},
		"a parameter": {
			entry: `{"url":"https://api.example.com/mcp?profile=a%20b&tavilyApiKey=tvly-hunter2hunter2"}`, url: "https://api.example.com/mcp?profile=a%20b",
			want: []sandbox.SecretGrant{sent("s-tavilyapikey", "", sandbox.InQuery, "tavilyApiKey")}, values: map[string]string{"s-tavilyapikey": "tvly-hunter2hunter2"}, says: "in the query tavilyApiKey",
		},
		"a password in the address": {
			entry: `{"url":"https://me:hunter2hunter2@api.example.com/mcp"}`, url: "https://api.example.com/mcp",
			want: []sandbox.SecretGrant{sent("s-token", "Basic", sandbox.InHeader, "Authorization")}, values: map[string]string{"s-token": "me:hunter2hunter2"}, says: "header Authorization",
		},
		"a header of ours": {
			entry: `{"url":"https://api.example.com/mcp","headers":{"Content-Type":"application/json"}}`, url: "https://api.example.com/mcp", says: "Content-Type is left out",
		},
		"a bridge": {
			entry: `{"command":"npx","args":["-y","mcp-remote@latest","https://api.example.com/sse","--header","Authorization:${AUTH}","--transport","sse-only"],"env":{"AUTH":"Bearer hunter2hunter2"}}`,
			url:   "https://api.example.com/sse", want: []sandbox.SecretGrant{sent("s-token", "Bearer", sandbox.InHeader, "Authorization")},
			values: map[string]string{"s-token": "hunter2hunter2"}, says: "mcp-remote is not needed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := planned(t, tt.entry, nil)
			if e.Skipped != "" || e.Server.Source.URL != tt.url || e.Server.Spec.Workspace != sandbox.None {
				t.Fatalf("%+v", e)
			}
			if diff := cmp.Diff(tt.want, e.Server.Spec.Secrets); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.headers, e.Server.Source.Headers); diff != "" && len(tt.headers)+len(e.Server.Source.Headers) > 0 {
				t.Error(diff)
			}
			if got := values(e); len(tt.values)+len(got) > 0 && !cmp.Equal(got, tt.values) {
				t.Errorf("values: %q", got)
			}
			if said := strings.Join(append(e.Warnings, e.Grants...), "\n"); !strings.Contains(said, tt.says) {
				t.Errorf("%q is not said: %s", tt.says, said)
			}
		})
	}
}

func TestAFileOfVariables(t *testing.T) {
	const text = "# mine\nexport API_KEY='hunter2hunter2'\nLOG=debug\nDB_HOST=db.example.com:5432\nPEPPER=hunter2\nPORT=3000\nOWN=from-file\n"
	e := planned(t, `{"command":"npx","args":["x"],"envFile":"${workspaceFolder}/.env","env":{"OWN":"entry"}}`, map[string]string{"/home/ana/shop/.env": text})
	if e.Skipped != "" {
		t.Fatal(e.Skipped)
	}
	if got := values(e); !cmp.Equal(got, map[string]string{"s-api-key": "hunter2hunter2", "s-pepper": "hunter2"}) {
		t.Errorf("secrets %q", got)
	}
	if got := e.Server.Spec.Env; !cmp.Equal(got, map[string]string{"LOG": "debug", "DB_HOST": "db.example.com:5432", "PORT": "3000", "OWN": "entry"}) {
		t.Errorf("variables %q", got)
	}
	for name, tt := range map[string]struct{ entry, file, says string }{
		"one that is none": {`"/home/ana/a.env"`, "hunter2 hunter2\n'", "not a list of NAME=VALUE"},
		"one elsewhere":    {`"~/b.env"`, "A=1", "which is not there"},
		"a key":            {`"~/.ssh/id_ed25519"`, "A=1", "not its own"},
		"nobody knows":     {`"${input:file}"`, "A=1", "nothing says where"},
	} {
		e := planned(t, `{"command":"npx","args":["x"],"envFile":`+tt.entry+`}`, map[string]string{"/home/ana/a.env": tt.file, "/home/ana/.ssh/id_ed25519": tt.file})
		if !strings.Contains(e.Skipped, tt.says) {
			t.Errorf("%s: %q", name, e.Skipped)
		}
	}
}

func TestSecretsInArguments(t *testing.T) {
	figma := []sandbox.Endpoint{{Host: "api.figma.com", Port: 443}}
	e := planned(t, `{"command":"npx","args":["-y","figma-developer-mcp","--figma-api-key=figd_hunter2hunter2","--stdio"]}`, nil)
	if e.Skipped != "" || !cmp.Equal(e.Server.Source.Command, []string{"npx", "-y", "figma-developer-mcp", "--stdio"}) {
		t.Fatalf("%+v", e)
	}
	if g := e.Server.Spec.Secrets; len(g) != 1 || g[0].Arg != "--figma-api-key=" || g[0].Mode != sandbox.SecretPlaceholder || !cmp.Equal(g[0].Hosts, figma) {
		t.Errorf("%+v", g)
	}
	if got := values(e); !cmp.Equal(got, map[string]string{"s-figma-api-key": "figd_hunter2hunter2"}) {
		t.Errorf("%q", got)
	}
	e = planned(t, `{"command":"npx","args":["-y","@supabase/mcp-server-supabase","--access-token","sbp_hunter2hunter2","--read-only"]}`, nil)
	if e.Skipped != "" || !cmp.Equal(e.Server.Source.Command, []string{"npx", "-y", "@supabase/mcp-server-supabase", "--read-only"}) || e.Server.Spec.Secrets[0].Arg != "--access-token" {
		t.Errorf("%+v", e)
	}
	for entry, says := range map[string]string{
		`{"command":"npx","args":["x","--token","hunter2hunter2"]}`:              "garita secret grant s-token s --arg=--token --host HOST",
		`{"command":"npx","args":["x","postgres://u:hunter2@db.example.com/x"]}`: "--mode env --env VARIABLE",
		`{"command":"npx","args":["x","ghp_hunter2hunter2hunter2"]}`:             "put it there (env) and import again",
	} {
		if e := planned(t, entry, nil); !strings.Contains(e.Skipped, says) || strings.Contains(e.Skipped, "hunter2") {
			t.Errorf("%s: %q", entry, e.Skipped)
		}
	}
}
