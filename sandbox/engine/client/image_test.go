package client_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/image"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// shellImage is the host's shell and the libraries it needs, as a layout.
func shellImage(t *testing.T) image.Layout {
	t.Helper()
	files := map[string]image.File{"app/hello.txt": {Body: []byte("from the image\n"), Mode: 0o600}}
	add := func(path, from string) {
		body, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(path, "/")] = image.File{Body: body, Mode: 0o755}
	}
	out, err := exec.Command("ldd", "/bin/sh").Output()
	if err != nil {
		t.Skipf("ldd says nothing about /bin/sh: %v", err)
	}
	for _, field := range strings.Fields(string(out)) {
		if strings.HasPrefix(field, "/") {
			add(field, field)
		}
	}
	add("/bin/sh", "/bin/sh")
	img, err := image.Build(files, image.Config{
		Entrypoint: []string{"/bin/sh", "-c"}, Cmd: []string{"echo the image says $WHO"}, Env: []string{"WHO=hello", "PATH=/bin"}, WorkingDir: "/app",
	})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("test:latest")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(file, tag, img); err != nil {
		t.Fatal(err)
	}
	l, err := image.From(t.Context(), file, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAnImageIsTheRootFileSystem(t *testing.T) {
	e := shared(t)
	layout := shellImage(t)
	digest, err := e.ImportImage(within(t), layout.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if digest != layout.Digest {
		t.Errorf("imported %s, want %s", digest, layout.Digest)
	}
	if again, err := e.ImportImage(within(t), layout.Dir); err != nil || again != digest {
		t.Errorf("imported again: %s, %v", again, err)
	}
	launch := func(args ...string) sandbox.Launch {
		l := sandboxtest.Shell("")
		l.Argv, l.Root.Image = args, digest
		return l
	}
	_, p := sandboxtest.Start(t, e, launch())
	if got := p.Next(t); got != "the image says hello" {
		t.Errorf("its own command: %q", got)
	}
	folder := folderWith(t, map[string]string{"f": ""})
	l := launch(`pwd; while read l; do echo "$l"; done < hello.txt; (echo x > /app/x) 2>/dev/null || echo read-only; (echo x > $HOME/x) && echo home; [ -e ` + folder + `/f ] && echo folder; [ -e /usr/bin/env ] || echo not the host`)
	l.Folders = snapshotOf(folder)
	_, p = sandboxtest.Start(t, e, l)
	for _, want := range []string{"/app", "from the image", "read-only", "home", "folder", "not the host"} {
		if got := p.Next(t); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	sweepsToZeroAfter(t, e)
}

func TestADirectoryThatIsNoLayoutIsRefused(t *testing.T) {
	e := shared(t)
	if _, err := e.ImportImage(within(t), t.TempDir()); err == nil || errdefs.IsUnavailable(err) {
		t.Errorf("got %v", err)
	}
}
