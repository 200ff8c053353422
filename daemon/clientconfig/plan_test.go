package clientconfig

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

// plan judges one entry, written as JSON, of a user's settings file.
func plan(t *testing.T, entry string, paths map[string]Kind) Entry {
	t.Helper()
	return planIn(t, "/home/ana/claude.json", entry, paths)
}

func planIn(t *testing.T, file, entry string, paths map[string]Kind) Entry {
	t.Helper()
	p, err := NewPlan([]byte(`{"mcpServers":{"s":`+entry+`}}`), file, "c", Known{}, fakeHost("/home/ana", paths))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Entries) != 1 {
		t.Fatalf("%d entries, want 1", len(p.Entries))
	}
	return p.Entries[0]
}

func TestTheUsualServer(t *testing.T) {
	got := plan(t, `{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/home/ana/shop"]}`, map[string]Kind{"/home/ana/shop": Dir})
	want := Entry{
		Name: "s", Line: 1, Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/ana/shop"},
		Server: sandbox.Server{
			Name:   "s",
			Source: sandbox.Source{Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/ana/shop"}},
			Spec:   sandbox.Spec{Workspace: sandbox.Snapshot, Folders: []string{"/home/ana/shop"}, Network: sandbox.Unsaid()},
		},
		Grants: []string{
			"install and run the npm package @modelcontextprotocol/server-filesystem, its newest version now, then always that one",
			"read and write in a snapshot of /home/ana/shop; your files change only when you apply",
			"no host before you are asked, no secret",
		},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Error(d)
	}
}

func TestFoldersAndFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		file, entry string
		paths       map[string]Kind
		command     []string
		folders     []string
		mounts      []string
	}{
		"a flag that carries a folder": {
			entry: `{"command":"npx","args":["x","--root=/srv/a"]}`, paths: map[string]Kind{"/srv/a": Dir},
			command: []string{"npx", "x", "--root=/srv/a"}, folders: []string{"/srv/a"},
		},
		"a folder in another": {
			entry: `{"command":"npx","args":["x","/srv/a/b","/srv/a","/srv/ab"]}`, paths: map[string]Kind{"/srv/a": Dir, "/srv/a/b": Dir, "/srv/ab": Dir},
			command: []string{"npx", "x", "/srv/a/b", "/srv/a", "/srv/ab"}, folders: []string{"/srv/a", "/srv/ab"},
		},
		"a folder below home": {
			entry: `{"command":"npx","args":["x","~/shop"]}`, paths: map[string]Kind{"/home/ana/shop": Dir},
			command: []string{"npx", "x", "/home/ana/shop"}, folders: []string{"/home/ana/shop"},
		},
		"a file of its own": {
			entry: `{"command":"npx","args":["x","--db","/srv/data.db"]}`, paths: map[string]Kind{"/srv/data.db": File},
			command: []string{"npx", "x", "--db", "/srv/data.db"}, mounts: []string{"/srv/data.db"},
		},
		"a program and its package": {
			entry:   `{"command":"node","args":["/srv/p/dist/index.js","/srv/w"]}`,
			paths:   map[string]Kind{"/srv/p/dist/index.js": File, "/srv/p/package.json": File, "/srv/w": Dir},
			command: []string{"node", "/srv/p/dist/index.js", "/srv/w"}, folders: []string{"/srv/w"}, mounts: []string{"/srv/p"},
		},
		"a program without a package": {
			entry: `{"command":"/home/ana/.nvm/bin/node","args":["/srv/one.js"]}`, paths: map[string]Kind{"/srv/one.js": File},
			command: []string{"node", "/srv/one.js"}, mounts: []string{"/srv/one.js"},
		},
		"a package that is the home itself gives only the file": {
			entry: `{"command":"node","args":["/home/ana/one.js"]}`, paths: map[string]Kind{"/home/ana/one.js": File, "/home/ana/package.json": File},
			command: []string{"node", "/home/ana/one.js"}, mounts: []string{"/home/ana/one.js"},
		},
		"a program inside the workspace": {
			entry: `{"command":"node","args":["/srv/p/index.js","/srv/p"]}`, paths: map[string]Kind{"/srv/p/index.js": File, "/srv/p/package.json": File, "/srv/p": Dir},
			command: []string{"node", "/srv/p/index.js", "/srv/p"}, folders: []string{"/srv/p"},
		},
		"a path that is not there": {
			entry: `{"command":"npx","args":["x","/srv/gone"]}`, command: []string{"npx", "x", "/srv/gone"},
		},
		"what every sandbox sees": {
			entry: `{"command":"npx","args":["x","/usr/share/dict","/dev/null"]}`, paths: map[string]Kind{"/usr/share/dict": Dir, "/dev/null": Special},
			command: []string{"npx", "x", "/usr/share/dict", "/dev/null"},
		},
		"a relative script in a project": {
			file: "/srv/proj/.vscode/mcp.json", entry: `{"command":"node","args":["dist/s.js"]}`, paths: map[string]Kind{"/srv/proj/dist/s.js": File},
			command: []string{"node", "/srv/proj/dist/s.js"}, mounts: []string{"/srv/proj/dist/s.js"},
		},
		"the project's folder": {
			file: "/srv/proj/.cursor/mcp.json", entry: `{"command":"npx","args":["x","${workspaceFolder}"]}`, paths: map[string]Kind{"/srv/proj": Dir},
			command: []string{"npx", "x", "/srv/proj"}, folders: []string{"/srv/proj"},
		},
		"a relative script with a folder to start in": {
			entry: `{"command":"python","args":["server.py"],"cwd":"/srv/p"}`, paths: map[string]Kind{"/srv/p/server.py": File, "/srv/p/requirements.txt": File},
			command: []string{"python3", "/srv/p/server.py"}, mounts: []string{"/srv/p"},
		},
		"a virtual environment": {
			entry:   `{"command":"/srv/p/venv/bin/python","args":["/srv/p/s.py"]}`,
			paths:   map[string]Kind{"/srv/p/venv/pyvenv.cfg": File, "/srv/p/venv/bin/python": File, "/srv/p/s.py": File, "/srv/p/venv": Dir},
			command: nil, // its interpreter is not the system's on this fake host: see below
		},
		"a binary": {
			entry: `{"command":"/srv/bin/tool","args":["mcp"]}`, paths: map[string]Kind{"/srv/bin/tool": File},
			command: []string{"/srv/bin/tool", "mcp"}, mounts: []string{"/srv/bin/tool"},
		},
		"a default of a variable": {
			entry: `{"command":"npx","args":["x","${LEVEL:-debug}"]}`, command: []string{"npx", "x", "debug"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := tt.file
			if file == "" {
				file = "/home/ana/claude.json"
			}
			got := planIn(t, file, tt.entry, tt.paths)
			if d := cmp.Diff(got.Server.Source.Command, tt.command); d != "" {
				t.Errorf("command (skipped: %s): %s", got.Skipped, d)
			}
			if d := cmp.Diff(got.Server.Spec.Folders, tt.folders); d != "" && len(tt.folders)+len(got.Server.Spec.Folders) > 0 {
				t.Error(d)
			}
			var mounts []string
			for _, m := range got.Server.Spec.Mounts {
				if m.Writable {
					t.Errorf("%s is writable", m.Host)
				}
				mounts = append(mounts, m.At)
			}
			if d := cmp.Diff(mounts, tt.mounts); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPythonPackagesAreImported(t *testing.T) {
	for args, uses := range map[string]string{
		`"uvx","args":["py-notes"]`: "install and run the Python package py-notes, its newest version now, then always that one",
		`"/home/ana/.local/bin/uvx","args":["--from","mcp[cli]==1.2","mcp"]`:     "install and run the Python package mcp[cli]==1.2",
		`"uv","args":["run","--with","mcp","--with","httpx","mcp","run","s.py"]`: "install and run the Python package mcp httpx, its newest version now, then always that one",
		`"pipx","args":["run","py-notes==1.0"]`:                                  "install and run the Python package py-notes==1.0",
	} {
		got := plan(t, `{"command":`+args+`}`, nil)
		if got.Skipped != "" || !slices.Contains(got.Grants, uses) || strings.Contains(got.Server.Source.Command[0], "/") {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// What stands after -m, -c or -e is no file to be looked for.
func TestModulesAndCodeAreNoScripts(t *testing.T) {
	for name, entry := range map[string]string{
		"a module": `{"command":"python3","args":["-m","mcp_server_time","--local-timezone","UTC"]}`,
		"code":     `{"command":"/usr/bin/python3","args":["-u","-c","print(1)"]}`,
		"node's":   `{"command":"node","args":["-e","console.log(1)"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			got := plan(t, entry, nil)
			if got.Skipped != "" || len(got.Server.Source.Command) < 3 {
				t.Fatalf("skipped %q: %q", got.Skipped, got.Server.Source.Command)
			}
		})
	}
}

func TestSkipped(t *testing.T) {
	paths := map[string]Kind{
		"/": Dir, "/home/ana": Dir, "/home": Dir, "/etc/passwd": File, "/home/ana/.ssh": Dir, "/home/ana/.config/garita/x": File,
		"/home/ana/.aws/credentials": File, "/srv/docker.sock": Special, "/proc/1/environ": File, "/tmp": Dir, "/srv/x": Dir,
	}
	for name, tt := range map[string]struct{ entry, says string }{
		"the whole home":           {`{"command":"npx","args":["x","/home/ana"]}`, "whole home"},
		"the whole home, short":    {`{"command":"npx","args":["x","~"]}`, "whole home"},
		"the whole home, sideways": {`{"command":"npx","args":["x","/home/ana/x/.."]}`, "whole home"},
		"the root":                 {`{"command":"npx","args":["x","/"]}`, "home directory"},
		"a system file":            {`{"command":"npx","args":["x","/etc/passwd"]}`, "system"},
		"another's memory":         {`{"command":"npx","args":["x","/proc/1/environ"]}`, "system"},
		"keys":                     {`{"command":"npx","args":["x","--dir=/home/ana/.ssh"]}`, "keys"},
		"credentials":              {`{"command":"npx","args":["x","/home/ana/.aws/credentials"]}`, "keys"},
		"our own files":            {`{"command":"npx","args":["x","/home/ana/.config/garita/x"]}`, "Garita"},
		"a socket":                 {`{"command":"npx","args":["x","/srv/docker.sock"]}`, "neither a file nor a folder"},
		"all of /tmp":              {`{"command":"npx","args":["x","/tmp"]}`, "/tmp"},
		"no address":               {`{"type":"http"}`, "no address"},
		"an address in the clear":  {`{"type":"http","url":"http://x.example.com/mcp"}`, "want https"},
		"an address to be made up": {`{"url":"https://${HOST}/mcp"}`, "a part of its address"},
		"an address that is a key": {`{"url":"https://x.example.com/s/sk-0123456789abcdef/mcp"}`, "no place but servers.yaml"},
		"WebSocket":                {`{"type":"ws","url":"wss://x.example.com/mcp"}`, "WebSocket"},
		"a bridge with a client":   {`{"command":"npx","args":["-y","mcp-remote@latest","https://x","--static-oauth-client-info","{}"]}`, "address"},
		"docker":                   {`{"command":"docker","args":["run","-i","x"]}`, "docker"},
		"a Python project":         {`{"command":"/home/ana/.local/bin/uv","args":["run","server.py"]}`, "nothing says to which folder"},
		"Python from git":          {`{"command":"uvx","args":["--from","git+ssh://git@h/x","x"]}`, "repositories"},
		"Python from two indexes":  {`{"command":"uvx","args":["--extra-index-url","https://i/simple","x"]}`, "the wrong one can win"},
		"a Windows line":           {`{"command":"cmd","args":["/c","npx","x"]}`, "Windows"},
		"wsl":                      {`{"command":"wsl.exe","args":["bash"]}`, "WSL"},
		"a shell line":             {`{"command":"/bin/bash","args":["-lc","x && y"]}`, "shell"},
		"a shell without a line":   {`{"command":"sh"}`, "shell"},
		"sudo":                     {`{"command":"sudo","args":["x"]}`, "another user"},
		"a secret argument":        {`{"command":"npx","args":["x","--token","hunter2hunter2"]}`, "command line"},
		"a secret flag":            {`{"command":"npx","args":["x","--api-key=hunter2hunter2"]}`, "command line"},
		"a secret in an address":   {`{"command":"npx","args":["x","postgres://u:hunter2@db/x"]}`, "command line"},
		"a variable":               {`{"command":"npx","args":["x","$DB_URL"]}`, "$DB_URL"},
		"a file of variables":      {`{"command":"npx","args":["x"],"envFile":".env"}`, "envFile"},
		"a file that is not there": {`{"command":"npx","args":["x"],"envFile":"/home/ana/none.env"}`, "which is not there"},
		"another's keys":           {`{"command":"npx","args":["x"],"envFile":"/home/ana/.aws/credentials"}`, "not its own"},
		"switched off":             {`{"command":"npx","args":["x"],"disabled":true}`, "switched off"},
		"not enabled":              {`{"command":"npx","args":["x"],"enabled":false}`, "switched off"},
		"a package from a folder":  {`{"command":"npx","args":["-y","/srv/x"]}`, "registry"},
		"a package from git":       {`{"command":"npx","args":["-y","github:a/b"]}`, "registry"},
		"a package from an owner":  {`{"command":"npx","args":["-y","a/b"]}`, "registry"},
		"a package from a URL":     {`{"command":"npx","args":["-y","https://x/y.tgz"]}`, "registry"},
		"npx runs a line":          {`{"command":"npx","args":["-c","x"]}`, "-c"},
		"npx runs nothing":         {`{"command":"npx","args":["-y"]}`, "no package"},
		"npx has no value":         {`{"command":"npx","args":["-p"]}`, "no package"},
		"no command":               {`{"args":["x"]}`, "no command"},
		"nothing":                  {`{}`, "no command"},
		"no object":                {`7`, "object"},
		"a number as argument":     {`{"command":"npx","args":[1]}`, "strings"},
		"an odd command":           {`{"command":7}`, "command"},
		"an odd type":              {`{"command":"npx","type":"carrier-pigeon"}`, "carrier-pigeon"},
		"a misspelled key":         {`{"httpUrl ":"https://x"}`, `"httpUrl "`},
		"a key twice":              {`{"command":"npx","command":"bash"}`, "twice"},
		"a variable twice":         {`{"command":"npx","args":["x"],"env":{"A":"1","A":"2"}}`, "twice"},
		"a NUL":                    {`{"command":"npx","args":["x","a\u0000b"]}`, "NUL"},
		"a missing program":        {`{"command":"/srv/gone"}`, "no program"},
		"a missing script":         {`{"command":"node","args":["/srv/gone.js"]}`, "no program"},
		"an unknown program":       {`{"command":"frobnicate"}`, "frobnicate"},
		"a relative program":       {`{"command":"./run"}`, "relative"},
		"a relative script":        {`{"command":"node","args":["s.js"]}`, "relative"},
	} {
		t.Run(name, func(t *testing.T) {
			got := plan(t, tt.entry, paths)
			if !strings.Contains(got.Skipped, tt.says) {
				t.Errorf("skipped because %q, want %q; server %+v", got.Skipped, tt.says, got.Server)
			}
			if all := fmt.Sprintf("%+v", got); strings.Contains(all, "hunter2") || strings.Contains(all, "ghp_") {
				t.Errorf("the secret is shown: %s", all)
			}
			if got.Imported() || got.Server.Name != "" {
				t.Error("imported all the same")
			}
		})
	}
}

func TestNotCarriedOver(t *testing.T) {
	got := plan(t, `{"command":"npx","args":["x"],"alwaysAllow":["a","b"],"sandboxEnabled":true,"trust":false,"cwd":"/srv",
		"env":{"NODE_OPTIONS":"--require /tmp/x","LD_PRELOAD":"/x.so","Path":"/evil","https_proxy":"http://x","npm_config_registry":"http://x","LOG":"debug","N":3,"B":true,"Z":null}}`, nil)
	if d := cmp.Diff(got.Server.Spec.Env, map[string]string{"LOG": "debug", "N": "3", "B": "true"}); d != "" {
		t.Error(d)
	}
	all := strings.Join(got.Warnings, "\n")
	for _, say := range []string{"NODE_OPTIONS", "LD_PRELOAD", "Path", "https_proxy", "npm_config_registry", "2 tools without asking", "sandboxEnabled", "/srv"} {
		if !strings.Contains(all, say) {
			t.Errorf("nothing is said of %s in:\n%s", say, all)
		}
	}
	if got := plan(t, `{"command":"npx","args":["x"],"trust":true}`, nil); !strings.Contains(strings.Join(got.Warnings, ""), "every tool") {
		t.Errorf("trust is taken silently: %q", got.Warnings)
	}
	got = plan(t, `{"command":"npx","args":["x"],"tools":["read_*","a"]}`, nil)
	if d := cmp.Diff(got.Server.Spec.Tools.Allow, []string{`read_\*`, "a"}); d != "" {
		t.Error(d)
	}
}

func TestOursIsRecognised(t *testing.T) {
	got := plan(t, `{"command":"/usr/bin/garita","args":["connect","files","--client","claude-desktop"]}`, nil)
	if got.Ours != "files" || got.Imported() {
		t.Errorf("got %+v, want it recognized as ours", got)
	}
	if got := plan(t, `{"command":"/usr/bin/garita","args":["run","--","npx","x"]}`, nil); got.Ours == "" {
		t.Errorf("a gateway in a gateway: %+v", got)
	}
}

func TestDeclaredAlready(t *testing.T) {
	data := []byte(`{"mcpServers":{"s":{"command":"npx","args":["x"]}}}`)
	mine := sandbox.Server{Name: "s", Source: sandbox.Source{Command: []string{"npx", "x"}}, Spec: sandbox.Spec{Limits: sandbox.Limits{PIDs: 9}}}
	p, err := NewPlan(data, "/f", "c", Known{Servers: []sandbox.Server{mine}}, fakeHost("/home/ana", nil))
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Entries[0]; !e.Kept || e.Server.Spec.Limits.PIDs != 9 || len(p.Servers()) != 0 || !e.Imported() {
		t.Errorf("got %+v, want the declaration kept", e)
	}
	mine.Source.Command = []string{"other"}
	p, err = NewPlan(data, "/f", "c", Known{Servers: []sandbox.Server{mine}}, fakeHost("/home/ana", nil))
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Entries[0]; e.Kept || e.Server.Name == "s" || len(p.Servers()) != 1 {
		t.Errorf("got %+v, want another name", e)
	}
}

func TestWholeFileRefused(t *testing.T) {
	for name, tt := range map[string]struct{ data, says string }{
		"two of a name":            {"{\"mcpServers\":{\"a\":{},\n \"a\":{}}}", "line 2, column 2"},
		"two of a name, disguised": {`{"mcpServers":{"a":{},"\u0061":{}}}`, "twice"},
		"two lists":                {`{"mcpServers":{},"mcpServers":{}}`, "twice"},
		"an open brace":            {`{"mcpServers":{`, "ends in the middle"},
		"text after it":            {"{}\nx", "line 2, column 1"},
		"a list of servers":        {`{"mcpServers":[]}`, "not an object"},
		"not an object":            {`[]`, "not a JSON object"},
		"blanks":                   {" \n", "empty"},
		"nothing":                  {"", "empty"},
		"only a mark":              {"\xef\xbb\xbf", "empty"},
		"not text":                 {"{\"a\":\n\"\xff\"}", "line 2, column 2"},
		"half a UTF-16 unit":       {"\xff\xfe{", "UTF-16"},
		"too deep":                 {strings.Repeat("[", 100000), "nested"},
		"a crowd":                  {`{"mcpServers":{"a":1` + crowd(maxServers) + `}}`, "more than"},
		"an odd escape":            {`{"mcpServers":{"a":{"env":{"T":"hunter2\q"}}}}`, "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewPlan([]byte(tt.data), "/f", "c", Known{}, fakeHost("/home/ana", nil))
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error quotes a value: %v", err)
			}
		})
	}
}

func crowd(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%d":1`, i)
	}
	return b.String()
}

func TestTenMegabytes(t *testing.T) {
	data := `{"history":["` + strings.Repeat("x", 10<<20) + `"],"mcpServers":{"a":{"command":"npx","args":["x"]}}}`
	p, err := NewPlan([]byte(data), "/f", "c", Known{}, fakeHost("/home/ana", nil))
	if err != nil || len(p.Servers()) != 1 {
		t.Errorf("got %d servers, %v", len(p.Servers()), err)
	}
}

func TestServerNames(t *testing.T) {
	names := []string{"My Server", "my-server", "MY_SERVER", "文档搜索", "🚀", "a/b", "../x", "con", strings.Repeat("x", 120), "", "__proto__", "Files", "files", "a b", "a-b", "awslabs.cdk-mcp-server"}
	got := serverNames(names)
	seen := map[string]bool{}
	for _, n := range names {
		s := string(got[n])
		if _, err := sandbox.ParseServerName(s); err != nil {
			t.Errorf("%q becomes %q: %v", n, s, err)
		}
		if seen[strings.ToLower(s)] {
			t.Errorf("%q becomes %q, which is taken", n, s)
		}
		seen[strings.ToLower(s)] = true
	}
	for n, want := range map[string]string{"my-server": "my-server", "con": "con", "a-b": "a-b", "Files": "Files", "awslabs.cdk-mcp-server": "awslabs.cdk-mcp-server", "__proto__": "proto"} {
		if string(got[n]) != want {
			t.Errorf("%q becomes %q, want %q", n, got[n], want)
		}
	}
	reversed := make([]string, len(names))
	for i, n := range names {
		reversed[len(names)-1-i] = n
	}
	if d := cmp.Diff(serverNames(reversed), got); d != "" {
		t.Errorf("names depend on the order: %s", d)
	}
}

func TestSecretNames(t *testing.T) {
	for _, yes := range []string{"GITHUB_TOKEN", "apiKey", "API_KEY", "OPENAI_API_KEY", "--access-token", "password", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "client-secret", "AUTH_HEADER", "X_API_KEY"} {
		if !secretName(yes) {
			t.Errorf("%s is no secret?", yes)
		}
	}
	for _, no := range []string{"KEYBOARD", "AUTHOR", "TOKENIZER", "MONKEY", "PATHNAME", "LOG_LEVEL", "KEY_PREFIX", "--root", "PATTERN", "COMPASS"} {
		if secretName(no) {
			t.Errorf("%s is a secret?", no)
		}
	}
	for _, no := range []string{"https://tickets.example.test", "/home/ana/shop", "@scope/package@1.2.3", "host-a.example,host-b.example", "debug", "2026-11-29", "--enable-web-dashboard", "skip-authentication"} {
		if secretValue(no) {
			t.Errorf("%s looks like a secret?", no)
		}
	}
}
