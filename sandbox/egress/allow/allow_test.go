package allow

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func rulesOf(t testing.TB, texts ...string) sandbox.Allowlist {
	t.Helper()
	var l sandbox.Allowlist
	for _, text := range texts {
		e, err := sandbox.ParseEndpoint(text)
		if err != nil {
			t.Fatal(err)
		}
		l.Endpoints = append(l.Endpoints, e)
	}
	return l
}

// probes replays a report's file of rules and connections.
func probes(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(sandboxtest.Testdata(t), "field-inputs", file))
	if err != nil {
		t.Fatal(err)
	}
	var replay struct {
		Policy struct {
			Allow []string `json:"allow"`
		} `json:"policy"`
		Probe [][3]jsontext.Value `json:"probe"`
	}
	if err := json.Unmarshal(text, &replay); err != nil {
		t.Fatal(err)
	}
	l := rulesOf(t, replay.Policy.Allow...)
	for _, p := range replay.Probe {
		var host, want string
		var port uint16
		for i, into := range []any{&host, &port, &want} {
			if err := json.Unmarshal(p[i], into); err != nil {
				t.Fatal(err)
			}
		}
		v := Decide(l, host, port)
		switch passes := v.Reach != sandbox.Nowhere; {
		case want == "allow" && !passes, want == "deny" && passes:
			t.Errorf("%s:%d: %+v, want %s", host, port, v, want)
		case want != "allow" && v.Propose != (sandbox.Endpoint{Host: host, Port: port}).String():
			t.Errorf("%s:%d: proposes %q", host, port, v.Propose)
		}
	}
}

func TestRules(t *testing.T) {
	t.Run("report_N04", func(t *testing.T) { probes(t, "N04.json") })
	t.Run("report_N08", func(t *testing.T) {
		probes(t, "N08.json")
		v := Decide(rulesOf(t, "*.tracker.example"), "tracker.example", 443)
		if v.Reach != sandbox.Nowhere || !strings.Contains(v.Why, "does not include") || v.Propose != "tracker.example:443" {
			t.Errorf("the apex of a wildcard: %+v", v)
		}
	})
}

func TestWildcardsOverWhatAnybodyCanRegister(t *testing.T) {
	for base, refused := range map[string]bool{
		"com": true, "co.uk": true, "github.io": true, "example": true, "amazonaws.com": false, "s3.amazonaws.com": true,
		"herokuapp.com": true, "tracker.example": false, "example.com": false, "bbc.co.uk": false, "octo.github.io": false,
	} {
		if why := Wildcard(base); (why != "") != refused {
			t.Errorf("*.%s: %q", base, why)
		}
	}
}

func TestDecide(t *testing.T) {
	full := rulesOf(t, "api.example.com", "*.cdn.example.com:8443", "192.0.33.8:443")
	full.LAN = rulesOf(t, "nas.home.arpa:443").Endpoints
	full.HostPorts = []uint16{5432}
	web := sandbox.Allowlist{PublicWeb: true}
	for name, c := range map[string]struct {
		list sandbox.Allowlist
		host string
		port uint16
		want sandbox.Reach
	}{
		"nothing is allowed by nothing":    {sandbox.Allowlist{}, "example.com", 443, sandbox.Nowhere},
		"the zero port":                    {full, "api.example.com", 0, sandbox.Nowhere},
		"no name":                          {full, "", 443, sandbox.Nowhere},
		"a listed name":                    {full, "api.example.com", 443, sandbox.PublicNet},
		"a listed name at another port":    {full, "api.example.com", 80, sandbox.Nowhere},
		"a suffix of a listed name":        {full, "example.com", 443, sandbox.Nowhere},
		"below a listed name":              {full, "x.api.example.com", 443, sandbox.Nowhere},
		"below a wildcard":                 {full, "a.b.cdn.example.com", 8443, sandbox.PublicNet},
		"a wildcard itself":                {full, "cdn.example.com", 8443, sandbox.Nowhere},
		"only the end is a wildcard's":     {full, "evilcdn.example.com", 8443, sandbox.Nowhere},
		"a name of the private network":    {full, "nas.home.arpa", 443, sandbox.PrivateNet},
		"a service of this machine":        {full, sandbox.HostName, 5432, sandbox.ThisHost},
		"by the name others use":           {full, "host.docker.internal", 5432, sandbox.ThisHost},
		"another service of this machine":  {full, sandbox.HostName, 631, sandbox.Nowhere},
		"the public web":                   {web, "example.com", 443, sandbox.PublicNet},
		"the public web in the clear":      {web, "example.com", 80, sandbox.PublicNet},
		"ssh is not the web":               {web, "example.com", 22, sandbox.Nowhere},
		"a single word is not public":      {web, "router", 443, sandbox.Nowhere},
		"this machine is not public":       {web, sandbox.HostName, 443, sandbox.Nowhere},
		"a reserved name":                  {web, "printer.local", 443, sandbox.Nowhere},
		"an address is not the public web": {web, "192.0.33.8", 443, sandbox.Nowhere},
		"names by way of the public web":   {web, "dns.google", 443, sandbox.Nowhere},
		"names over TLS":                   {rulesOf(t, "example.com"), "example.com", 853, sandbox.Nowhere},
	} {
		t.Run(name, func(t *testing.T) {
			v := Decide(c.list, c.host, c.port)
			if v.Reach != c.want {
				t.Errorf("got %+v, want reach %q", v, c.want)
			}
			if c.want == sandbox.Nowhere && (v.Why == "" || v.Kind == "") || c.want != sandbox.Nowhere && v.Rule == "" {
				t.Errorf("it does not say why: %+v", v)
			}
		})
	}
}

func TestLiteralAddresses(t *testing.T) {
	l := rulesOf(t, "9.9.9.9:8443")
	l.LAN = rulesOf(t, "192.168.1.20:80").Endpoints
	for to, want := range map[string]sandbox.Reach{
		"9.9.9.9:8443": sandbox.PublicNet, "9.9.9.9:443": sandbox.Nowhere, "192.168.1.20:80": sandbox.PrivateNet,
		"192.168.1.21:80": sandbox.Nowhere, "[::ffff:9.9.9.9]:8443": sandbox.PublicNet, "127.0.0.1:80": sandbox.Nowhere,
		"8.8.8.8:53": sandbox.Nowhere, "9.9.9.9:0": sandbox.Nowhere,
	} {
		if v := Literal(l, netip.MustParseAddrPort(to)); v.Reach != want {
			t.Errorf("%s: %+v, want %q", to, v, want)
		}
	}
}

func TestAddress(t *testing.T) {
	own := []netip.Addr{netip.MustParseAddr("9.9.9.9"), netip.MustParseAddr("2600::9")}
	for address, want := range map[string]struct{ public, lan bool }{
		"93.184.216.34":   {true, true},
		"2600:1406::1":    {true, true},
		"9.9.9.9":         {false, false}, // our own
		"2600::9":         {false, false},
		"10.1.2.3":        {false, true},
		"172.31.255.255":  {false, true},
		"172.32.0.1":      {true, true},
		"192.168.0.1":     {false, true},
		"100.64.0.1":      {false, true},
		"fd12::1":         {false, true},
		"fd00:ec2::254":   {false, false},
		"127.0.0.1":       {false, false},
		"127.255.255.254": {false, false},
		"::1":             {false, false},
		"::":              {false, false},
		"0.0.0.0":         {false, false},
		"169.254.169.254": {false, false},
		"fe80::1":         {false, false},
		"fe80::1%eth0":    {false, false},
		"168.63.129.16":   {false, false},
		"192.0.0.192":     {false, false},
		"198.18.0.1":      {false, false},
		"224.0.0.1":       {false, false},
		"255.255.255.255": {false, false},
		"ff02::1":         {false, false},

		"::ffff:127.0.0.1":         {false, false},
		"::ffff:10.0.0.1":          {false, true},
		"::ffff:93.184.216.34":     {true, true},
		"::127.0.0.1":              {false, false},
		"64:ff9b::127.0.0.1":       {false, false},
		"64:ff9b::169.254.169.254": {false, false},
		"64:ff9b::10.0.0.1":        {false, true},
		"64:ff9b::93.184.216.34":   {true, true},
		"64:ff9b:1::93.184.216.34": {false, false},
		"2002:7f00:1::":            {false, false},
		"2001:0:7f00:1::":          {false, false},
		"2001:db8::1":              {false, false},
		"4000::1":                  {false, false},
		"64:ff9b::9.9.9.9":         {false, false},
		"::ffff:0:127.0.0.1":       {false, false},
		"0:0:0:0:0:ffff:a9fe:a9fe": {false, false},
		"fec0::1":                  {false, false},
	} {
		ip := netip.MustParseAddr(address)
		if why := Address(ip, sandbox.PublicNet, own); (why == "") != want.public {
			t.Errorf("%s as public: %q", address, why)
		}
		if why := Address(ip, sandbox.PrivateNet, own); (why == "") != want.lan {
			t.Errorf("%s as LAN: %q", address, why)
		}
		if Address(ip, sandbox.Nowhere, nil) == "" {
			t.Errorf("%s is reached without a reach", address)
		}
	}
	if Address(netip.Addr{}, sandbox.PublicNet, nil) == "" {
		t.Error("no address is reached")
	}
	if Address(netip.MustParseAddr("127.0.0.1"), sandbox.ThisHost, nil) != "" || Address(netip.MustParseAddr("10.0.0.1"), sandbox.ThisHost, nil) == "" {
		t.Error("a service of this machine is on loopback, and nowhere else")
	}
}

// FuzzEndpoint: whatever is read as a rule is written as it is read, and matches what it says only.
func FuzzEndpoint(f *testing.F) {
	for _, s := range []string{"a.b", "a.b:1", "*.a.b:65535", "[::1]:3", "1.2.3.4", "https://x/", "*", "*.com", "foo.*.example", " x.example", "x.example.", "127.1:80", "0x7f.1", "a..b", "[::ffff:1.2.3.4]:1", "xn--nxasmq6b"} {
		f.Add(s, "x.example", uint16(443))
	}
	f.Fuzz(func(t *testing.T, rule, host string, port uint16) {
		e, err := sandbox.ParseEndpoint(rule)
		if err != nil {
			return
		}
		again, err := sandbox.ParseEndpoint(e.String())
		if err != nil || again != e {
			t.Fatalf("%q is read as %v, and that as %v, %v", rule, e, again, err)
		}
		if !e.Matches(host, port) {
			return
		}
		base, wild := e.Wildcard()
		if port != e.Port || port == 0 || !wild && host != e.Host || wild && (!strings.HasSuffix(host, "."+base) || host == base) {
			t.Fatalf("%v matches %q at %d", e, host, port)
		}
	})
}
