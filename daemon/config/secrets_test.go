package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

func secretsOf(t *testing.T, yaml string) ([]sandbox.SecretGrant, error) {
	t.Helper()
	list, err := ParseServers("servers.yaml", []byte("servers:\n  a:\n    run: x\n"+yaml), testGuard)
	if err != nil {
		return nil, err
	}
	return list[0].Spec.Secrets, nil
}

func TestSecretsAreGranted(t *testing.T) {
	got, err := secretsOf(t, `    network: {lan: [nas], host: [3000]}
    secrets:
      - {name: token, env: GITHUB_TOKEN, hosts: [API.github.com, "*.example.com:8443", nas, "host.garita.internal:3000"]}
      - name: search.key
        file: /run/secrets/key
        header: [x-api-key, cookie, X-API-KEY]
        query: key
        hosts: [search.example.com]
        tools: ["search_*"]
        until: 2027-01-31
        ask: true
      - {name: db, env: DB_PASSWORD, mode: env, until: "2027-01-31T18:00:00+02:00"}
      - {name: ca, file: /run/secrets/./sub/ca, mode: file}
`)
	want := []sandbox.SecretGrant{
		{Secret: "ca", Mode: sandbox.SecretFile, File: "/run/secrets/sub/ca"},
		{Secret: "db", Mode: sandbox.SecretEnv, Env: "DB_PASSWORD", Until: time.Date(2027, 1, 31, 16, 0, 0, 0, time.UTC)},
		{
			Secret: "search.key", Mode: sandbox.SecretPlaceholder, File: "/run/secrets/key",
			Places: []sandbox.SecretPlace{{In: sandbox.InHeader, Name: "X-Api-Key"}, {In: sandbox.InHeader, Name: "Cookie"}, {In: sandbox.InQuery, Name: "key"}},
			Hosts:  []sandbox.Endpoint{{Host: "search.example.com", Port: 443}},
			Tools:  []string{"search_*"}, Until: time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC), Ask: true,
		},
		{
			Secret: "token", Mode: sandbox.SecretPlaceholder, Env: "GITHUB_TOKEN", Places: []sandbox.SecretPlace{usualPlace},
			Hosts: []sandbox.Endpoint{{Host: "api.github.com", Port: 443}, {Host: "*.example.com", Port: 8443}, {Host: "nas", Port: 443}, {Host: "host.garita.internal", Port: 3000}},
		},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := secretsOf(t, "    secrets:\n"); err != nil || len(got) > 0 {
		t.Errorf("nothing: %v, %v", got, err)
	}
}

func TestSecretsAreRefused(t *testing.T) {
	const hosts = ", hosts: [x.example.com]"
	for name, tt := range map[string]struct{ grant, says string }{
		"no name":                   {"env: T" + hosts, "1 to 64"},
		"a capital":                 {"name: Token, env: T" + hosts, "lower-case"},
		"an unknown key":            {"name: t, env: T, host: x.example.com", "host"},
		"a value":                   {"name: t, env: T, value: hunter2", "value"},
		"another mode":              {"name: t, env: T, mode: inject" + hosts, "placeholder, env or file"},
		"neither env nor file":      {"name: t" + hosts, "exactly one"},
		"both env and file":         {"name: t, env: T, file: /run/secrets/t" + hosts, "exactly one"},
		"env mode in a file":        {"name: t, file: /run/secrets/t, mode: env", "goes with"},
		"file mode in a variable":   {"name: t, env: T, mode: file", "goes with"},
		"a value as an argument":    {"name: t, arg: --key, mode: env", "no value is an argument"},
		"an argument and a file":    {"name: t, arg: --key, file: /run/secrets/t" + hosts, "exactly one"},
		"an argument that is none":  {"name: t, arg: \"--key; rm\"" + hosts, "want a flag"},
		"two behind one flag":       {"name: t, arg: --key" + hosts + "}, {name: u, arg: --key=" + hosts, "already"},
		"no hosts":                  {"name: t, env: T", "at least one"},
		"no hosts in a list":        {"name: t, env: T, hosts: []", "at least one"},
		"any host":                  {"name: t, env: T, hosts: [public-web, \"*\"]", "hosts"},
		"a public suffix":           {"name: t, env: T, hosts: [\"*.co.uk\"]", "anybody"},
		"an address":                {"name: t, env: T, hosts: [203.0.114.7]", "names"},
		"a host in the clear":       {"name: t, env: T, hosts: [\"x.example.com:80\"]", "TLS"},
		"this machine":              {"name: t, env: T, hosts: [host.garita.internal]", "network.host"},
		"a LAN host that is none":   {"name: t, env: T, hosts: [nas]", "lan"},
		"hosts of a weaker mode":    {"name: t, env: T, mode: env" + hosts, "placeholder"},
		"tools of a weaker mode":    {"name: t, env: T, mode: env, tools: [a]", "placeholder"},
		"asking in a weaker mode":   {"name: t, file: /run/secrets/t, mode: file, ask: true", "placeholder"},
		"a header of a weaker mode": {"name: t, env: T, mode: env, header: X-A", "placeholder"},
		"PATH":                      {"name: t, env: PATH" + hosts, "PATH"},
		"a loader's variable":       {"name: t, env: ld_preload" + hosts, "trusts"},
		"node's options":            {"name: t, env: NODE_OPTIONS" + hosts, "trusts"},
		"no variable's name":        {"name: t, env: \"A=B\"" + hosts, "variable"},
		"a file elsewhere":          {"name: t, file: /etc/passwd" + hosts, "/run/secrets"},
		"a file that climbs":        {"name: t, file: /run/secrets/../x" + hosts, "/run/secrets"},
		"the folder itself":         {"name: t, file: /run/secrets" + hosts, "/run/secrets"},
		"a relative file":           {"name: t, file: t" + hosts, "/run/secrets"},
		"a header that frames":      {"name: t, env: T, header: Host" + hosts, "how a request"},
		"no header's name":          {"name: t, env: T, header: \"X A\"" + hosts, "header"},
		"an empty parameter":        {"name: t, env: T, query: \"\"" + hosts, "not a name"},
		"no time":                   {"name: t, env: T, until: tomorrow" + hosts, "2027-01-31"},
		"no pattern":                {"name: t, env: T, tools: [\"[\"]" + hosts, "pattern"},
		"twice":                     {"name: t, env: T" + hosts + "}, {name: t, env: U" + hosts, "twice"},
		"two in one variable":       {"name: t, env: T" + hosts + "}, {name: u, env: T" + hosts, "already"},
		"two in one file":           {"name: t, file: /run/secrets/a" + hosts + "}, {name: u, file: /run/secrets/a" + hosts, "already"},
		"a file in another":         {"name: t, file: /run/secrets/a" + hosts + "}, {name: u, file: /run/secrets/a/b" + hosts, "already"},
		"a variable that env sets":  {"name: t, env: SET" + hosts, "env already"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := secretsOf(t, "    env: {SET: x}\n    secrets: [{"+tt.grant+"}]\n")
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "servers.yaml:5:") {
				t.Errorf("got %v, want line 5 and %q", err, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSecretsChangeTheDigest(t *testing.T) {
	s := full()
	before, err := Digest(s)
	if err != nil {
		t.Fatal(err)
	}
	s.Spec.Secrets = s.Spec.Secrets[1:]
	if after, err := Digest(s); err != nil || after == before {
		t.Errorf("%s, %v", after, err)
	}
}

func TestAGrantIsCheckedAsIfDeclared(t *testing.T) {
	server := full()
	got, err := CheckSecret(sandbox.SecretGrant{Secret: "c", Mode: sandbox.SecretPlaceholder, Env: "GITHUB_TOKEN", Hosts: []sandbox.Endpoint{{Host: "api.github.com", Port: 443}}}, server)
	if err != nil || !cmp.Equal(got.Places, []sandbox.SecretPlace{usualPlace}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := CheckSecret(sandbox.SecretGrant{Secret: "e", Mode: sandbox.SecretEnv, Env: "DB_PASSWORD"}, server); err == nil {
		t.Error("another has the variable already")
	}
}

func TestHostsOfSecretsAreReached(t *testing.T) {
	now := time.Now()
	api, nas := sandbox.Endpoint{Host: "api.example.com", Port: 443}, sandbox.Endpoint{Host: "nas", Port: 443}
	spec := sandbox.Spec{
		Network: sandbox.Allowlist{LAN: []sandbox.Endpoint{nas}},
		Secrets: []sandbox.SecretGrant{
			{Secret: "a", Mode: sandbox.SecretPlaceholder, Hosts: []sandbox.Endpoint{api, nas}},
			{Secret: "b", Mode: sandbox.SecretPlaceholder, Hosts: []sandbox.Endpoint{{Host: "late.example.com", Port: 443}}, Until: now},
		},
	}
	if got := spec.Reach(now).Endpoints; !cmp.Equal(got, []sandbox.Endpoint{api}) {
		t.Errorf("got %v", got)
	}
}

func sentOf(t *testing.T, yaml string) ([]sandbox.Server, error) {
	t.Helper()
	return ParseServers("servers.yaml", []byte("servers:\n  a:\n    url: https://API.example.com/mcp?team=7\n"+yaml), testGuard)
}

func TestSecretsAreSentToAURL(t *testing.T) {
	list, err := sentOf(t, `    headers: {X-Team: seven}
    secrets:
      - {name: token}
      - {name: key, header: [x-api-key, Cookie], query: apiKey, tools: ["search_*"], until: 2027-01-31, ask: true}
`)
	if err != nil {
		t.Fatal(err)
	}
	at := []sandbox.Endpoint{{Host: "api.example.com", Port: 443}}
	want := []sandbox.SecretGrant{
		{
			Secret: "key", Mode: sandbox.SecretSent, Hosts: at, Tools: []string{"search_*"}, Until: time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC), Ask: true,
			Places: []sandbox.SecretPlace{{In: sandbox.InHeader, Name: "X-Api-Key"}, {In: sandbox.InHeader, Name: "Cookie"}, {In: sandbox.InQuery, Name: "apiKey"}},
		},
		{Secret: "token", Mode: sandbox.SecretSent, Hosts: at, Places: []sandbox.SecretPlace{usualPlace}, Scheme: "Bearer"},
	}
	if diff := cmp.Diff(want, list[0].Spec.Secrets); diff != "" {
		t.Error(diff)
	}
	for _, g := range want {
		if g.Weaker() || !g.SendsTo("api.example.com", 443) || g.SendsTo("api.example.com", 80) || g.SendsTo("evil.example.com", 443) {
			t.Errorf("%+v", g)
		}
		if got, err := CheckSecret(g, list[0]); err != nil || !cmp.Equal(got, g) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if reach := list[0].Spec.Reach(time.Now()); !reach.Empty() {
		t.Errorf("it has no sandbox that could reach %v", reach)
	}
}

func TestSchemesAreWritten(t *testing.T) {
	for scheme, want := range map[string]string{"": "Bearer", "Bearer": "Bearer", "Basic": "Basic", "token": "token", "none": ""} {
		list, err := sentOf(t, "    secrets: [{name: t, scheme: \""+scheme+"\"}]\n")
		if err != nil || list[0].Spec.Secrets[0].Scheme != want {
			t.Errorf("%s: %+v, %v", scheme, list, err)
			continue
		}
		text, err := layOut("servers.yaml", serversFile{Servers: map[string]*declared{"a": declare(list[0])}})
		again, err2 := ParseServers("servers.yaml", text, testGuard)
		if err != nil || err2 != nil || !cmp.Equal(again, list) {
			t.Errorf("%s: %v, %v\n%s", scheme, err, err2, text)
		}
		if strings.Contains(string(text), "hosts") || strings.Contains(string(text), "mode") || strings.Contains(string(text), "scheme: Bearer") {
			t.Errorf("what goes without saying is written:\n%s", text)
		}
	}
}

func TestSecretsForAURLAreRefused(t *testing.T) {
	for name, tt := range map[string]struct{ grant, says string }{
		"a variable":                 {"name: t, env: T", "env: a server at a url"},
		"a file":                     {"name: t, file: /run/secrets/t", "file: a server at a url"},
		"a mode":                     {"name: t, mode: placeholder", "mode: a server at a url"},
		"a body":                     {"name: t, body: key", "body: a server at a url"},
		"another host":               {"name: t, hosts: [evil.example.com]", "hosts: a server at a url"},
		"a header of ours":           {"name: t, header: user-agent", "set by Garita"},
		"a header of the protocol":   {"name: t, header: Mcp-Session-Id", "set by Garita"},
		"a header that frames":       {"name: t, header: Host", "how a request"},
		"a header that is declared":  {"name: t, header: X-Team", "headers already"},
		"a parameter of the url":     {"name: t, query: team", "has \"team\" already"},
		"two in one header":          {"name: t}, {name: u", "already"},
		"a scheme of another header": {"name: t, header: X-A, scheme: Bearer", "alone"},
		"a scheme of two words":      {"name: t, scheme: \"Bearer x\"", "one word"},
		"a value":                    {"name: t, value: hunter2", "value"},
		"a pattern that is none":     {"name: t, tools: [\"[\"]", "pattern"},
		"an end that is none":        {"name: t, until: soon", "2027-01-31"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sentOf(t, "    headers: {X-Team: seven}\n    secrets: [{"+tt.grant+"}]\n")
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
	t.Run("a scheme inside a sandbox", func(t *testing.T) {
		if _, err := secretsOf(t, "    secrets: [{name: t, env: T, hosts: [a.example.com], scheme: Bearer}]\n"); err == nil || !strings.Contains(err.Error(), "scheme is for") {
			t.Error(err)
		}
	})
	t.Run("a value among headers", func(t *testing.T) {
		if _, err := sentOf(t, "    headers: {Authorization: Bearer hunter2}\n"); err == nil || !strings.Contains(err.Error(), "under secrets") || strings.Contains(err.Error(), "hunter2") {
			t.Error(err)
		}
	})
}
