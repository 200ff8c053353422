package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/garita-dev/garita/store"
)

func TestTheLogAheadOfTheDatabaseStaysBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "garita.db")
	s, err := Open(t.Context(), path, Options{KeyFile: filepath.Join(dir, "audit.key"), HeadFile: filepath.Join(dir, "audit.head")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	turn := func() int64 {
		for range checkpointEvery {
			if _, err := s.Append(t.Context(), store.Event{Kind: store.CallDecided, Server: "files", Body: []byte(`{"tool":"read_text_file"}`)}); err != nil {
				t.Fatal(err)
			}
		}
		s.checkpoints.wait()
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	first := turn()
	for range 3 {
		if size := turn(); size > 2*first {
			t.Errorf("it has grown from %d to %d bytes", first, size)
		}
	}
}
