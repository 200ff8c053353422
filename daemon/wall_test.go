package daemon

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
)

func endpoint(host string, port uint16) sandbox.Endpoint {
	return sandbox.Endpoint{Host: host, Port: port}
}

// TestKeepAHostBlocked: what is taken back is asked about again; what was not allowed is denied from then on,
// until that is forgotten or it is allowed.
func TestKeepAHostBlocked(t *testing.T) {
	base := sandbox.Allowlist{Endpoints: []sandbox.Endpoint{endpoint("api.example.com", 443), endpoint("*.example.org", 443)}, Ask: true}
	for name, c := range map[string]struct {
		changes []api.NetworkChange
		allow   []sandbox.Endpoint
		deny    []sandbox.Endpoint
	}{
		"one that is listed":                  {[]api.NetworkChange{{Host: "api.example.com"}}, []sandbox.Endpoint{endpoint("*.example.org", 443)}, nil},
		"listed, and denied once more":        {[]api.NetworkChange{{Host: "api.example.com"}, {Host: "api.example.com"}}, []sandbox.Endpoint{endpoint("*.example.org", 443)}, []sandbox.Endpoint{endpoint("api.example.com", 0)}},
		"one below a wildcard":                {[]api.NetworkChange{{Host: "t.example.org"}}, base.Endpoints, []sandbox.Endpoint{endpoint("t.example.org", 0)}},
		"one that is not listed, twice":       {[]api.NetworkChange{{Host: "T.example.net:443"}, {Host: "t.example.net:443"}}, base.Endpoints, []sandbox.Endpoint{endpoint("t.example.net", 443)}},
		"denied and forgotten":                {[]api.NetworkChange{{Host: "t.example.net"}, {Host: "t.example.net", Forget: true}}, base.Endpoints, nil},
		"denied at a port, forgotten as such": {[]api.NetworkChange{{Host: "t.example.net:22"}, {Host: "t.example.net", Forget: true}}, base.Endpoints, nil},
		"denied and allowed":                  {[]api.NetworkChange{{Host: "t.example.net"}, {Host: "t.example.net", Allow: true}}, append(slices.Clone(base.Endpoints), endpoint("t.example.net", 443)), nil},
		"forgotten, and never denied":         {[]api.NetworkChange{{Host: "t.example.net", Forget: true}}, base.Endpoints, nil},
		"everything below a public suffix":    {[]api.NetworkChange{{Host: "*.co.uk"}}, base.Endpoints, []sandbox.Endpoint{endpoint("*.co.uk", 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			l := base
			for _, one := range c.changes {
				var err error
				if l, err = changed(l, one); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(sandbox.Allowlist{Endpoints: c.allow, Deny: c.deny, Ask: true}, l, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
	denied := sandbox.Allowlist{Deny: []sandbox.Endpoint{endpoint("*.example.net", 0)}, Ask: true}
	if _, err := changed(denied, api.NetworkChange{Host: "t.example.net", Allow: true}); err == nil || !strings.Contains(err.Error(), "*.example.net --forget") {
		t.Errorf("a host is allowed that another rule denies: %v", err)
	}
	if _, err := changed(denied, api.NetworkChange{Host: "t.example.net", Allow: true, Forget: true}); err == nil {
		t.Error("a host is allowed and forgotten")
	}
	if l, err := changed(sandbox.Allowlist{}, api.NetworkChange{Host: "x.example.net", Allow: true}); err != nil || !l.Ask {
		t.Errorf("the first host of a server without a network: %+v, %v", l, err)
	}
}

func TestAllowAndDenyAHost(t *testing.T) {
	var l sandbox.Allowlist
	var err error
	for _, c := range []api.NetworkChange{
		{Host: "API.example.com", Allow: true},
		{Host: "api.example.com:443", Allow: true},
		{Host: "*.cdn.example.com:8443", Allow: true},
		{Host: "public-web", Allow: true},
	} {
		if l, err = changed(l, c); err != nil {
			t.Fatal(err)
		}
	}
	want := sandbox.Allowlist{Endpoints: []sandbox.Endpoint{endpoint("api.example.com", 443), endpoint("*.cdn.example.com", 8443)}, PublicWeb: true, Ask: true}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Error(diff)
	}
	for _, c := range []api.NetworkChange{{Host: "public-web"}, {Host: "api.example.com"}, {Host: "*.cdn.example.com:8443"}} {
		if l, err = changed(l, c); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.Endpoints) > 0 || l.PublicWeb {
		t.Errorf("what was denied is allowed: %+v", l)
	}
	for _, host := range []string{"", "*", "*.com", "https://x.example/", "x y"} {
		if _, err := changed(l, api.NetworkChange{Host: host, Allow: true}); err == nil {
			t.Errorf("%q is allowed", host)
		}
	}
}

// TestGrantsReachNoFurtherThanTheySay: another agent, another server, another definition, another
// session and a time that is over get nothing of a permission.
func TestGrantsReachNoFurtherThanTheySay(t *testing.T) {
	now := time.Now()
	who := approvals.Principal{UID: 1, Client: "a"}
	o := &way{launch: sandbox.Launch{Server: "web"}, session: gateway.Options{ID: "s1", Principal: who, Spec: "sha256:1"}}
	good := approvals.Grant{
		Scope: approvals.ScopeAlways, Principal: who, Server: "web", Spec: "sha256:1",
		Arguments: []approvals.Argument{{Path: "/host", Equals: `"api.example.com:443"`}},
	}
	if e, ok := o.granted(good, grants.Host(good), now); !ok || e != endpoint("api.example.com", 443) {
		t.Fatalf("got %v, %v", e, ok)
	}
	for name, change := range map[string]func(*approvals.Grant){
		"another agent":      func(g *approvals.Grant) { g.Principal.Client = "b" },
		"another server":     func(g *approvals.Grant) { g.Server = "other" },
		"another definition": func(g *approvals.Grant) { g.Spec = "sha256:2" },
		"another session":    func(g *approvals.Grant) { g.Scope, g.Session = approvals.ScopeSession, "s2" },
		"a time that is over": func(g *approvals.Grant) {
			g.Scope, g.Until = approvals.ScopeUntil, now.Add(-time.Second)
		},
		"revoked":      func(g *approvals.Grant) { g.Revoked = now },
		"about a tool": func(g *approvals.Grant) { g.Tool = "fetch" },
		"no host":      func(g *approvals.Grant) { g.Arguments = []approvals.Argument{{Path: "/host", Equals: `"*"`}} },
	} {
		g := good
		change(&g)
		if e, ok := o.granted(g, grants.Host(g), now); ok {
			t.Errorf("%s: reaches %v", name, e)
		}
	}
}

func TestWhatWasRefusedIsCollected(t *testing.T) {
	w := newWays(nil)
	at := time.Now()
	for i := range maxTried + 10 {
		w.collect("web", sandbox.Denial{Kind: sandbox.DeniedName, Host: "x.example.com", Port: uint16(1 + i), Count: 1, At: at.Add(time.Duration(i))}) //nolint:gosec // few
	}
	w.collect("web", sandbox.Denial{Kind: sandbox.DeniedName, Host: "x.example.com", Port: maxTried + 10, Count: 4, At: at.Add(time.Hour)})
	list := w.proposal("web")
	if len(list) != maxTried || list[0].Count != 5 || list[0].Port != maxTried+10 {
		t.Errorf("%d, the first %+v", len(list), list[0])
	}
	w.settled("web", sandbox.Allowlist{Endpoints: []sandbox.Endpoint{endpoint("x.example.com", maxTried+10)}})
	if list = w.proposal("web"); len(list) != maxTried-1 {
		t.Errorf("what is allowed now is proposed still: %+v", list[0])
	}
}

func TestCallsInFlightGetWhatIsReached(t *testing.T) {
	o := &way{calls: map[approvals.CallID]*wallWatch{}}
	for _, id := range []approvals.CallID{"c2", "c1"} {
		o.calls[id] = &wallWatch{way: o, call: id}
	}
	o.calls["c1"].reached("api.example.com:443")
	o.calls["c1"].reached("api.example.com:443")
	if diff := cmp.Diff([]approvals.CallID{"c1", "c2"}, o.inFlight()); diff != "" {
		t.Error(diff)
	}
	if len(o.calls["c1"].hosts) != 1 || len(o.calls["c2"].hosts) != 0 {
		t.Errorf("%v, %v", o.calls["c1"].hosts, o.calls["c2"].hosts)
	}
}

// TestHostsThatNobodyAllowsStray: what a rule or an answer allows is no straying.
func TestHostsThatNobodyAllowsStray(t *testing.T) {
	o := &way{approved: map[sandbox.Endpoint]bool{endpoint("asked.example.com", 443): true}}
	l := sandbox.Allowlist{
		Endpoints: []sandbox.Endpoint{endpoint("*.example.net", 443)}, LAN: []sandbox.Endpoint{endpoint("192.168.1.20", 8080)}, HostPorts: []uint16{5432},
	}
	got := o.strayed(l, []string{
		"a.example.net:443", "192.168.1.20:8080", "host.garita.internal:5432", "asked.example.com:443",
		"asked.example.com:80", "taken.back.example:443", "host.garita.internal:22",
	})
	if diff := cmp.Diff([]string{"asked.example.com:80", "taken.back.example:443", "host.garita.internal:22"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestHowPackagesAreFetched: npm's own settings count for npm's packages, unless config.yaml says otherwise.
func TestHowPackagesAreFetched(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://env.example:3128")
	t.Setenv("NO_PROXY", "env.example")
	for name, c := range map[string]struct {
		file, own string
		proxy     string
		without   string
	}{
		"nothing is said":             {"", "", "http://env.example:3128", "env.example"},
		"npm says it":                 {"", "http://npm.example:1", "http://npm.example:1", "env.example"},
		"config.yaml says it":         {"network: {proxy: 'socks5://own.example:2', no_proxy: own.example}\n", "http://npm.example:1", "socks5://own.example:2", "own.example"},
		"config.yaml says that there": {"network: {proxy: none}\n", "http://npm.example:1", "", "env.example"},
	} {
		t.Run(name, func(t *testing.T) {
			paths := config.Paths{Config: t.TempDir(), State: t.TempDir(), Data: t.TempDir(), Run: t.TempDir(), Home: t.TempDir()}
			if err := os.WriteFile(paths.SettingsFile(), []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			settings, err := config.Open(paths)
			if err != nil || settings.Problem() != nil {
				t.Fatal(err, settings.Problem())
			}
			got := (&Daemon{config: settings}).through(client.Outside{Proxy: client.ProxyURL(c.own)})
			if got.Proxy.Send() != c.proxy || got.NoProxy != c.without {
				t.Errorf("by %q, without for %q", got.Proxy.Send(), got.NoProxy)
			}
		})
	}
}

// TestWhatOnlyAStartCanGive: a sandbox that was started without a network which its server has now, or with
// other certificates than a company's are now, is started anew before its next call.
func TestWhatOnlyAStartCanGive(t *testing.T) {
	paths := config.Paths{Config: t.TempDir(), State: t.TempDir(), Data: t.TempDir(), Run: t.TempDir(), Home: t.TempDir()}
	text := "version: 1\nservers:\n  web: {run: web}\n  quiet: {run: quiet, network: none}\n"
	if err := os.WriteFile(paths.ServersFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	settings, err := config.Open(paths)
	if err != nil || settings.Problem() != nil {
		t.Fatal(err, settings.Problem())
	}
	d := &Daemon{config: settings}
	d.ways, d.secrets = newWays(d), newSecrets(d, nil)
	for id, s := range map[sandbox.InstanceID]sandbox.Server{
		"web-none": {Name: "web"}, "web-walled": {Name: "web", Spec: sandbox.Spec{Network: sandbox.Unsaid()}}, "quiet-none": {Name: "quiet"},
		"trusts-another": {Name: "web", Spec: sandbox.Spec{Network: sandbox.Unsaid()}}, "gone-none": {Name: "gone"},
	} {
		d.secrets.held[id] = &holding{id: id, server: s}
	}
	d.ways.open["trusts-another"] = &way{all: d.ways, launch: sandbox.Launch{ID: "trusts-another", Server: "web"}, trusts: "an old certificate"}
	d.ways.open["web-walled"] = &way{all: d.ways, launch: sandbox.Launch{ID: "web-walled", Server: "web"}}
	d.ways.outdate()
	for id, want := range map[sandbox.InstanceID]string{"web-none": "without a network", "web-walled": "", "quiet-none": "", "trusts-another": "certificates", "gone-none": ""} {
		if got := d.secrets.held[id].stale; (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", id, got)
		}
	}
}
