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
	spec := full().Spec
	got, err := CheckSecret(sandbox.SecretGrant{Secret: "c", Mode: sandbox.SecretPlaceholder, Env: "GITHUB_TOKEN", Hosts: []sandbox.Endpoint{{Host: "api.github.com", Port: 443}}}, spec)
	if err != nil || !cmp.Equal(got.Places, []sandbox.SecretPlace{usualPlace}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := CheckSecret(sandbox.SecretGrant{Secret: "e", Mode: sandbox.SecretEnv, Env: "DB_PASSWORD"}, spec); err == nil {
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
