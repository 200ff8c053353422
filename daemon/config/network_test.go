package config

import (
	"os"
	"path/filepath"
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
	for name, yaml := range map[string]string{
		"missing":         "",
		"null":            "    network:\n",
		"empty":           "    network: {}\n",
		"no list":         "    network: {allow: }\n",
		"an empty list":   "    network: {allow: []}\n",
		"nothing, asked":  "    network: {allow: [], ask: false}\n",
		"every empty key": "    network: {allow: [], lan: [], host: []}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if l, err := networkOf(t, yaml); err != nil || !l.Empty() {
				t.Errorf("got %+v, %v", l, err)
			}
		})
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
