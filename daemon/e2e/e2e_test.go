package e2e

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

//go:embed testdata
var testdata embed.FS

// TestTranscripts runs each script by itself: they look at all that the user runs.
func TestTranscripts(t *testing.T) {
	sandboxtest.Need(t, "rootless-containerd")
	scripts := unpack(t)
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".txtar")
		t.Run(name, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Files: []string{script}, Setup: setup, RequireUniqueNames: true,
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"index": pythonIndex(t), "image": shellImage(t), "save": save, "until": until, "pids": pids, "murder": murder, "gone": gone, "dead": dead,
				},
			})
		})
	}
}

// unpack writes the scripts where the user may read them: the test may run far from its source.
func unpack(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, testdata); err != nil {
		t.Fatal(err)
	}
	scripts, err := fs.Glob(testdata, "testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range scripts {
		scripts[i] = filepath.Join(dir, s)
	}
	return scripts
}

// passed are the variables of the person's that the programs need to work here.
var passed = []string{
	"XDG_RUNTIME_DIR", "USER", "LOGNAME", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "npm_config_registry", "GOCOVERDIR",
}

// setup gives a script a home and a Garita of its own.
func setup(env *testscript.Env) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	bin, err := filepath.Abs(sandboxtest.Bin())
	if err != nil {
		return err
	}
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			env.Setenv(name, v)
		}
	}
	env.Setenv("HOME", home)
	env.Setenv("BIN", bin)
	env.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	env.Setenv("GARITA_HOME", filepath.Join(env.WorkDir, "g"))
	env.Setenv("WS", filepath.Join(env.WorkDir, "ws"))
	env.Setenv("GARITA", filepath.Join(bin, "garita"))
	for _, dir := range []string{"g", "ws"} {
		if err := os.MkdirAll(filepath.Join(env.WorkDir, dir), 0o755); err != nil {
			return err
		}
	}
	if err := notes(env); err != nil {
		return err
	}
	w := newWatch(filepath.Join(env.WorkDir, "g"), bin)
	env.Values[watchKey{}] = w
	env.Defer(func() { w.sweep() })
	return nil
}

// notes puts a small server into the workspace, settings of a client that run it, and a client.
func notes(env *testscript.Env) error {
	ws := filepath.Join(env.WorkDir, "ws")
	for name, to := range map[string]string{"notes.mjs": ws, "client.sh": env.WorkDir} {
		text, err := testdata.ReadFile("testdata/shared/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return err
		}
	}
	settings := fmt.Sprintf(`{"mcpServers":{"notes":{"command":"node","args":["%[1]s/notes.mjs","%[1]s"]}}}`, ws)
	return os.WriteFile(filepath.Join(env.WorkDir, "notes.json"), []byte(settings+"\n"), 0o644)
}
