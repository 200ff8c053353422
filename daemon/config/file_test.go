package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"
)

func TestSettingsAreReadFromPlainFilesOnly(t *testing.T) {
	dir := t.TempDir()
	pipe, folder, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "folder"), filepath.Join(dir, "link")
	for _, err := range []error{unix.Mkfifo(pipe, 0o600), os.Mkdir(folder, 0o700), os.Symlink("/dev/zero", link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{pipe, folder, link} {
		if _, err := readFile(path); !errdefs.IsInvalidArgument(err) {
			t.Errorf("%s: got %v, want an error of kind InvalidArgument", path, err)
		}
	}
	if data, err := readFile(filepath.Join(dir, "none")); err != nil || data != nil {
		t.Errorf("got %q, %v of a file that is not there", data, err)
	}
}
