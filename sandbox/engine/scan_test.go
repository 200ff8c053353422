package engine

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatLeadsOutOfAFolderIsNamed(t *testing.T) {
	dir := t.TempDir()
	folder, elsewhere := filepath.Join(dir, "folder"), filepath.Join(dir, "elsewhere")
	for _, d := range []string{folder, elsewhere} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path string) string {
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(from, to string) {
		if err := os.Link(from, to); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(folder, "plain"))
	link(write(filepath.Join(elsewhere, "key")), filepath.Join(folder, "leads-out"))
	link(write(filepath.Join(folder, "twice")), filepath.Join(folder, "twice-too"))
	l, err := net.Listen("unix", filepath.Join(folder, "agent.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	f := scan(context.Background(), folder)
	if diff := cmp.Diff(f.outside(), []string{"leads-out"}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(f.sockets, []string{"agent.sock"}); diff != "" {
		t.Error(diff)
	}
	said := strings.Join(f.notices(folder), "\n")
	for _, want := range []string{`1 file in`, `"leads-out"`, `1 socket in`, `"agent.sock"`} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %q", want, said)
		}
	}
}
