package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/api"
)

// testCLI runs commands against a daemon that is not there, with what is typed on standard input.
func testCLI(t *testing.T, typed string) (c *cli, out, errs *bytes.Buffer) {
	t.Helper()
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte(typed), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return &cli{in: f, out: out, err: errs, client: api.New(filepath.Join(t.TempDir(), "s"))}, out, errs
}

func TestExitCodes(t *testing.T) {
	t.Setenv("GARITA_HOME", t.TempDir())
	for args, want := range map[string]int{
		"version":                       exitDone,
		"--help":                        exitDone,
		"server":                        exitDone,
		"nonsense":                      exitUsage,
		"server nonsense":               exitUsage,
		"status --nonsense":             exitUsage,
		"status extra":                  exitUsage,
		"server show":                   exitUsage,
		"call files":                    exitUsage,
		"call files read {":             exitUsage,
		`call files read [1]`:           exitUsage,
		`call files read {"a":1,"a":2}`: exitUsage,
		"run":                           exitUsage,
		"restore":                       exitUsage,
		"server remove x":               exitUsage,
		"server restart":                exitUsage,
		"server add":                    exitUsage,
		"server add x":                  exitUsage,
		"server add x -- ":              exitUsage,
		"server add x npx y":            exitUsage,
		"server logs x -n many":         exitUsage,
		"token":                         exitDone,
		"token create":                  exitUsage,
		"token create --name x":         exitUsage,
		"token create --server x":       exitUsage,
		"token revoke":                  exitUsage,
		"trace s1 s2":                   exitUsage,
		"token list":                    exitPrecondition,
		"trace":                         exitPrecondition,
		"trace on":                      exitPrecondition,
		"server start x":                exitPrecondition,
		"status":                        exitPrecondition,
		"approvals list":                exitPrecondition,
	} {
		c, _, errs := testCLI(t, "")
		if got := run(t.Context(), strings.Fields(args), c); got != want {
			t.Errorf("garita %s: got %d, want %d: %s", args, got, want, errs)
		}
	}
}

func TestExitCodeOfErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"denied":       {&api.Problem{Code: "denied"}, exitDenied},
		"precondition": {&api.Problem{Code: "precondition"}, exitPrecondition},
		"not found":    {&api.Problem{Code: "not_found"}, exitFailed},
		"unreachable":  {fmt.Errorf("x: %w", &api.Unreachable{Err: errors.New("y")}), exitPrecondition},
		"our own kind": {fmt.Errorf("x: %w", errdefs.ErrFailedPrecondition), exitPrecondition},
		"declined":     {errDeclined, exitFailed},
		"said already": {silent{exitDenied}, exitDenied},
	} {
		cli, _, _ := testCLI(t, "")
		if got := cli.finish(c.err); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestErrorsSayWhatWhyAndWhatNext(t *testing.T) {
	got := describe(&api.Problem{Title: "It is not there", Detail: "no server \x1b[2Jx", Next: "garita server list"})
	if want := "garita: It is not there: no server \\x1b[2Jx\n  garita server list\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestConfirm(t *testing.T) {
	for name, c := range map[string]struct {
		typed string
		asks  bool
		yes   bool
		done  bool
	}{
		"yes":                  {"y\n", true, false, true},
		"yes in full":          {"Yes\n", true, false, true},
		"no":                   {"n\n", true, false, false},
		"just enter":           {"\n", true, false, false},
		"end of input":         {"", true, false, false},
		"nobody to ask":        {"y\n", false, false, false},
		"agreed to beforehand": {"", false, true, true},
	} {
		cli, _, _ := testCLI(t, c.typed)
		cli.asks = c.asks
		if err := cli.confirm("garita x", "Really?", c.yes); (err == nil) != c.done {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestACodeMustBeTypedToApproveAtATerminal(t *testing.T) {
	a := api.Approval{ID: "r1", Binding: "sha256:ab12cd"}
	for name, c := range map[string]struct {
		typed   string
		approve bool
		done    bool
	}{
		"the code":              {"ab12\n", true, true},
		"in capitals":           {"AB12\n", true, true},
		"another":               {"ab13\n", true, false},
		"nothing":               {"\n", true, false},
		"yes":                   {"y\n", true, false},
		"a no needs no code":    {"", false, true},
		"the end of the input ": {"", true, false},
	} {
		cli, _, _ := testCLI(t, c.typed)
		cli.asks = true
		tty, code, err := reply{cli: cli, approve: c.approve}.typed(api.AnswerCode(a.Binding))
		if (err == nil) != c.done {
			t.Errorf("%s: got %v", name, err)
		}
		if c.done && (!tty || code != "ab12") {
			t.Errorf("%s: got %v, %s", name, tty, code)
		}
		cli.asks = false
		if tty, code, err := (reply{cli: cli, approve: true}).typed("ab12"); tty || code != "" || err != nil {
			t.Errorf("without a terminal: got %v, %s, %v", tty, code, err)
		}
	}
}

func TestMatching(t *testing.T) {
	list := []api.Approval{{ID: "raa11"}, {ID: "raa22"}, {ID: "rbb33"}}
	for id, want := range map[string]string{"rbb": "rbb33", "raa11": "raa11", "rb": "", "x": "", "rbb33x": ""} {
		if got, err := matching(list, id); err != nil || got != want {
			t.Errorf("%s: got %q, %v", id, got, err)
		}
	}
	if got, err := matching(list, "raa"); err == nil {
		t.Errorf("of two: got %q", got)
	}
}

func TestShowResult(t *testing.T) {
	for name, c := range map[string]struct {
		res       api.ToolResult
		pretty    bool
		out, errs string
		code      int
	}{
		"text": {
			res: api.ToolResult{Result: []byte(`{"content":[{"type":"text","text":"hello\n"},{"type":"text","text":"there"}]}`)},
			out: "hello\nthere\n",
		},
		"text on a terminal": {
			res: api.ToolResult{Result: []byte(`{"content":[{"type":"text","text":"a\u001b[2Jb"}]}`)}, pretty: true,
			out: `a\x1b[2Jb` + "\n",
		},
		"an image": {
			res: api.ToolResult{Result: []byte(`{"content":[{"type":"image","mimeType":"image/png","data":"xx"}]}`)},
			out: "[image image/png]\n",
		},
		"a tool's error": {
			res:  api.ToolResult{Result: []byte(`{"isError":true,"content":[{"type":"text","text":"no such file"}]}`)},
			errs: "no such file\n", code: exitFailed,
		},
		"denied": {
			res:  api.ToolResult{Denied: true, Result: []byte(`{"isError":true,"content":[{"type":"text","text":"The person denied it."}]}`)},
			errs: "The person denied it.\n", code: exitDenied,
		},
		"a protocol error": {
			res:  api.ToolResult{Error: []byte(`{"code":-32602,"message":"unknown tool"}`)},
			errs: "unknown tool\n", code: exitFailed,
		},
	} {
		cli, out, errs := testCLI(t, "")
		cli.pretty = c.pretty
		err := cli.showResult(c.res, false)
		if got := cli.finish(err); got != c.code || out.String() != c.out || errs.String() != c.errs {
			t.Errorf("%s: got %d, %q, %q", name, got, out, errs)
		}
	}
}

func TestHolds(t *testing.T) {
	locks := "1: FLOCK  ADVISORY  WRITE 4242 00:2a:1234 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 77 00:2a:99 0 EOF\n2: POSIX  ADVISORY  READ 1 fd:01:7 0 EOF\n"
	for name, c := range map[string]struct {
		dev, ino uint64
		want     bool
	}{
		"held":              {0x2a, 1234, true},
		"by another kind":   {0xfd01, 7, true},
		"waited for only":   {0x2a, 99, false},
		"on another device": {0x2b, 1234, false},
		"another file":      {0x2a, 123, false},
	} {
		if got := holds(locks, c.dev, c.ino); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestAHeldLockIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if lockHeld(path) {
		t.Error("held before it was locked")
	}
	if err := flock(f); err != nil {
		t.Fatal(err)
	}
	if !lockHeld(path) {
		t.Error("not seen")
	}
}

func TestNobodyIsWaitedForLong(t *testing.T) {
	t.Setenv("GARITA_HOME", t.TempDir())
	c, _, _ := testCLI(t, "")
	begun := time.Now()
	err := c.reachable(t.Context())
	var away *api.Unreachable
	if took := time.Since(begun); !errors.As(err, &away) || took > 5*time.Second {
		t.Errorf("got %v after %v", err, took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.reachable(ctx); err == nil {
		t.Error("reached nobody")
	}
}

func TestTheLinkIsInAFileOfOursOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "open.html")
	if err := os.Symlink("/etc/passwd", path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := writeHop(path, `http://127.0.0.1:1/#token="x`); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `url=http://127.0.0.1:1/#token=&#34;x"`) {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestSource(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("claude.json", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"claude-desktop": "claude-desktop",
		"claude.json":    filepath.Join(dir, "claude.json"),
		"./gone.json":    filepath.Join(dir, "gone.json"),
		"/a/../b.json":   "/b.json",
	} {
		if got := source(from); got != want {
			t.Errorf("%s: got %s, want %s", from, got, want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	if got, want := commandLine([]string{"npx", "-y", "@a/b@1", "my dir", "it's", "", "$HOME"}), `npx -y @a/b@1 'my dir' 'it'\''s' '' '$HOME'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAt(t *testing.T) {
	if got, want := at("http://127.0.0.1:1/#token=x/#y", "/approvals?id=r1"), "http://127.0.0.1:1/approvals?id=r1#token=x/#y"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLogPath(t *testing.T) {
	home := func() (string, error) { return "/home/ana", nil }
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"its own home":   {map[string]string{"GARITA_HOME": "/g", "XDG_STATE_HOME": "/s"}, "/g/state/daemon.log"},
		"the person's":   {map[string]string{"XDG_STATE_HOME": "/s"}, "/s/garita/daemon.log"},
		"not a path":     {map[string]string{"XDG_STATE_HOME": "s"}, "/home/ana/.local/state/garita/daemon.log"},
		"where it is by": {nil, "/home/ana/.local/state/garita/daemon.log"},
	} {
		if got, err := logPath(func(k string) string { return c.env[k] }, home); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
}

func TestShownLeavesOutWhatIsHeldBack(t *testing.T) {
	d := api.WorkspaceDiff{Files: []api.FileDiff{
		{Change: api.Change{Folder: "/w", Path: "a/b"}},
		{Change: api.Change{Folder: "/w", Path: "c", Held: "why"}},
	}}
	if got := shown(d); len(got) != 1 || got[0] != "/w/a/b" {
		t.Errorf("got %v", got)
	}
}

func TestTellProgress(t *testing.T) {
	steps := []api.Progress{
		{Server: "files", Step: "resolve", Message: "Found a"},
		{Server: "files", Step: "resolve", Message: "Found \x1b[2J"},
		{Server: "files", Step: "install", Message: strings.Repeat("x", 100)},
		{Server: "files", Step: "install", Message: "no space", Failed: true, Final: true},
	}
	for name, c := range map[string]struct {
		lively bool
		want   string
	}{
		"to a file": {false, "files: resolve, Found a\nfiles: install, " + strings.Repeat("x", 100) + "\nfiles: install, no space (failed)\n"},
		"on a terminal": {true, "\r\x1b[Kfiles: resolve, Found a\r\x1b[Kfiles: resolve, Found \\x1b[2J\r\x1b[Kfiles: install, " +
			strings.Repeat("x", 61) + "…\r\x1b[Kfiles: install, no space (failed)\n"},
	} {
		cli, _, errs := testCLI(t, "")
		cli.livelyErr = c.lively
		tell := cli.tellProgress()
		for _, p := range steps {
			tell(api.Event{Kind: "progress", Progress: &p})
		}
		if got := errs.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
