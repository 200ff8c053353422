package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

var start = time.Unix(1_800_000_000, 0).UTC()

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func end(host string) sandbox.Endpoint {
	e, err := sandbox.ParseEndpoint(host)
	if err != nil {
		panic(err)
	}
	return e
}

// lines are a proposal's as text, one each.
func lines(p Proposal) string {
	var b strings.Builder
	for _, l := range p.Lines {
		fmt.Fprintf(&b, "%s %s %s: %s\n", l.Part, l.Verb, l.What, l.Why)
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

func host(name string, denied bool) Event {
	return Event{Kind: Host, What: name, Denied: denied, At: at(1)}
}

func call(tool string, denied bool) Event {
	return Event{Kind: Tool, What: tool, In: tool, Denied: denied, At: at(1)}
}

func TestPropose(t *testing.T) {
	files := sandbox.Spec{Folders: []string{"/home/ana/shop"}}
	look := func(path string) Place {
		switch {
		case strings.HasPrefix(path, "/home/ana/.ssh"):
			return Place{Exists: true, Real: path, Credential: true}
		case path == "/home/ana":
			return Place{Exists: true, Real: path, Refused: "it is the whole home directory"}
		case strings.HasPrefix(path, "/home/ana/"), strings.HasPrefix(path, "/data"):
			return Place{Exists: true, Real: strings.ReplaceAll(path, "/link", "/real")}
		}
		return Place{}
	}
	var manyReached []Event
	var manyEndpoints []sandbox.Endpoint
	for i := range manyHosts + 1 {
		name := fmt.Sprintf("h%02d.example.com:443", i)
		manyReached, manyEndpoints = append(manyReached, host(name, false)), append(manyEndpoints, end(name))
	}
	for name, c := range map[string]struct {
		spec   sandbox.Spec
		events []Event
		facts  Facts
		want   sandbox.Spec
		lines  string
	}{
		"nothing was done": {
			spec:  sandbox.Spec{Folders: files.Folders, Network: sandbox.Allowlist{Endpoints: []sandbox.Endpoint{end("a.example.com")}, Ask: true}},
			want:  sandbox.Spec{Folders: files.Folders, Network: sandbox.Unsaid()},
			lines: "network remove a.example.com:443: it was never reached\nnote: No tool was called, so nothing is said about which are needed.\n",
		},
		"hosts that were approved are listed, and others go": {
			spec:   sandbox.Spec{Network: sandbox.Allowlist{Endpoints: []sandbox.Endpoint{end("a.example.com"), end("b.example.com")}}},
			events: []Event{host("b.example.com:443", false), host("c.example.com:8443", false), host("b.example.com:443", false)},
			want:   sandbox.Spec{Network: sandbox.Allowlist{Endpoints: []sandbox.Endpoint{end("b.example.com"), end("c.example.com:8443")}}},
			lines: "network keep b.example.com:443: reached twice, while no call was under way\n" +
				"network add c.example.com:8443: reached once, while no call was under way\n" +
				"network remove a.example.com:443: it was never reached\nnote: No tool was called, so nothing is said about which are needed.\n",
		},
		"with no list at all, what else is wanted is asked about": {
			events: []Event{host("a.example.com:443", false)},
			want:   sandbox.Spec{Network: sandbox.Allowlist{Endpoints: []sandbox.Endpoint{end("a.example.com")}, Ask: true}},
		},
		"what was denied is not proposed, though it was let pass once": {
			spec:   sandbox.Spec{Network: sandbox.Allowlist{Endpoints: []sandbox.Endpoint{end("a.example.com")}}},
			events: []Event{host("a.example.com:443", false), host("a.example.com:443", true), call("send", true)},
			want:   sandbox.Spec{Network: sandbox.Allowlist{Walled: true}},
			lines: "network refuse a.example.com:443: you denied it\nnetwork remove a.example.com:443: it was never reached\n" +
				"tools tell send: you denied it, and it stays allowed: no other tool is known that could be named instead\n",
		},
		"tools of which only denied ones were called": {
			spec:   sandbox.Spec{Tools: sandbox.ToolFilter{Allow: []string{"get_*", "send"}}},
			events: []Event{call("send", true)},
			facts:  Facts{Tools: []string{"get_a", "send", "get_\u202e", "other"}},
			want:   sandbox.Spec{Tools: sandbox.ToolFilter{Allow: []string{"get_a"}}},
			lines: "tools add 1 other tool: all that it lists but for those that are refused\ntools refuse send: you denied it\n" +
				"tools remove get_*: the tools that are left are named instead\ntools remove send: the tools that are left are named instead\n",
		},
		"the public web, of which a host was denied": {
			spec:   sandbox.Spec{Network: sandbox.Allowlist{PublicWeb: true, UploadLimit: 5}},
			events: append(slices.Clone(manyReached), host("evil.example.com:443", true)),
			want:   sandbox.Spec{Network: sandbox.Allowlist{Endpoints: manyEndpoints, UploadLimit: 5}},
		},
		"the public web, of which another port was denied": {
			spec:   sandbox.Spec{Network: sandbox.Allowlist{PublicWeb: true}},
			events: append(slices.Clone(manyReached), host("evil.example.com:22", true)),
			want:   sandbox.Spec{Network: sandbox.Allowlist{PublicWeb: true}},
		},
		"a secret's host that was denied": {
			spec: sandbox.Spec{Secrets: []sandbox.SecretGrant{
				{Secret: "a", Mode: sandbox.SecretPlaceholder, Hosts: []sandbox.Endpoint{end("api.example.com"), end("evil.example.com")}},
				{Secret: "b", Mode: sandbox.SecretPlaceholder, Hosts: []sandbox.Endpoint{end("only.example.com")}},
			}},
			events: []Event{
				{Kind: Secret, What: "a", At: at(1)}, {Kind: Secret, What: "b", At: at(1)}, host("evil.example.com:443", true), host("only.example.com:443", true),
			},
			want: sandbox.Spec{Secrets: []sandbox.SecretGrant{
				{Secret: "a", Mode: sandbox.SecretPlaceholder, Hosts: []sandbox.Endpoint{end("api.example.com")}},
				{Secret: "b", Mode: sandbox.SecretPlaceholder, Hosts: []sandbox.Endpoint{end("only.example.com")}},
			}},
			lines: "secrets keep a: used once, while no call was under way\nsecrets keep b: used once, while no call was under way\n" +
				"network refuse evil.example.com:443: you denied it\n" +
				"network tell only.example.com:443: you denied it, and it stays reachable: the secret b may be sent there\n" +
				"note: No tool was called, so nothing is said about which are needed.\n",
		},
		"a wildcard becomes the hosts of it": {
			spec:   sandbox.Spec{Network: sandbox.Allowlist{Endpoints: []sandbox.Endpoint{end("*.example.com")}, Ask: true}},
			events: []Event{host("x.example.com:443", false)},
			want:   sandbox.Spec{Network: sandbox.Allowlist{Endpoints: []sandbox.Endpoint{end("x.example.com")}, Ask: true}},
			lines: "network add x.example.com:443: reached once, while no call was under way\n" +
				"network remove *.example.com:443: the hosts of it that were reached are named instead\nnote: No tool was called, so nothing is said about which are needed.\n",
		},
		"private networks and this machine stay what they are": {
			spec: sandbox.Spec{Network: sandbox.Allowlist{
				LAN: []sandbox.Endpoint{end("nas.home.arpa"), end("printer.home.arpa")}, HostPorts: []uint16{5432, 6379}, Localhost: true,
			}},
			events: []Event{host("nas.home.arpa:443", false), host("host.garita.internal:5432", false)},
			want:   sandbox.Spec{Network: sandbox.Allowlist{LAN: []sandbox.Endpoint{end("nas.home.arpa")}, HostPorts: []uint16{5432}, Localhost: true}},
		},
		"a few hosts of the public web": {
			spec:   sandbox.Spec{Network: sandbox.Allowlist{PublicWeb: true}},
			events: []Event{host("a.example.com:443", false)},
			want:   sandbox.Spec{Network: sandbox.Allowlist{Endpoints: []sandbox.Endpoint{end("a.example.com")}}},
		},
		"tools that were called": {
			spec:   sandbox.Spec{Tools: sandbox.ToolFilter{Allow: []string{"*"}}},
			events: []Event{call("read_file", false), call("li[st", false), call("read_file", false), call("wipe\u202eelif", false)},
			want:   sandbox.Spec{Tools: sandbox.ToolFilter{Allow: []string{`li\[st`, "read_file"}}},
			lines: "tools keep read_file: called twice\ntools keep li[st: called once\n" +
				`tools refuse wipe\u202eelif: its name holds what cannot be seen` + "\ntools remove *: the tools that were called are named instead\n",
		},
		"nothing was written": {
			spec:   files,
			events: []Event{call("read_file", false)},
			want:   sandbox.Spec{Folders: files.Folders, Workspace: sandbox.ReadOnly, Tools: sandbox.ToolFilter{Allow: []string{"read_file"}}},
			lines: "tools keep read_file: called once\nworkspace remove snapshot: nothing was written\n" +
				"workspace add read-only: nothing was written\n",
		},
		"something was written": {
			spec:   files,
			events: []Event{call("write_file", false), {Kind: Change, What: "/home/ana/shop/a.txt", In: "write_file", At: at(1)}},
			want:   sandbox.Spec{Folders: files.Folders, Tools: sandbox.ToolFilter{Allow: []string{"write_file"}}},
			lines:  "tools keep write_file: called once\nworkspace keep snapshot: 1 file was changed, such as /home/ana/shop/a.txt\n",
		},
		"what is written directly is not seen": {
			spec:   sandbox.Spec{Folders: files.Folders, Workspace: sandbox.Direct},
			events: []Event{call("read_file", false)},
			want:   sandbox.Spec{Folders: files.Folders, Workspace: sandbox.Direct, Tools: sandbox.ToolFilter{Allow: []string{"read_file"}}},
		},
		"secrets that were not used go, but for what the server holds": {
			spec: sandbox.Spec{Secrets: []sandbox.SecretGrant{
				{Secret: "a", Mode: sandbox.SecretPlaceholder}, {Secret: "b", Mode: sandbox.SecretPlaceholder}, {Secret: "c", Mode: sandbox.SecretEnv},
			}},
			events: []Event{{Kind: Secret, What: "a", At: at(1)}, {Kind: Secret, What: "b", Denied: true, At: at(1)}},
			want: sandbox.Spec{Secrets: []sandbox.SecretGrant{
				{Secret: "a", Mode: sandbox.SecretPlaceholder}, {Secret: "c", Mode: sandbox.SecretEnv},
			}},
			lines: "secrets keep a: used once, while no call was under way\nsecrets remove b: it was never used\n" +
				"secrets keep c: the server holds the value itself, so nobody sees whether it uses it\nnote: No tool was called, so nothing is said about which are needed.\n",
		},
		"the host of a secret needs no rule of its own": {
			spec:   sandbox.Spec{Secrets: []sandbox.SecretGrant{{Secret: "a", Mode: sandbox.SecretPlaceholder, Hosts: []sandbox.Endpoint{end("api.example.com")}}}},
			events: []Event{{Kind: Secret, What: "a", At: at(1)}, host("api.example.com:443", false)},
			want:   sandbox.Spec{Secrets: []sandbox.SecretGrant{{Secret: "a", Mode: sandbox.SecretPlaceholder, Hosts: []sandbox.Endpoint{end("api.example.com")}}}},
			lines: "secrets keep a: used once, while no call was under way\nnetwork keep api.example.com:443: reached once, while no call was under way; by the secret a\n" +
				"note: No tool was called, so nothing is said about which are needed.\n",
		},
		"paths are suggested, never given": {
			events: []Event{
				{Kind: Path, What: "/data/link/in.csv", At: at(1)},
				{Kind: Path, What: "/data/link", At: at(1)},
				{Kind: Path, What: "/home/user/.config/tool.toml", Write: true, At: at(1)},
				{Kind: Path, What: "/home/ana/.ssh/id_ed25519", At: at(1)},
				{Kind: Path, What: "/home/ana", At: at(1)},
				{Kind: Path, What: "/nowhere", At: at(1)},
				{Kind: Path, What: "/data/\x1b]0;x\a", At: at(1)},
			},
			facts: Facts{Look: look, Home: "/home/ana"},
			lines: "mounts refuse /home/ana/.ssh/id_ed25519: looked for once, while no call was under way; keys and passwords are kept there\n" +
				"mounts refuse /home/ana: looked for once, while no call was under way; it is the whole home directory\n" +
				"mounts refuse /data/\\x1b]0;x\\a: its name holds what cannot be seen\n" +
				"mounts suggest /data/real/in.csv at /data/link/in.csv, read-only: looked for once, while no call was under way\n" +
				"mounts suggest /home/ana/.config/tool.toml at /home/user/.config/tool.toml, read-only: looked for once, while no call was under way; it wanted to write there, and would read only\n" +
				"note: No tool was called, so nothing is said about which are needed.\n",
		},
		"a path that the person picks": {
			events: []Event{{Kind: Path, What: "/data/in", At: at(1)}, {Kind: Path, What: "/data/out", At: at(1)}},
			facts:  Facts{Look: look, Mounts: []string{"/data/in", "/data/never-seen", "/home/ana/.ssh"}},
			want:   sandbox.Spec{Mounts: []sandbox.Mount{{Host: "/data/in", At: "/data/in"}}},
		},
		"commands change nothing, where no tool was called": {
			events: []Event{
				{Kind: Command, What: "/usr/bin/git", Exec: sandbox.Execution{Argv: []string{"git", "status"}}, At: at(1), Count: 2, In: "status"},
				{Kind: Command, What: "/usr/bin/git", Exec: sandbox.Execution{Argv: []string{"git", "log"}}, At: at(1)},
			},
			lines: "commands tell /usr/bin/git: run 3 times, in status and between calls\nnote: No tool was called, so nothing is said about which are needed.\n",
		},
		"what could not be seen is said": {
			facts: Facts{Blind: "This machine's runc is too old.", Lost: 3},
			lines: "note: Which commands it ran and which files it wanted could not be seen. This machine's runc is too old.\n" +
				"note: It did more than could be kept: 3 things are not told of here.\nnote: No tool was called, so nothing is said about which are needed.\n",
		},
		"a server we know": {
			events: []Event{call("read_file", false), call("write_file", false), call("new_tool", false)},
			facts:  Facts{Profile: map[string]string{"read_file": "read", "write_file": "write", "list": "read", "move": "write"}},
			want:   sandbox.Spec{Tools: sandbox.ToolFilter{Allow: []string{"new_tool", "read_file", "write_file"}}},
			lines: "tools keep read_file: called once\ntools keep write_file: called once\ntools keep new_tool: called once\n" +
				"note: Garita ships a profile of this server. Of the tools that were called, known to read only: read_file; known to do more: write_file (write); not in it: new_tool. Of the profile's 4 tools, 2 were not called.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log Log
			for _, e := range c.events {
				log.Note(e)
			}
			got := Propose(sandbox.Server{Name: "web", Spec: c.spec}, log.Things(), c.facts)
			if diff := cmp.Diff(got.Server.Spec, c.want); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(lines(got), c.lines); c.lines != "" && diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is done is told of the calls that were under way.
func TestWhatIsDoneBelongsToCalls(t *testing.T) {
	var log Log
	log.Begin("c1", "search", at(10))
	log.Begin("c2", "fetch", at(12))
	log.End("c1", at(14))
	log.End("c2", at(16))
	for _, second := range []int{5, 11, 13, 15, 20} {
		log.Note(Event{Kind: Host, What: "a.example.com:443", At: at(second)})
	}
	log.Note(Event{Kind: Host, What: "b.example.com:443", At: at(15)})
	got := log.Things()
	if diff := cmp.Diff(got[0].In, []string{"search", "fetch"}); diff != "" || !got[0].Alone || got[0].Count != 5 {
		t.Errorf("got %+v", got[0])
	}
	if diff := cmp.Diff(got[1].In, []string{"fetch"}); diff != "" || got[1].Alone {
		t.Errorf("got %+v", got[1])
	}
}

// A hostile server's words are bounded and show what they are.
func TestHostileWords(t *testing.T) {
	var log Log
	for _, what := range []string{"\x1b[2J\x1b]0;owned\a", "a\u202egpj.exe", strings.Repeat("A", 5000), "\xff\xfe", "<img src=x onerror=alert(1)>", "a\nb: c"} {
		for _, kind := range []Kind{Tool, Host, Command, Path, Change, Mount} {
			log.Note(Event{Kind: kind, What: what, Exec: sandbox.Execution{Path: what, Real: what, Argv: []string{what, what, what}}, At: at(1)})
		}
	}
	for n := range 5000 {
		log.Begin(approvals.CallID(fmt.Sprint("c", n)), "t", at(n))
		log.Note(Event{Kind: Path, What: fmt.Sprintf("/data/%d", n), At: at(n)})
	}
	if len(log.things) > maxThings || log.Lost == 0 || len(log.spans) > maxSpans {
		t.Errorf("%d things, %d lost, %d calls", len(log.things), log.Lost, len(log.spans))
	}
	p := Propose(sandbox.Server{Name: "evil"}, log.Things(), Facts{Look: func(string) Place { return Place{Exists: true, Real: "/data/x\u202ey"} }})
	for _, l := range p.Lines {
		for _, text := range []string{l.What, l.Why, l.Mount} {
			if !plain(text) && len(text) < 400 || len(text) > 1000 {
				t.Errorf("%s: %q", l.Part, text)
			}
		}
		if l.Verb == Suggest {
			t.Errorf("%q is suggested", l.What)
		}
	}
	if len(p.Server.Spec.Network.Endpoints) > 0 {
		t.Errorf("%v is proposed", p.Server.Spec.Network.Endpoints)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202eb\x1b[0m\xff")
	f.Fuzz(func(t *testing.T, s string) {
		if got := Visible(s); !plain(got) && len(got) <= maxText {
			t.Errorf("%q shows as %q", s, got)
		}
	})
}
