package clientconfig

import (
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
)

func TestRewireKeepsTheLayout(t *testing.T) {
	const one = `{"command": "/opt/garita", "args": ["connect", "s", "--client", "c"]}`
	for name, tt := range map[string]struct{ before, after string }{
		"in one line":      {`{"mcpServers":{"s":{"command":"x"}}}`, `{"mcpServers":{"s":` + one + `}}`},
		"spaced":           {`{"mcpServers": {"s" : { "command":"x" } } }`, `{"mcpServers": {"s" : { "command": "/opt/garita", "args": ["connect", "s", "--client", "c"] } } }`},
		"two blanks":       {"{\n  \"mcpServers\": {\n    \"s\": {\n      \"command\": \"x\",\n      \"env\": {\"T\": \"secret\"}\n    }\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"s\": {\n      \"command\": \"/opt/garita\",\n      \"args\": [\"connect\", \"s\", \"--client\", \"c\"]\n    }\n  }\n}\n"},
		"tabs":             {"{\n\t\"mcpServers\": {\n\t\t\"s\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t}\n}", "{\n\t\"mcpServers\": {\n\t\t\"s\": {\n\t\t\t\"command\": \"/opt/garita\",\n\t\t\t\"args\": [\"connect\", \"s\", \"--client\", \"c\"]\n\t\t}\n\t}\n}"},
		"carriage returns": {"{\r\n  \"mcpServers\": {\r\n    \"s\": {\r\n      \"command\": \"x\"\r\n    }\r\n  }\r\n}\r\n", "{\r\n  \"mcpServers\": {\r\n    \"s\": {\r\n      \"command\": \"/opt/garita\",\r\n      \"args\": [\"connect\", \"s\", \"--client\", \"c\"]\r\n    }\r\n  }\r\n}\r\n"},
		"comments around":  {"// top\n{\"servers\": {/* a */ \"s\" /* b */ : /* c */ {\"command\":\"x\"} /* d */ , }} // end", "// top\n{\"servers\": {/* a */ \"s\" /* b */ : /* c */ " + one + " /* d */ , }} // end"},
		"a mark in front":  {"\xef\xbb\xbf{\"mcpServers\":{\"s\":{}}}", "\xef\xbb\xbf{\"mcpServers\":{\"s\":" + one + "}}"},
		"another server":   {`{"mcpServers":{"a":{"command":"s"},"s":7,"b":"s"}}`, `{"mcpServers":{"a":{"command":"s"},"s":` + one + `,"b":"s"}}`},
		"elsewhere too":    {`{"x":{"mcpServers":{"s":1}},"mcpServers":{"s":2}}`, `{"x":{"mcpServers":{"s":1}},"mcpServers":{"s":` + one + `}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Rewire([]byte(tt.before), "s", "/opt/garita", connectArgs("s", "c"))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(got), tt.after); d != "" {
				t.Error(d)
			}
			back, done, left, err := putBack(got, []byte(tt.before), "c", []rewired{{"s", "s"}})
			if err != nil || done != 1 || len(left) > 0 || string(back) != tt.before {
				t.Errorf("put back: %q, %d, %v, %v", back, done, left, err)
			}
		})
	}
}

func TestRewireQuotes(t *testing.T) {
	got, err := Rewire([]byte(`{"mcpServers":{"s":{}}}`), "s", `/opt/my "box"/garita`, nil)
	if err != nil || string(got) != `{"mcpServers":{"s":{"command": "/opt/my \"box\"/garita", "args": []}}}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := Rewire([]byte(`{"mcpServers":{"s":{}}}`), "s", "/\xff/garita", nil); !errdefs.IsInvalidArgument(err) {
		t.Errorf("a path that is no text: %v", err)
	}
	if _, err := Rewire([]byte(`{"mcpServers":{"s":{}}}`), "t", "/garita", nil); !errdefs.IsNotFound(err) {
		t.Errorf("an entry that is not there: %v, want NotFound", err)
	}
}

func FuzzPlan(f *testing.F) {
	for _, file := range corpus(f) {
		f.Add(sample(f, file[len("testdata/"):]))
	}
	f.Add([]byte(`{"mcpServers":{"s":{"command":["npx","-p"],"args":["~","=/","../x","--a=~/b"],"cwd":"/srv"}}}`))
	host := fakeHost("/home/ana", map[string]Kind{"/srv/x/package.json": File, "/home/ana/b": Dir, "/srv/x/s.js": File, "/": Dir})
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := NewPlan(data, "/srv/.vscode/mcp.json", "c", Known{}, host)
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, e := range p.Entries {
			if !e.Imported() {
				continue
			}
			if names[string(e.Server.Name)] {
				t.Fatalf("two servers are called %s", e.Server.Name)
			}
			names[string(e.Server.Name)] = true
			for _, dir := range e.Server.Spec.Folders {
				if why := host.Guard.Refuse(dir); why != "" {
					t.Fatalf("gives %q although %s", dir, why)
				}
			}
			for _, m := range e.Server.Spec.Mounts {
				if why := host.Guard.Refuse(m.Host); why != "" || m.Writable {
					t.Fatalf("gives %+v although %s", m, why)
				}
			}
		}
	})
}

func FuzzRewire(f *testing.F) {
	for _, file := range corpus(f) {
		f.Add(sample(f, file[len("testdata/"):]), "s")
	}
	f.Add([]byte("{\"mcpServers\":{\"s\":{\r\n\"a\":1//x\n}}}"), "s")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		d, err := parse(data)
		if err != nil || d.entry(name) == nil {
			return
		}
		out, err := Rewire(data, name, "/usr/bin/garita", connectArgs("x", "c"))
		if err != nil {
			t.Fatal(err)
		}
		changedOnly(t, data, out, name)
		back, done, _, err := putBack(out, data, "c", []rewired{{name, "x"}})
		if err != nil || done != 1 || string(back) != string(data) {
			t.Fatalf("put back: %q, %d, %v; want %q", back, done, err, data)
		}
	})
}
