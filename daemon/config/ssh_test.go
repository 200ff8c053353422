package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

const (
	hostKey   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
	hostPrint = "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"
)

func TestHostsThatAreReachedBySSH(t *testing.T) {
	got, err := networkOf(t, `    network:
      allow: [db.example.com:22]
      lan: ["nas:22"]
      ssh:
        - host: GitHub.com
          keys: ["`+hostKey+` a comment", "`+hostPrint+`"]
          agent: any
        - {host: "ssh.github.com:443", keys: "`+hostPrint+`"}
        - {host: nas, agent: ["`+hostPrint+`"]}
        - {host: db.example.com}
`)
	want := sandbox.Allowlist{
		Endpoints: []sandbox.Endpoint{{Host: "db.example.com", Port: 22}, {Host: "github.com", Port: 22}, {Host: "ssh.github.com", Port: 443}},
		LAN:       []sandbox.Endpoint{{Host: "nas", Port: 22}},
		SSH: []sandbox.SSHHost{
			{Endpoint: sandbox.Endpoint{Host: "github.com", Port: 22}, Keys: []sandbox.SSHKey{hostKey, hostPrint}, Agent: []string{sandbox.AnyKey}},
			{Endpoint: sandbox.Endpoint{Host: "ssh.github.com", Port: 443}, Keys: []sandbox.SSHKey{hostPrint}},
			{Endpoint: sandbox.Endpoint{Host: "nas", Port: 22}, Agent: []string{hostPrint}},
			{Endpoint: sandbox.Endpoint{Host: "db.example.com", Port: 22}},
		},
		Ask: true,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("%v\n%s", err, diff)
	}
	if k := got.SSH[0].Keys[0]; k.Fingerprint() != hostPrint || !k.Whole() || got.SSH[0].Keys[1].Whole() {
		t.Errorf("%s has the fingerprint %s", k, k.Fingerprint())
	}
	again := declareNetwork(got)
	l, err := again.lower()
	if diff := cmp.Diff(want, l); err != nil || diff != "" {
		t.Errorf("written and read again: %v\n%s", err, diff)
	}
}

func TestSSHThatIsNone(t *testing.T) {
	for name, c := range map[string]struct{ ssh, why string }{
		"no host":                        {`{keys: ["` + hostPrint + `"]}`, "empty rule"},
		"a wildcard":                     {`{host: "*.example.com"}`, "name the host"},
		"public-web":                     {`{host: public-web}`, "lan"},
		"a private address":              {`{host: "10.0.0.1"}`, "lan"},
		"this machine":                   {`{host: host.garita.internal}`, "under host"},
		"twice":                          {`{host: a.example.com}, {host: "a.example.com:22"}`, "twice"},
		"a word for a key":               {`{host: a.example.com, keys: [any]}`, "want SHA256"},
		"a short fingerprint":            {`{host: a.example.com, keys: ["SHA256:abc"]}`, "43 characters"},
		"an old fingerprint":             {`{host: a.example.com, keys: ["MD5:16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48"]}`, "want SHA256"},
		"a key of another type":          {`{host: a.example.com, keys: ["ssh-rsa ` + strings.Fields(hostKey)[1] + `"]}`, "no public key"},
		"a certificate":                  {`{host: a.example.com, keys: ["ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29t"]}`, "certificate"},
		"any beside others":              {`{host: a.example.com, agent: [any, "` + hostPrint + `"]}`, "or any"},
		"an agent's key that is no key":  {`{host: a.example.com, agent: [id_ed25519]}`, "ssh-add -l"},
		"an unknown key of servers.yaml": {`{host: a.example.com, key: x}`, "key"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := networkOf(t, "    network: {ssh: ["+c.ssh+"]}\n")
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %+v, %v", l, err)
			}
		})
	}
}

// TestPinningAKeyChangesNoDefinition: what was permitted stays so; lending the agent is another definition.
func TestPinningAKeyChangesNoDefinition(t *testing.T) {
	digest := func(yaml string) sandbox.Digest {
		list, err := ParseServers("servers.yaml", []byte("servers:\n  a:\n    run: x\n"+yaml), testGuard)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Digest(list[0])
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	plain := digest("    network: {allow: [\"a.example.com:22\"]}\n")
	if got := digest("    network: {allow: [\"a.example.com:22\"], ssh: [{host: a.example.com, keys: [\"" + hostPrint + "\"]}]}\n"); got != plain {
		t.Error("a key that is pinned makes it another definition")
	}
	if got := digest("    network: {allow: [\"a.example.com:22\"], ssh: [{host: a.example.com, agent: any}]}\n"); got == plain {
		t.Error("lending the agent does not")
	}
}
