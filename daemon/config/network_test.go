package config

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func networkOf(t *testing.T, yaml string) (sandbox.Allowlist, error) {
	t.Helper()
	list, err := ParseServers("servers.yaml", []byte("servers:\n  a:\n    run: x\n"+yaml), testGuard)
	if err != nil {
		return sandbox.Allowlist{}, err
	}
	return list[0].Spec.Network, nil
}

func TestNetworkIsDeniedByDefault(t *testing.T) {
	asked, refused := sandbox.Unsaid(), sandbox.Allowlist{Walled: true}
	telemetry := []sandbox.Endpoint{{Host: "t.example.com"}}
	for name, c := range map[string]struct {
		yaml string
		want sandbox.Allowlist
	}{
		"missing":            {"", asked},
		"null":               {"    network:\n", asked},
		"a tilde":            {"    network: ~\n", asked},
		"empty":              {"    network: {}\n", asked},
		"no list":            {"    network: {allow: }\n", asked},
		"an empty list":      {"    network: {allow: []}\n", asked},
		"every empty key":    {"    network: {allow: [], lan: [], host: [], deny: []}\n", asked},
		"asked, as ever":     {"    network: {ask: true}\n", asked},
		"nothing, not asked": {"    network: {allow: [], ask: false}\n", refused},
		"none":               {"    network: none\n", sandbox.Allowlist{}},
		"denied":             {"    network: {deny: [T.Example.com.]}\n", sandbox.Allowlist{Deny: telemetry, Ask: true}},
		"denied, not asked":  {"    network: {deny: [t.example.com], ask: false}\n", sandbox.Allowlist{Deny: telemetry}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := networkOf(t, c.yaml)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if got.Lists() {
				t.Errorf("something may be reached: %+v", got)
			}
		})
	}
}

// TestANetworkIsWrittenAsItIs: what is read back is the same, and what is not said stays unsaid.
func TestANetworkIsWrittenAsItIs(t *testing.T) {
	for name, yaml := range map[string]string{
		"missing": "", "none": "    network: none\n", "not asked": "    network:\n      ask: false\n",
		"denied": "    network:\n      deny:\n        - t.example.com\n        - \"[2001:4860::1]:443\"\n        - \"x.example.com:8443\"\n",
		"listed": "    network:\n      allow:\n        - \"x.example.com:443\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			l, err := networkOf(t, yaml)
			if err != nil {
				t.Fatal(err)
			}
			out, err := putServer("f", []byte("servers:\n"), sandbox.Server{Name: "a", Source: sandbox.Source{Command: []string{"x"}}, Spec: sandbox.Spec{Workspace: sandbox.Snapshot, Network: l}})
			if want := "servers:\n  a:\n    run: x\n    workspace: snapshot\n" + yaml; err != nil || string(out) != want {
				t.Errorf("%v\n%s", err, cmp.Diff(want, string(out)))
			}
		})
	}
}

func TestDenials(t *testing.T) {
	for text, want := range map[string]sandbox.Endpoint{
		"x.example.com": {Host: "x.example.com"}, "x.example.com:443": {Host: "x.example.com", Port: 443}, "*.co.uk": {Host: "*.co.uk"},
		"198.51.100.443": {}, "2001:db8::443": {}, "[2001:db8::1]:443": {Host: "2001:db8::1", Port: 443}, "public-web": {Host: "public-web"},
		"bücher.example:22": {Host: "xn--bcher-kva.example", Port: 22}, "https://x.example.com": {}, "": {}, "*": {}, "x.example.com:0": {},
	} {
		got, err := ParseDenial(text)
		if got != want && err == nil || (err != nil) != (want == sandbox.Endpoint{}) {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// TestTheDigestOfANetwork: servers that were approved before every server had a wall keep their digest, and
// no network at all is another definition.
func TestTheDigestOfANetwork(t *testing.T) {
	digest := func(l sandbox.Allowlist) sandbox.Digest {
		d, err := Digest(sandbox.Server{Name: "a", Source: sandbox.Source{Command: []string{"x"}}, Spec: sandbox.Spec{Network: l}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	all := map[sandbox.Digest]string{}
	for name, l := range map[string]sandbox.Allowlist{
		"unsaid": sandbox.Unsaid(), "none": {}, "refused": {Walled: true}, "denied": {Ask: true, Deny: []sandbox.Endpoint{{Host: "t.example.com"}}},
		"listed": {Ask: true, Endpoints: []sandbox.Endpoint{{Host: "t.example.com", Port: 443}}},
	} {
		d := digest(l)
		if other, twice := all[d]; twice {
			t.Errorf("%s and %s are the same", name, other)
		}
		all[d] = name
	}
	if c := canonicalServer(sandbox.Server{Spec: sandbox.Spec{Network: sandbox.Unsaid()}}); !reflect.DeepEqual(c.Network, sandbox.Allowlist{}) || c.NoNetwork {
		t.Errorf("what is not said changes the digest: %+v", c.Network)
	}
}

func TestNetworkRules(t *testing.T) {
	got, err := networkOf(t, `    network:
      allow: [API.GitHub.com, "*.example.com:8443", bücher.example.com, public-web, api.github.com.]
      lan: [nas, "192.168.1.20:8080"]
      host: [5432, 5432]
      localhost: true
      ask: false
`)
	want := sandbox.Allowlist{
		Endpoints: []sandbox.Endpoint{{Host: "api.github.com", Port: 443}, {Host: "*.example.com", Port: 8443}, {Host: "xn--bcher-kva.example.com", Port: 443}},
		LAN:       []sandbox.Endpoint{{Host: "nas", Port: 443}, {Host: "192.168.1.20", Port: 8080}},
		HostPorts: []uint16{5432}, Localhost: true, PublicWeb: true,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if l, err := networkOf(t, "    network: {allow: [x.example.com]}\n"); err != nil || !l.Ask {
		t.Errorf("what is not listed is asked about: %+v, %v", l, err)
	}
}

func TestRulesThatAreNone(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", "N08.json"))
	if err != nil {
		t.Fatal(err)
	}
	var replay struct {
		Errors []string `json:"config_errors"`
	}
	if err := json.Unmarshal(text, &replay); err != nil || len(replay.Errors) == 0 {
		t.Fatal(err)
	}
	t.Run("report_N08", func(t *testing.T) {
		for _, rule := range replay.Errors {
			if e, err := ParseRule(rule); err == nil {
				t.Errorf("%q is read as %v", rule, e)
			}
		}
	})
}
