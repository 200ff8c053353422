package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func TestWhyAProgramDoesNotStart(t *testing.T) {
	e := shared(t)
	dir := folderWith(t, map[string]string{
		"plain": "x", "script": "#!/no/such/interpreter\n", "foreign": "\x7fELF of another machine",
	})
	for _, name := range []string{"script", "foreign"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for program, want := range map[string]string{
		"absent-anywhere":             "no program absent-anywhere inside",
		filepath.Join(dir, "absent"):  "no program " + dir + "/absent inside",
		filepath.Join(dir, "plain"):   "plain is not executable",
		filepath.Join(dir, "script"):  "script is there, but its interpreter or loader is not",
		filepath.Join(dir, "foreign"): "foreign is not a program for this machine",
	} {
		t.Run(filepath.Base(program), func(t *testing.T) {
			l := sandboxtest.Shell("")
			l.Argv, l.Folders = []string{program}, []sandbox.Folder{{Host: dir, Mode: sandbox.ReadOnly}}
			_, _, err := sandboxtest.TryStart(t, e, l)
			if !errdefs.IsNotFound(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want NotFound with %q", err, want)
			}
		})
	}
}
