package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"
)

func TestWhichPathsMayBeMounted(t *testing.T) {
	e := &Engine{cfg: Config{Home: "/home/ana", Data: "/home/ana/.local/share/garita"}}
	for path, allowed := range map[string]bool{
		"/home/ana/project":               true,
		"/home/ana/.local/share/other":    true,
		"/srv/data":                       true,
		"/tmp/x":                          true,
		"/usrlocal":                       true,
		"/":                               false,
		"/home":                           false,
		"/home/ana":                       false,
		"/home/ana/.local":                false, // holds Garita's data
		"/home/ana/.local/share/garita":   false,
		"/home/ana/.local/share/garita/x": false,
		"/etc":                            false,
		"/etc/ssh":                        false,
		"/usr":                            false,
		"/usr/share":                      false,
		"/proc/self":                      false,
		"/dev/shm":                        false,
		"/run/user/1000":                  false,
		"/sys/fs":                         false,
		"relative":                        false,
		"/tmp/../etc":                     false,
		"/tmp/x/":                         false,
		"":                                false,
	} {
		t.Run(path, func(t *testing.T) {
			err := e.permitted(path)
			if (err == nil) != allowed {
				t.Errorf("got %v, want allowed: %v", err, allowed)
			}
			if err != nil && !errdefs.IsInvalidArgument(err) {
				t.Errorf("got %v, want InvalidArgument", err)
			}
		})
	}
}

func TestNoSymlinkIsFollowed(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(dir, "real", "inner")
	if err := os.MkdirAll(real, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "real", "absolute": "/etc", "proc": "/proc/self/root"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := openExactly(real)
	if err != nil {
		t.Fatalf("a real path: %v", err)
	}
	_ = unix.Close(fd)
	for _, path := range []string{"link", "link/inner", "absolute", "absolute/ssh", "proc", "proc/etc"} {
		if fd, err := openExactly(filepath.Join(dir, path)); !errdefs.IsInvalidArgument(err) {
			t.Errorf("%s: got %d, %v; want InvalidArgument", path, fd, err)
		}
	}
	if _, err := openExactly(filepath.Join(dir, "absent")); !errdefs.IsNotFound(err) {
		t.Errorf("got %v, want NotFound", err)
	}
}
