package sandboxtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/garita-dev/garita/sandbox"
)

// hostileAt is where the hostile server's program appears inside.
const hostileAt = "/srv/hostile"

// Hostile is a launch of the hostile MCP server with the host's root file system.
func Hostile(t testing.TB) sandbox.Launch {
	t.Helper()
	return sandbox.Launch{
		ID: ID(), Server: "hostile", Group: "test", Argv: []string{hostileAt},
		Mounts: []sandbox.Mount{{Host: hostileProgram(t), At: hostileAt}},
	}
}

// hostileProgram is the one beside the built binaries or in PATH, else one built for this test.
func hostileProgram(t testing.TB) string {
	t.Helper()
	if built := filepath.Join(Bin(), "hostile"); isFile(built) {
		return realPath(t, built)
	}
	if built, err := exec.LookPath("hostile"); err == nil {
		return realPath(t, built)
	}
	_, file, _, _ := runtime.Caller(0)
	program := filepath.Join(t.TempDir(), "hostile")
	cmd := exec.Command("go", "build", "-o", program, "./hostile")
	cmd.Dir, cmd.Env = filepath.Dir(file), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		absent(t, "hostile", "it is not in "+Bin()+" and cannot be built: "+string(out))
	}
	return realPath(t, program)
}

// realPath has no symlinks: they are refused in mounts.
func realPath(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Tool calls a tool of a server that speaks MCP on p and returns the text of its answer. refused
// is what MCP calls isError: the hostile server's attempt was not permitted.
func Tool(t testing.TB, p *Pipes, name string, arguments map[string]any) (text string, refused bool) {
	t.Helper()
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": name, "arguments": arguments},
	})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
		Error *struct{ Message string }
	}
	got := p.Line(t, string(line))
	if err := json.Unmarshal([]byte(got), &answer); err != nil || answer.Error != nil || len(answer.Result.Content) != 1 {
		t.Fatalf("call %s: got %s (%v)", name, got, err)
	}
	return answer.Result.Content[0].Text, answer.Result.IsError
}
