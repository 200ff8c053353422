package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

func full() sandbox.Server {
	return sandbox.Server{
		Name:   "new.one",
		Source: sandbox.Source{Command: []string{"npx", "-y", "pkg@1", "/home/ana/my shop", "it's", "#no", "- x", "a: b", "true", "~/x", "\n"}, Listen: sandbox.Listen{Port: 3000, Path: "/mcp"}},
		Spec: sandbox.Spec{
			Workspace: sandbox.Snapshot, Folders: []string{"/home/ana/my shop"},
			Mounts:    []sandbox.Mount{{Host: "/srv/in", At: "/workspace/input"}, {Host: "/srv/out", At: "/srv/out", Writable: true}},
			Env:       map[string]string{"A": "yes", "B": "007", "C": "${x}\n#", "D": ""},
			Limits:    sandbox.Limits{Memory: 3 << 29, PIDs: 64, CPUs: 0.5, Calls: sandbox.Rate{Count: 120, Per: time.Minute}, Instances: 3},
			Lifecycle: sandbox.Lifecycle{Idle: 90 * time.Second, Freeze: 30 * time.Second, Hard: 12 * time.Hour, Call: 5 * time.Minute, Start: 2 * time.Minute},
			Network: sandbox.Allowlist{
				Endpoints: []sandbox.Endpoint{{Host: "api.github.com", Port: 443}, {Host: "*.example.com", Port: 8443}, {Host: "2001:4860::1", Port: 443}}, PublicWeb: true,
				LAN: []sandbox.Endpoint{{Host: "nas", Port: 443}}, HostPorts: []uint16{5432, 3002}, Localhost: true,
				Deny: []sandbox.Endpoint{{Host: "*.telemetry.example.com"}, {Host: "x.example.com", Port: 443}, {Host: "2001:4860::1"}},
			},
			Tools: sandbox.ToolFilter{Allow: []string{"read_*"}}, Protocol: "2024-11-05",
			DenyRequests: []sandbox.ServerRequest{sandbox.Elicitation}, AllowRequests: []sandbox.ServerRequest{sandbox.Sampling},
			InstallScripts: []string{"@s/native", "better-sqlite3"},
			Secrets: []sandbox.SecretGrant{
				{
					Secret: "a.key", Mode: sandbox.SecretPlaceholder, File: "/run/secrets/a/key", Hosts: []sandbox.Endpoint{{Host: "api.github.com", Port: 443}, {Host: "*.example.com", Port: 8443}},
					Places: []sandbox.SecretPlace{{In: sandbox.InHeader, Name: "X-Api-Key"}, {In: sandbox.InHeader, Name: "Cookie"}, {In: sandbox.InQuery, Name: "key: #1"}, {In: sandbox.InBody, Name: "true"}},
					Tools:  []string{"search_*"}, Until: time.Date(2027, 1, 31, 18, 0, 0, 0, time.UTC), Ask: true,
				},
				{Secret: "b", Mode: sandbox.SecretFile, File: "/run/secrets/b"},
				{Secret: "c", Mode: sandbox.SecretPlaceholder, Env: "GITHUB_TOKEN", Places: []sandbox.SecretPlace{{In: sandbox.InHeader, Name: "Authorization"}}, Hosts: []sandbox.Endpoint{{Host: "nas", Port: 443}}},
				{Secret: "d", Mode: sandbox.SecretEnv, Env: "DB_PASSWORD"},
			},
		},
	}
}

const commented = `# my servers
version: 1   # do not touch

servers:
    # the shop
    shop:
        run: npx -y shop   # pinned later
        env: {A:  "b"}

    # search
    search:
        command: [ node,   /srv/search.js ]
# the end
`

func TestPutAndDropKeepTheRest(t *testing.T) {
	with, err := putServer("f", []byte(commented), full())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.SplitAfter(commented, "\n") {
		if !strings.Contains(string(with), line) {
			t.Errorf("line %q is gone from\n%s", line, with)
		}
	}
	list, err := ParseServers("f", with, testGuard)
	if err != nil {
		t.Fatalf("%v in\n%s", err, with)
	}
	want := full()
	if d := cmp.Diff(byName(list)["new.one"], want); d != "" {
		t.Error(d)
	}
	without, err := dropServer("f", with, "new.one")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(without), commented); d != "" {
		t.Errorf("put and drop left a trace: %s", d)
	}
}

func TestPutReplacesOneBlock(t *testing.T) {
	out, err := putServer("f", []byte(commented), sandbox.Server{Name: "shop", Source: sandbox.Source{Command: []string{"other"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, keep := range []string{"# my servers", "# do not touch", "# the shop", "# search", "command: [ node,   /srv/search.js ]", "# the end"} {
		if !strings.Contains(string(out), keep) {
			t.Errorf("%q is gone from\n%s", keep, out)
		}
	}
	if strings.Contains(string(out), "npx -y shop") || !strings.Contains(string(out), "run: other") {
		t.Errorf("not replaced:\n%s", out)
	}
}

func TestAServerAtAURLHasNoNetworkOfItsOwn(t *testing.T) {
	out, err := putServer("f", nil, sandbox.Server{Name: "far", Source: sandbox.Source{URL: "https://mcp.example.com/"}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "network") {
		t.Errorf("written:\n%s", out)
	}
}

func TestPutIntoEveryLayout(t *testing.T) {
	for name, text := range map[string]string{
		"no file":           "",
		"only a version":    "version: 1\n",
		"no servers yet":    "version: 1\nservers:\n",
		"empty flow":        "version: 1\nservers: {}\n",
		"flow":              "version: 1\nservers: {a: {run: x}}\n",
		"no last newline":   "version: 1\nservers:\n  a:\n    run: x",
		"carriage returns":  "version: 1\r\nservers:\r\n  a:\r\n    run: x\r\n",
		"a folded text":     "servers:\n  a:\n    run: >-\n      npx\n      x\n",
		"keys after":        "servers:\n  a:\n    run: x\nversion: 1\n",
		"quoted name":       "servers:\n  \"new.one\":\n    run: x\n",
		"comment after it":  "servers:\n  new.one:\n    run: x\n    # about it\n  b:\n    run: y\n",
		"flow over lines":   "servers:\n  new.one: {run: x,\n env: {A: b}}\n  b: {run: y}\n",
		"only one, in flow": "servers:\n  new.one: {run: x}\n",
	} {
		t.Run(name, func(t *testing.T) {
			before, err := decodeServers("f", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			out, err := putServer("f", []byte(text), full())
			if err != nil {
				t.Fatal(err)
			}
			list, err := ParseServers("f", out, testGuard)
			if err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			got := byName(list)
			if d := cmp.Diff(got["new.one"], full()); d != "" {
				t.Error(d)
			}
			for other := range before.Servers {
				if _, ok := got[sandbox.ServerName(other)]; !ok {
					t.Errorf("server %s is gone from\n%s", other, out)
				}
			}
			out, err = dropServer("f", out, "new.one")
			if err != nil {
				t.Fatal(err)
			}
			if list, err = ParseServers("f", out, testGuard); err != nil {
				t.Fatalf("after drop: %v in\n%s", err, out)
			}
			if _, ok := byName(list)["new.one"]; ok {
				t.Errorf("still there:\n%s", out)
			}
		})
	}
}

func TestAnExternalServerIsWrittenAndRead(t *testing.T) {
	want := sandbox.Server{
		Name:   "far",
		Source: sandbox.Source{URL: "https://example.com/mcp?a=b", Headers: map[string]string{"X-Tenant": "a: b # c"}},
		Spec:   sandbox.Spec{Workspace: sandbox.None, Limits: sandbox.Limits{Calls: sandbox.Rate{Count: 9, Per: time.Hour}}},
	}
	out, err := putServer("f", []byte(commented), want)
	if err != nil {
		t.Fatal(err)
	}
	list, err := ParseServers("f", out, testGuard)
	if err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if d := cmp.Diff(byName(list)["far"], want); d != "" {
		t.Error(d)
	}
}
