package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/garita-dev/garita/build/wire"
)

// realServer is a published server, how it is declared here, and one call of it.
type realServer struct {
	name    string
	declare string // its lines in servers.yaml
	tool    string
	args    map[string]any
	says    string // a pattern that the answer's text matches
	needs   string // a program that must be there; "" for none
	prepare bool   // have it installed before the first client comes
}

// realServers are unchanged programs of others, each with Garita's defaults but for what is declared.
// The folder and the program of one's own are filled in.
var realServers = []realServer{
	{
		name: "everything", declare: "run: npx -y @modelcontextprotocol/server-everything@2026.8.31",
		tool: "get-sum", args: map[string]any{"a": 2, "b": 3}, says: `\b5\b`,
	},
	{
		name: "filesystem", declare: "run: npx -y @modelcontextprotocol/server-filesystem@2026.8.31 {folder}\n    folders: [\"{folder}\"]",
		tool: "read_text_file", args: map[string]any{"path": "{folder}/note.txt"}, says: "a note",
	},
	{
		name: "memory", declare: "run: npx -y @modelcontextprotocol/server-memory@2026.8.31\n    env: {MEMORY_FILE_PATH: /tmp/memory.json}",
		tool: "create_entities", args: map[string]any{"entities": []any{map[string]any{"name": "Garita", "entityType": "box", "observations": []string{"amber"}}}}, says: "amber",
	},
	{
		name: "dbhub", prepare: true, // a compiler takes longer than a client waits
		declare: "run: 'npx -y @bytebase/dbhub@0.21.2 --transport stdio --dsn sqlite:///:memory:'\n    install: {scripts: [better-sqlite3]}",
		tool:    "execute_sql", args: map[string]any{"sql": "SELECT 6*7 AS answer, sqlite_version() AS version"}, says: `\b42\b`,
	},
	{
		name: "thinking", declare: "run: npx -y @modelcontextprotocol/server-sequential-thinking@2026.8.31",
		tool: "sequentialthinking", args: map[string]any{"thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}, says: "thoughtNumber",
	},
	{
		name: "commands", declare: "run: npx -y mcp-server-commands@0.5.0",
		tool: "run_command", args: map[string]any{"command": "echo from inside"}, says: "from inside",
	},
	{
		name: "playwright", needs: "/usr/lib/chromium/chromium",
		declare: "run: npx -y @playwright/mcp@0.0.83 --headless --isolated --no-sandbox --executable-path /usr/lib/chromium/chromium\n    limits: {memory: 1GiB, pids: 1024}",
		tool:    "browser_navigate", args: map[string]any{"url": "data:text/html,<title>Seen inside</title><p>hello"}, says: "Seen inside",
	},
	{
		name: "mongodb", declare: "run: npx -y mongodb-mcp-server@3.0.4 --connectionString mongodb://127.0.0.1:27017/none",
		tool: "list-databases", args: map[string]any{}, says: `(?i)connect|ECONNREFUSED`,
	},
	{
		name: "github", needs: "{kit}/github-mcp-server", declare: "command: [\"{kit}/github-mcp-server\", stdio]\n    env: {GITHUB_PERSONAL_ACCESS_TOKEN: ghp_dummy}",
		tool: "get_me", args: map[string]any{}, says: `(?i)get|fail|error`,
	},
}

// servers has a client shake hands with each real server and list its tools, and calls one of them.
func (s *stage) servers(ctx context.Context) error {
	if err := os.Mkdir(s.path("work", "notes"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(s.path("work", "notes", "note.txt"), []byte("a note\n"), 0o600); err != nil {
		return err
	}
	var declared strings.Builder
	for _, r := range realServers {
		fmt.Fprintf(&declared, "  %s:\n    %s\n", r.name, s.fill(r.declare))
	}
	if err := s.begin(ctx, declared.String()); err != nil {
		return err
	}
	rows := [][]string{{"server", "calls itself", "tools", "ready after", "again after", "call"}}
	for _, r := range realServers {
		if !s.only.MatchString(r.name) {
			continue
		}
		row, err := s.visit(ctx, r)
		if row != nil {
			rows = append(rows, row)
		}
		if err == nil || !errors.Is(err, errNotHere) {
			s.result("servers/"+r.name, err)
		} else {
			emit("output", "servers/"+r.name, "    "+err.Error()+"\n")
			emit("skip", "servers/"+r.name, "")
		}
	}
	table(rows)
	return ctx.Err()
}

// errNotHere is why a server is passed over: a program it needs is not on this machine.
var errNotHere = errors.New("not on this machine")

// visit installs and starts one server, lists its tools, and starts it again for one call.
func (s *stage) visit(ctx context.Context, r realServer) ([]string, error) {
	if r.needs != "" {
		if _, err := os.Stat(s.fill(r.needs)); err != nil {
			return nil, fmt.Errorf("%s: %w", s.fill(r.needs), errNotHere)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 8*time.Minute)
	defer cancel()
	if r.prepare {
		if _, err := s.output(ctx, s.garita, "server", "start", r.name); err != nil {
			return nil, err
		}
	}
	first, _, err := s.greet(ctx, r)
	if err != nil {
		return nil, err
	}
	again, g, err := s.greet(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("the second time: %w", err)
	}
	return []string{r.name, g.Name, strconv.Itoa(len(g.Tools)), first, again, r.tool}, s.call(ctx, r)
}

// greeting is what a client learns of a server.
type greeting struct {
	Name  string
	Tools []string
}

// greet has a client, in a process of its own, attach and list the tools. Nobody who has opened a
// session may answer questions, and this process does. It returns how long the client waited.
func (s *stage) greet(ctx context.Context, r realServer) (took string, g greeting, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", g, err
	}
	began := time.Now()
	out, err := s.output(ctx, self, "greet", s.garita, "connect", r.name)
	if err != nil {
		return "", g, err
	}
	return time.Since(began).Round(10 * time.Millisecond).String(), g, json.Unmarshal([]byte(out), &g)
}

// greetAs is that client.
func greetAs(command []string) (err error) {
	c, err := wire.Start(exec.Command(command[0], command[1:]...))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var g greeting
	if g.Name, g.Tools, err = c.Handshake("conformance"); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(g)
}

// call calls the server's one tool, whatever it asks first.
func (s *stage) call(ctx context.Context, r realServer) error {
	args, err := json.Marshal(r.args)
	if err != nil {
		return err
	}
	out, err := s.output(ctx, s.garita, "call", r.name, r.tool, s.fill(string(args)))
	if !regexp.MustCompile(r.says).MatchString(out + fmt.Sprint(err)) {
		return fmt.Errorf("call %s: it says %s (%w)", r.tool, tail(out, 500), err)
	}
	return nil
}

// fill puts the folder and the kit's place where a declaration names them.
func (s *stage) fill(text string) string {
	return strings.NewReplacer("{folder}", s.path("work", "notes"), "{kit}", s.kit).Replace(text)
}
