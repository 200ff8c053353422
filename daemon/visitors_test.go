package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
	"github.com/garita-dev/garita/sandbox/sandboxtest/visitors"
)

// errandScript is an MCP server whose one tool runs a line of shell and says what came of it.
const errandScript = `
import {createInterface} from "node:readline";
import {execFile} from "node:child_process";
const say = m => console.log(JSON.stringify({jsonrpc: "2.0", ...m}));
const run = line => new Promise(done => execFile("sh", ["-c", line], {timeout: 55000}, (e, out, err) => done(out + err + "\nSTATUS " + (e ? e.code ?? e.signal : 0) + ";")));
createInterface({input: process.stdin}).on("line", async line => {
	const {id, method, params} = JSON.parse(line);
	if (method === "initialize") say({id, result: {protocolVersion: "2025-06-18", capabilities: {tools: {}}, serverInfo: {name: "errands", version: "1"}}});
	else if (method === "tools/list") say({id, result: {tools: [{name: "get_errand", inputSchema: {type: "object"}, annotations: {readOnlyHint: true}}]}});
	else if (method === "tools/call") say({id, result: {content: [{type: "text", text: await run(params.arguments.line)}]}});
	else if (id !== undefined) say({id, result: {}});
});
`

// errands declares the server, with the token for api.example.test, and leave to reach other.example.test.
func (w *walled) errands() sandbox.Server {
	w.t.Helper()
	dir := filepath.Join(w.config.Paths().Home, "errands")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := visitors.Install(dir); err != nil {
		w.t.Fatal(err)
	}
	script := filepath.Join(dir, "errands.mjs")
	if err := os.WriteFile(script, []byte(errandScript), 0o600); err != nil {
		w.t.Fatal(err)
	}
	s := sandbox.Server{Name: "errands", Source: sandbox.Source{Command: []string{"node", "/srv/visitors/errands.mjs"}}, Spec: sandbox.Spec{
		Workspace: sandbox.None, Env: map[string]string{"KIT": "/srv/kit", "GIT_TERMINAL_PROMPT": "0"},
		Mounts:  []sandbox.Mount{{Host: dir, At: "/srv/visitors"}, {Host: sandboxtest.Kit(w.t), At: "/srv/kit"}},
		Secrets: []sandbox.SecretGrant{toward("token", "TOKEN", "Authorization")},
		Network: sandbox.Allowlist{Endpoints: []sandbox.Endpoint{{Host: "other.example.test", Port: 443}}},
	}}
	if err := w.config.Put(s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// errand runs a line of shell in the server.
func (c *searcher) errand(line string) (said string, passed bool) {
	c.t.Helper()
	arguments, err := json.Marshal(map[string]string{"line": line})
	if err != nil {
		c.t.Fatal(err)
	}
	said = c.tool("get_errand", string(arguments))
	return said, strings.Contains(said, "STATUS 0;")
}

// unbelieving is for programs at a host that is not opened, whose authority nobody knows inside.
const unbelieving = `echo insecure >/tmp/.curlrc; export CURL_HOME=/tmp NODE_TLS_REJECT_UNAUTHORIZED=0 NODE_NO_WARNINGS=1 GIT_SSL_NO_VERIFY=1; `

// TestClientsOfAServer: the whole of it, from servers.yaml to the record. The granted host has the value,
// another has the sentinel, a third is not reached, whatever the client.
func TestClientsOfAServer(t *testing.T) {
	w := newWalled(t)
	w.purse.set("token", tokenV1, time.Time{})
	host := (&visitors.Host{Value: tokenV1, Private: "api.", Repositories: repositories(t)}).Open()
	w.host = host
	c := w.attach(w.errands())
	for _, name := range []string{"curl", "node-fetch", "git", "node-ws", "python-urllib", "npm"} {
		visit := func(url string) (string, bool) { return c.errand("sh /srv/visitors/run.sh " + name + " " + url) }
		t.Run("report_N01 "+name, func(t *testing.T) {
			said, passed := visit("https://api.example.test")
			if !passed || strings.Contains(said, tokenV1) || name != "git" && !strings.Contains(said, "header[value:true") {
				t.Errorf("the granted host: %s", said)
			}
			if strings.Contains(said, "message[") && !strings.Contains(said, "message[value:false") {
				t.Errorf("in a message: %s", said)
			}
			if name != "python-urllib" && name != "npm" {
				said, passed := c.errand(unbelieving + "sh /srv/visitors/run.sh " + name + " https://other.example.test")
				if !passed || strings.Contains(said, "value:true") {
					t.Errorf("another host: %s", said)
				}
			}
			evil := name + ".evil.test"
			if said, passed := visit("https://" + evil); passed || strings.Contains(said, "hello") {
				t.Errorf("a host that is not listed: %s", said)
			}
			poll(t, evil+" is among what was tried", func() bool {
				return slices.ContainsFunc(w.ways.proposal("errands"), func(d tried) bool { return d.Host == evil })
			})
		})
	}
	t.Run("git clones and pushes with a value that it does not have", func(t *testing.T) {
		said, passed := c.errand(`set -e; cd "$(mktemp -d)"
git clone -q "https://x-access-token:$TOKEN@api.example.test/repo.git" here; cd here; cat a.txt
echo two >>a.txt; git -c user.name=x -c user.email=x@y.z commit -qam two; git push -q origin HEAD; git log --format=%s`)
		if !passed || !strings.Contains(said, "two\\none") {
			t.Errorf("got %s", said)
		}
		if out, err := exec.Command("git", "-C", filepath.Join(host.Repositories, "repo.git"), "log", "--format=%s").CombinedOutput(); err != nil || string(out) != "two\none\n" {
			t.Errorf("the host has %s (%v)", out, err)
		}
		if said, passed := c.errand(`git ls-remote https://x-access-token:guessed@api.example.test/repo.git`); passed {
			t.Errorf("with another password: %s", said)
		}
	})
	t.Run("the record", func(t *testing.T) {
		records, err := w.db.Calls(t.Context(), "", 100, "errands")
		if err != nil || len(records) == 0 {
			t.Fatal(records, err)
		}
		first := records[len(records)-1]
		if !slices.Contains(first.Hosts, "api.example.test:443") || !slices.Contains(first.Secrets, "token, version 1") {
			t.Errorf("the first call reached %v with %v", first.Hosts, first.Secrets)
		}
		if where := w.holders(t, tokenV1); len(where) > 0 {
			t.Errorf("the value is in %v", where)
		}
	})
}

// repositories is a folder with a bare repository of one commit.
func repositories(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf(`set -e; cd %q; git init -q -b main work; cd work; echo one >a.txt; git add a.txt
git -c user.name=x -c user.email=x@y.z commit -qm one; cd ..; git clone -q --bare work repo.git; git -C repo.git config http.receivepack true`, dir)
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}
