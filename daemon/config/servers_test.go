package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

var testGuard = Guard{Home: "/home/ana", Own: []string{"/home/ana/.config/garita"}}

func TestParseServers(t *testing.T) {
	const text = `version: 1
servers:
  files:
    run: npx -y @modelcontextprotocol/server-filesystem@2026.8.31 ${workspace} ~/shop
    protocol: auto
    placement: dedicated
    runtime: runc
    mounts:
      - {host: ~/data/in, at: /workspace/input, mode: ro}
      - {host: /srv/out, mode: rw}
    network: {allow: []}
    env: {LOG: debug}
    limits: {memory: 512MiB, pids: 256, cpus: 1.5, calls: 120/min, instances: 2}
    lifecycle: {idle: 10m, freeze: 1m, hard: 12h, call: 5m, start: 90s}
    requests: {deny: [sampling, roots, roots]}
    tools: {allow: ["read_*"]}
  img:
    image: ghcr.io/x/y:1
    args: [serve]
    workspace: none
    network:
    protocol: 2025-11-25
    listen: 3000/mcp
  remote:
    url: https://example.com/mcp?x=1
    placement: external
    headers: {x-tenant: shop one}
    limits: {calls: 5/s}
  here:
    url: http://[::1]:8080
`
	got, err := ParseServers("servers.yaml", []byte(text), testGuard)
	if err != nil {
		t.Fatal(err)
	}
	want := []sandbox.Server{
		{
			Name:   "files",
			Source: sandbox.Source{Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "${workspace}", "/home/ana/shop"}},
			Spec: sandbox.Spec{
				Workspace: sandbox.Snapshot, Folders: []string{"${workspace}"},
				Mounts:    []sandbox.Mount{{Host: "/home/ana/data/in", At: "/workspace/input"}, {Host: "/srv/out", At: "/srv/out", Writable: true}},
				Network:   sandbox.Unsaid(),
				Env:       map[string]string{"LOG": "debug"},
				Limits:    sandbox.Limits{Memory: 512 << 20, PIDs: 256, CPUs: 1.5, Calls: sandbox.Rate{Count: 120, Per: time.Minute}, Instances: 2},
				Lifecycle: sandbox.Lifecycle{Idle: 10 * time.Minute, Freeze: time.Minute, Hard: 12 * time.Hour, Call: 5 * time.Minute, Start: 90 * time.Second},
				Tools:     sandbox.ToolFilter{Allow: []string{"read_*"}}, DenyRequests: []sandbox.ServerRequest{sandbox.Roots, sandbox.Sampling},
			},
		},
		{Name: "here", Source: sandbox.Source{URL: "http://[::1]:8080"}, Spec: sandbox.Spec{Workspace: sandbox.None}},
		{
			Name:   "img",
			Source: sandbox.Source{Image: "ghcr.io/x/y:1", Args: []string{"serve"}, Listen: sandbox.Listen{Port: 3000, Path: "/mcp"}},
			Spec:   sandbox.Spec{Workspace: sandbox.None, Network: sandbox.Unsaid(), Protocol: "2025-11-25"},
		},
		{
			Name:   "remote",
			Source: sandbox.Source{URL: "https://example.com/mcp?x=1", Headers: map[string]string{"X-Tenant": "shop one"}},
			Spec:   sandbox.Spec{Workspace: sandbox.None, Limits: sandbox.Limits{Calls: sandbox.Rate{Count: 5, Per: time.Second}}},
		},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Error(d)
	}
}

func TestParseServersRefuses(t *testing.T) {
	head := "version: 1\nservers:\n  a:\n"
	for name, tt := range map[string]struct {
		text string
		line int
		says string
	}{
		"an unknown key":                 {head + "    run: x\n    runn: y\n", 5, "runn"},
		"an unknown key at the top":      {"version: 1\nserver: {}\n", 2, "server"},
		"a doubled server":               {head + "    run: x\n  a:\n    run: y\n", 5, "a"},
		"another version":                {"version: 2\n", 1, "version 2"},
		"nothing to run":                 {head + "    workspace: none\n", 3, "exactly one"},
		"two ways to run":                {head + "    run: x\n    image: y\n", 3, "exactly one"},
		"a bad name":                     {"servers:\n  ../x: {run: y}\n", 2, "server name"},
		"a single word as a host":        {head + "    run: x\n    network: {allow: [\"a:443\"]}\n", 5, "lan"},
		"any host":                       {head + "    run: x\n    network: {allow: [\"*\"]}\n", 5, "network"},
		"hosts as one text":              {head + "    run: x\n    network: {allow: public-web}\n", 5, ""},
		"loopback as a host":             {head + "    run: x\n    network: {allow: [\"127.0.0.1:80\"]}\n", 5, "never"},
		"a private address as public":    {head + "    run: x\n    network: {allow: [\"10.0.0.1:80\"]}\n", 5, "lan"},
		"metadata in the LAN":            {head + "    run: x\n    network: {lan: [\"169.254.169.254:80\"]}\n", 5, "never"},
		"the printers":                   {head + "    run: x\n    network: {host: [631]}\n", 5, "printers"},
		"hosts of a server elsewhere":    {head + "    url: https://example.com\n    network: {allow: [x.example.com]}\n", 5, "elsewhere"},
		"another word for a network":     {head + "    run: x\n    network: nothing\n", 5, "none"},
		"a truth for a network":          {head + "    run: x\n    network: false\n", 0, ""},
		"a denied address of the web":    {head + "    run: x\n    network: {deny: [\"https://x.example.com\"]}\n", 5, "deny"},
		"a secret without a network":     {head + "    run: x\n    network: none\n    secrets: [{name: t, env: T, header: Authorization, hosts: [x.example.com]}]\n", 5, "none"},
		"another network key":            {head + "    run: x\n    network: {alow: [x.example.com]}\n", 5, "alow"},
		"a secret of a server elsewhere": {head + "    url: https://example.com\n    secrets: [{name: t, env: T, mode: env}]\n", 5, "at a url has none"},
		"another runtime":                {head + "    run: x\n    runtime: gvisor\n", 5, "yet"},
		"a shared placement":             {head + "    run: x\n    placement: shared\n", 5, "yet"},
		"a disk limit":                   {head + "    run: x\n    limits: {disk: 2GiB}\n", 5, "disk"},
		"a mount of the home":            {head + "    run: x\n    mounts:\n      - {host: ~/}\n", 5, "home"},
		"a mount over /usr":              {head + "    run: x\n    mounts:\n      - {host: /srv/x, at: /usr/x}\n", 5, "system"},
		"a mount of our own":             {head + "    run: x\n    mounts:\n      - {host: ~/.config}\n", 5, "Garita"},
		"a folder of the system":         {head + "    run: x\n    folders: [/etc]\n", 5, "system"},
		"a relative folder":              {head + "    run: x\n    folders: [etc]\n", 5, "absolute"},
		"a size without a unit":          {head + "    run: x\n    limits: {memory: 512}\n", 5, "unit"},
		"a negative count":               {head + "    run: x\n    limits: {pids: -1}\n", 5, "counts"},
		"a shell line":                   {head + "    run: x | y\n", 4, "shell"},
		"a chosen HOME":                  {head + "    run: x\n    env: {HOME: /x}\n", 5, "HOME"},
		"a url in the clear":             {head + "    url: http://example.com/mcp\n", 4, "https"},
		"a url that is a file":           {head + "    url: file:///etc/passwd\n", 4, "address"},
		"another scheme":                 {head + "    url: ftp://example.com/mcp\n", 4, "https"},
		"a password in a url":            {head + "    url: https://a:b@example.com/mcp\n", 4, "password"},
		"a fragment":                     {head + "    url: https://example.com/mcp#x\n", 4, "fragment"},
		"a url and a command":            {head + "    url: https://example.com\n    run: x\n", 3, "exactly one"},
		"walls around elsewhere":         {head + "    url: https://example.com\n    folders: [/srv]\n", 5, "elsewhere"},
		"memory elsewhere":               {head + "    url: https://example.com\n    limits: {memory: 1GiB}\n", 5, "elsewhere"},
		"a url in a sandbox":             {head + "    url: https://example.com\n    placement: dedicated\n", 5, "external"},
		"external without a url":         {head + "    run: x\n    placement: external\n", 5, "url"},
		"headers without a url":          {head + "    run: x\n    headers: {X-A: b}\n", 5, "url"},
		"a credential in a header":       {head + "    url: https://example.com\n    headers: {authorization: Bearer x}\n", 5, "credential"},
		"an API key in a header":         {head + "    url: https://example.com\n    headers: {X-Api-Key: x}\n", 5, "credential"},
		"a header of ours":               {head + "    url: https://example.com\n    headers: {mcp-session-id: x}\n", 5, "set by Garita"},
		"a header that is two":           {head + "    url: https://example.com\n    headers: {X-A: \"b\\r\\nX-B: c\"}\n", 5, "one line"},
		"a header twice":                 {head + "    url: https://example.com\n    headers: {X-A: b, x-a: c}\n", 5, "twice"},
		"a port without a number":        {head + "    run: x\n    listen: /mcp\n", 5, "port"},
		"a port too high":                {head + "    run: x\n    listen: 70000/mcp\n", 5, "port"},
		"a query to listen at":           {head + "    run: x\n    listen: 3000/mcp?x\n", 5, "port"},
		"a revision nobody knows":        {head + "    run: x\n    protocol: 2024-01-01\n", 5, "revision"},
		"a rate without a unit":          {head + "    run: x\n    limits: {calls: \"120\"}\n", 5, "120/min"},
		"no calls at all":                {head + "    run: x\n    limits: {calls: 0/s}\n", 5, "rate"},
		"too many instances":             {head + "    run: x\n    limits: {instances: 33}\n", 5, "instances"},
		"a request that needs no leave":  {head + "    run: x\n    requests: {allow: [roots]}\n", 5, "only sampling"},
		"a request allowed and denied":   {head + "    run: x\n    requests: {allow: [sampling], deny: [sampling]}\n", 5, "both"},
		"an install script by pattern":   {head + "    run: x\n    install: {scripts: [\"*\"]}\n", 5, "not the name of a package"},
		"an install script's version":    {head + "    run: x\n    install: {scripts: [a@1]}\n", 5, "not the name of a package"},
		"an unknown request":             {head + "    run: x\n    requests: {deny: [ping]}\n", 5, "sampling"},
		"requests allowed":               {head + "    run: x\n    requests: {allow: [roots]}\n", 5, "allow"},
		"no time to start":               {head + "    run: x\n    lifecycle: {start: 0s}\n", 5, "start"},
		"two documents":                  {head + "    run: x\n---\na: 1\n", 0, "document"},
		"half a file":                    {head + "    run: \"x\n", 0, ""},
		"not text":                       {"\xff\xfe", 0, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseServers("servers.yaml", []byte(tt.text), testGuard)
			var p *Problem
			if !errors.As(err, &p) {
				t.Fatalf("got %v, want a Problem", err)
			}
			if tt.line != 0 && p.Line != tt.line {
				t.Errorf("line %d, want %d (%v)", p.Line, tt.line, p)
			}
			if !strings.Contains(p.Message, tt.says) {
				t.Errorf("%q does not say %q", p.Message, tt.says)
			}
		})
	}
}

func TestProblemsQuoteNoValues(t *testing.T) {
	text := "version: 1\nservers:\n  a:\n    run: x\n    env: {TOKEN: hunter2}\n    bogus: hunter2\n"
	_, err := ParseServers("servers.yaml", []byte(text), testGuard)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, want an error without the value", err)
	}
}

func TestExpand(t *testing.T) {
	s := sandbox.Server{Name: "a", Source: sandbox.Source{Command: []string{"x", "${workspace}/src"}}, Spec: sandbox.Spec{Folders: []string{"${workspace}"}}}
	got, err := Expand(s, "/home/ana/shop", testGuard)
	if err != nil || got.Source.Command[1] != "/home/ana/shop/src" || got.Spec.Folders[0] != "/home/ana/shop" {
		t.Errorf("got %+v, %v", got, err)
	}
	if s.Spec.Folders[0] != "${workspace}" {
		t.Error("the declaration itself was changed")
	}
	for _, dir := range []string{"", "/home/ana", "/etc", "rel"} {
		if _, err := Expand(s, dir, testGuard); err == nil {
			t.Errorf("workspace %q was taken", dir)
		}
	}
}

func TestDigest(t *testing.T) {
	base := func() sandbox.Server {
		return sandbox.Server{Name: "a", Source: sandbox.Source{Command: []string{"x"}}, Spec: sandbox.Spec{Env: map[string]string{"A": "1", "B": "2"}}}
	}
	digest := func(s sandbox.Server) sandbox.Digest {
		d, err := Digest(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	same := base()
	same.Spec.Workspace, same.Spec.Limits, same.Spec.Folders = sandbox.Snapshot, sandbox.DefaultLimits, []string{}
	same.Spec.Limits.Instances, same.Spec.Lifecycle.Start = sandbox.DefaultInstances, sandbox.DefaultStart
	if digest(base()) != digest(same) {
		t.Error("defaults written out change the digest")
	}
	for name, change := range map[string]func(*sandbox.Server){
		"name":      func(s *sandbox.Server) { s.Name = "b" },
		"command":   func(s *sandbox.Server) { s.Source.Command = []string{"x", ""} },
		"image":     func(s *sandbox.Server) { s.Source = sandbox.Source{Image: "x"} },
		"workspace": func(s *sandbox.Server) { s.Spec.Workspace = sandbox.Direct },
		"folders":   func(s *sandbox.Server) { s.Spec.Folders = []string{"/x"} },
		"mounts":    func(s *sandbox.Server) { s.Spec.Mounts = []sandbox.Mount{{Host: "/x", At: "/x"}} },
		"env":       func(s *sandbox.Server) { s.Spec.Env["A"] = "2" },
		"limits":    func(s *sandbox.Server) { s.Spec.Limits.PIDs = 1 },
		"lifecycle": func(s *sandbox.Server) { s.Spec.Lifecycle.Call = time.Second },
		"tools":     func(s *sandbox.Server) { s.Spec.Tools.Allow = []string{"x"} },
		"url":       func(s *sandbox.Server) { s.Source = sandbox.Source{URL: "https://x"} },
		"headers":   func(s *sandbox.Server) { s.Source.Headers = map[string]string{"X": "y"} },
		"listen":    func(s *sandbox.Server) { s.Source.Listen = sandbox.Listen{Port: 1, Path: "/"} },
		"protocol":  func(s *sandbox.Server) { s.Spec.Protocol = "2025-11-25" },
		"calls":     func(s *sandbox.Server) { s.Spec.Limits.Calls = sandbox.Rate{Count: 1, Per: time.Hour} },
		"instances": func(s *sandbox.Server) { s.Spec.Limits.Instances = 1 },
		"start":     func(s *sandbox.Server) { s.Spec.Lifecycle.Start = time.Second },
		"requests":  func(s *sandbox.Server) { s.Spec.DenyRequests = []sandbox.ServerRequest{sandbox.Roots} },
		"sampling":  func(s *sandbox.Server) { s.Spec.AllowRequests = []sandbox.ServerRequest{sandbox.Sampling} },
	} {
		s := base()
		change(&s)
		if digest(s) == digest(base()) {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

func FuzzParseServers(f *testing.F) {
	f.Add([]byte("version: 1\nservers:\n  a:\n    run: npx -y x\n    mounts: [{host: /srv, at: /x}]\n"))
	f.Add([]byte("servers: {a: {image: x, limits: {memory: 1MiB}}}"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ParseServers("f", data, testGuard)
		if err != nil {
			return
		}
		for _, s := range list {
			if _, err := Digest(s); err != nil && !strings.Contains(err.Error(), "UTF-8") {
				t.Fatal(err)
			}
			for _, m := range s.Spec.Mounts {
				if why := testGuard.Refuse(m.Host); why != "" {
					t.Fatalf("mounted %q although %s", m.Host, why)
				}
			}
		}
	})
}

func TestValuesOfAnotherKindAreToldInAYamlAuthorsWords(t *testing.T) {
	for text, want := range map[string]string{
		"run: {x: y}":         "servers.yaml:4: a mapping stands where text is expected",
		"tools: [a]":          "servers.yaml:4: sequence was used where mapping is expected",
		"limits: {pids: {}}":  "servers.yaml:4: a mapping stands where a number is expected",
		"folders: everything": "servers.yaml:4: string was used where sequence is expected",
	} {
		_, err := ParseServers("servers.yaml", []byte("version: 1\nservers:\n  a:\n    "+text+"\n"), testGuard)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
