package classify_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/classify"
	"github.com/garita-dev/garita/sandbox"
)

// shipped are the profiles that Garita carries along.
func shipped(t testing.TB) classify.Profiles {
	t.Helper()
	p, err := classify.LoadProfiles(os.DirFS("../../assets/profiles"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestShippedProfilesAreSound(t *testing.T) {
	if n := len(shipped(t).Names()); n < 30 {
		t.Errorf("%d profiles", n)
	}
}

func TestOf(t *testing.T) {
	profiles := shipped(t)
	for _, tc := range []struct {
		name string
		src  sandbox.Source
		pkg  *sandbox.Package
		want string
	}{
		{"a package by npx", sandbox.Source{Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "/w"}}, nil, "filesystem"},
		{"the package that is installed", sandbox.Source{Command: []string{"npx", "-y", "other"}}, &sandbox.Package{Ecosystem: "npm", Name: "mongodb-mcp-server"}, "mongodb"},
		{"an image", sandbox.Source{Image: "ghcr.io/github/github-mcp-server:v2.1.0"}, nil, "github"},
		{"an image by digest", sandbox.Source{Image: "docker.io/mcp/fetch@sha256:ab"}, nil, "fetch"},
		{"a URL", sandbox.Source{URL: "https://api.githubcopilot.com/mcp/"}, nil, "github"},
		{"a module", sandbox.Source{Command: []string{"go", "run", "github.com/github/github-mcp-server/cmd/github-mcp-server@v2.1.0", "stdio"}}, nil, "github"},
		{"a package by uvx", sandbox.Source{Command: []string{"uvx", "mcp-server-fetch@1.0"}}, nil, "fetch"},
		{"a package by uvx --from", sandbox.Source{Command: []string{"/usr/bin/uvx", "--from", "mcp-server-git==1.2", "mcp-server-git"}}, nil, "git"},
		{"uvx with an index of its own", sandbox.Source{Command: []string{"uvx", "--index", "https://evil.example", "mcp-server-git"}}, nil, ""},
		{"a name that only looks alike", sandbox.Source{Command: []string{"npx", "-y", "server-filesystem"}}, nil, ""},
		{"another host", sandbox.Source{URL: "https://evil.example/https://api.githubcopilot.com/mcp"}, nil, ""},
		{"another registry", sandbox.Source{Image: "evil.example/mcp/fetch"}, nil, ""},
		{"a program", sandbox.Source{Command: []string{"/opt/filesystem"}}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			if p := profiles.Of(tc.src, tc.pkg); p != nil {
				got = p.Name
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	profiles := shipped(t)
	for _, name := range []string{"github", "@modelcontextprotocol/server-github", "npm:@modelcontextprotocol/server-github", "@modelcontextprotocol/server-github@1.2.3", "ghcr.io/github/github-mcp-server:latest", "https://api.githubcopilot.com/mcp/"} {
		if p := profiles.Named(name); p == nil || p.Name != "github" {
			t.Errorf("%s is not github", name)
		}
	}
	for _, name := range []string{"", "nobody", "@"} {
		if p := profiles.Named(name); p != nil {
			t.Errorf("%q is %s", name, p.Name)
		}
	}
}

func TestAProfileHoldsForTheToolItKnowsOnly(t *testing.T) {
	p := shipped(t).Named("memory")
	for _, tc := range []struct {
		name string
		def  classify.Definition
		want approvals.Class
	}{
		{"as it is known", classify.Definition{Name: "open_nodes", InputSchema: schema(`"names":{"type":"array"}`)}, approvals.Read},
		{"with an argument more", classify.Definition{Name: "open_nodes", InputSchema: schema(`"names":{"type":"array"},"command":{"type":"string"}`)}, approvals.Execute},
		{"said to be destructive", classify.Definition{Name: "open_nodes", Annotations: []byte(`{"destructiveHint":true}`)}, approvals.Destroy},
		{"a tool nobody knows", classify.Definition{Name: "open_gates"}, approvals.Write},
		{"another spelling", classify.Definition{Name: "Open_Nodes"}, approvals.Write},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := p.Prepare(tc.def); got.Class != tc.want {
				t.Errorf("got %s (%s), want %s", got.Class, got.Why, tc.want)
			}
		})
	}
}

func TestArgumentsDecideByProfile(t *testing.T) {
	profiles := shipped(t)
	for _, tc := range []struct {
		server, tool, args string
		want               approvals.Class
		sensitive          bool
		sentence           string
	}{
		{"filesystem", "edit_file", `{"path":"a.go","edits":[{}],"dryRun":true}`, approvals.Read, false, "try an edit of a.go without changing it"},
		{"filesystem", "edit_file", `{"path":"a.go","edits":[{},{}]}`, approvals.Write, false, "change a.go (2 edits)"},
		{"filesystem", "edit_file", `{"path":"a.go","edits":[{}],"dryRun":"true"}`, approvals.Write, false, "change a.go (1 edits)"},
		{"filesystem", "write_file", `{"path":"a.go","content":"hello"}`, approvals.Destroy, false, "replace a.go (5 B)"},
		{"filesystem", "read_text_file", `{"path":"/home/me/shop/.env"}`, approvals.Read, true, "read /home/me/shop/.env"},
		{"filesystem", "read_multiple_files", `{"paths":["a","/home/me/.ssh/id_rsa"]}`, approvals.Read, true, "read a and 1 more"},
		{"filesystem", "read_text_file", `{"path":"a.go","command":"ls"}`, approvals.Write, false, "read a.go"},
		{"git-cyanheads", "git_branch", `{"path":"."}`, approvals.Read, false, "list branches"},
		{"git-cyanheads", "git_branch", `{"mode":"create","branchName":"x"}`, approvals.Write, false, "create branch x"},
		{"git-cyanheads", "git_branch", `{"mode":"delete","branchName":"x"}`, approvals.Destroy, false, "delete branch x"},
		{"git-cyanheads", "git_branch", `{"mode":"LIST"}`, approvals.Destroy, false, "run git branch"},
		{"git-cyanheads", "git_push", `{"remote":"origin","branch":"main"}`, approvals.Destroy, false, "push main to origin"},
		{"git-cyanheads", "git_push", `{"remote":"origin","branch":"main","dryRun":true}`, approvals.Read, false, "try a push without sending anything"},
		{"git-cyanheads", "git_push", `{"remote":"origin","branch":"main","force":true}`, approvals.Destroy, false, "push main to origin, overwriting what is there"},
		{"chrome-devtools", "take_screenshot", `{"pageId":1}`, approvals.Read, false, "take a screenshot"},
		{"chrome-devtools", "take_screenshot", `{"pageId":1,"filePath":"a.png"}`, approvals.Write, false, "save a screenshot to a.png"},
		{"chrome-devtools", "navigate_page", `{"pageId":1,"url":"https://a.example"}`, approvals.Write, false, "go to https://a.example"},
		{"chrome-devtools", "navigate_page", `{"pageId":1,"url":"https://a.example","initScript":"x()"}`, approvals.Execute, false, "go to https://a.example with a script of its own"},
		{"mongodb", "aggregate", `{"database":"d","collection":"c","pipeline":[{"$match":{}}]}`, approvals.Read, false, "aggregate documents of d.c"},
		{"mongodb", "aggregate", `{"database":"d","collection":"c","pipeline":[{"$out":"x"}]}`, approvals.Destroy, false, "aggregate documents of d.c"},
		{"mongodb", "find", `{"database":"d","collection":"c","filter":{"$where":"sleep(1)"}}`, approvals.Execute, false, "find documents of d.c"},
		{"mongodb", "delete-many", `{"database":"d","collection":"c","filter":{}}`, approvals.Destroy, false, "delete every document of d.c"},
		{"dbhub", "execute_sql", `{"sql":"SELECT 1"}`, approvals.Read, false, "run SELECT 1"},
		{"dbhub", "execute_sql", `{"sql":"DELETE FROM orders"}`, approvals.Destroy, false, "delete every row from orders"},
		{"dbhub", "execute_sql", `{}`, approvals.Execute, false, "execute sql"},
		{"postgres", "query", `{"sql":"COPY t TO PROGRAM 'id'"}`, approvals.Execute, false, "run COPY t TO PROGRAM 'id'"},
		{"postgres", "query", `{"sql":"SELECT * FROM pg_shadow"}`, approvals.Read, true, "run SELECT * FROM pg_shadow"},
		{"kubernetes", "resources_get", `{"apiVersion":"v1","kind":"Secret","name":"db"}`, approvals.Read, true, "read Secret db"},
		{"kubernetes", "resources_get", `{"apiVersion":"v1","kind":"Pod","name":"web"}`, approvals.Read, false, "read Pod web"},
		{"kubernetes-flux", "kubectl_generic", `{"command":"get","resourceType":"pods"}`, approvals.Read, false, "kubectl get pods"},
		{"kubernetes-flux", "kubectl_generic", `{"command":"get","resourceType":"pods","args":["--kubeconfig=/x"]}`, approvals.Execute, false, "kubectl get pods"},
		{"kubernetes-flux", "kubectl_generic", `{"command":"delete","resourceType":"pods","name":"web"}`, approvals.Destroy, false, "kubectl delete pods web"},
		{"github", "create_repository", `{"name":"x"}`, approvals.Destroy, false, "create repository x"},
		{"github", "create_repository", `{"name":"x","private":true}`, approvals.Write, false, "create the private repository x"},
		{"slack", "slack_post_message", `{"channel_id":"C1","text":"hi\u202e"}`, approvals.Destroy, false, "send to C1: “hi⟨U+202E⟩”"},
		{"fetch", "fetch", `{"url":"https://a.example/x"}`, approvals.Read, false, "fetch https://a.example/x"},
		{"fetch", "fetch", `{"url":"http://169.254.169.254/latest/meta-data"}`, approvals.Write, false, "fetch http://169.254.169.254/latest/meta-data"},
		{"fetch", "fetch", `{"url":"http://2130706433/"}`, approvals.Write, false, "fetch http://2130706433/"},
		{"fetch", "fetch", `{"url":"file:///etc/passwd"}`, approvals.Write, false, "fetch file:///etc/passwd"},
		{"desktop-commander", "write_file", `{"path":"a","content":"x","mode":"append"}`, approvals.Write, false, "add 1 B to a"},
	} {
		t.Run(tc.server+" "+tc.tool+" "+tc.args, func(t *testing.T) {
			got := profiles.Named(tc.server).Prepare(classify.Definition{Name: tc.tool}).Call([]byte(tc.args))
			if got.Class != tc.want || (got.Sensitive != "") != tc.sensitive || got.Why == "" {
				t.Errorf("got %s %q (%s), want %s", got.Class, got.Sensitive, got.Why, tc.want)
			}
			if got.Sentence != tc.sentence {
				t.Errorf("sentence %q, want %q", got.Sentence, tc.sentence)
			}
		})
	}
}

func TestWrongProfilesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":                 `{`,
		"another version":         `{"version":2,"name":"x","match":{"npm":["x"]},"tools":{"a":{"class":"read"}}}`,
		"another name":            `{"version":1,"name":"y","match":{"npm":["x"]},"tools":{"a":{"class":"read"}}}`,
		"nothing matched":         `{"version":1,"name":"x","match":{},"tools":{"a":{"class":"read"}}}`,
		"no class":                `{"version":1,"name":"x","match":{"npm":["x"]},"tools":{"a":{}}}`,
		"a class that is none":    `{"version":1,"name":"x","match":{"npm":["x"]},"tools":{"a":{"class":"depends"}}}`,
		"a member nobody knows":   `{"version":1,"name":"x","match":{"npm":["x"]},"tools":{"a":{"class":"read","allow":true}}}`,
		"a rule about nothing":    `{"version":1,"name":"x","match":{"npm":["x"]},"tools":{"a":{"class":"write","rules":[{"when":{},"class":"read"}]}}}`,
		"a rule about an unknown": `{"version":1,"name":"x","match":{"npm":["x"]},"tools":{"a":{"class":"write","rules":[{"when":{"b":1},"class":"read"}]}}}`,
		"a query of nothing":      `{"version":1,"name":"x","match":{"npm":["x"]},"tools":{"a":{"class":"write","query":"sql:b"}}}`,
		"a language nobody knows": `{"version":1,"name":"x","match":{"npm":["x"]},"tools":{"a":{"class":"write","args":"b","query":"cobol:b"}}}`,
		"a name twice":            `{"version":1,"name":"x","match":{"npm":["x"]},"tools":{"a":{"class":"read"},"a":{"class":"write"}}}`,
	} {
		_, err := classify.LoadProfiles(fstest.MapFS{"x.json": {Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), "x.json") {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := `{"version":1,"name":"%","match":{"npm":["x"]},"tools":{"a":{"class":"read"}}}`
	_, err := classify.LoadProfiles(fstest.MapFS{
		"x.json": {Data: []byte(strings.Replace(good, "%", "x", 1))}, "y.json": {Data: []byte(strings.Replace(good, "%", "y", 1))},
	})
	if err == nil {
		t.Error("two profiles match one package")
	}
}

func BenchmarkProfiledCall(b *testing.B) {
	p := shipped(b).Named("git-cyanheads").Prepare(classify.Definition{Name: "git_branch"})
	args := []byte(`{"path":"/home/ana/shop","mode":"create","branchName":"fix"}`)
	for b.Loop() {
		p.Call(args)
	}
}

func BenchmarkLoadProfiles(b *testing.B) {
	for b.Loop() {
		shipped(b)
	}
}
