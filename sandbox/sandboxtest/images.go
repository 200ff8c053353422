package sandboxtest

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/garita-dev/garita/sandbox/image"
)

// Images is a registry of images on the loopback, for tests.
type Images struct {
	t    testing.TB
	host string
}

// NewImages starts one, without any image. It ends with the test.
func NewImages(t testing.TB) *Images {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	return &Images{t, strings.TrimPrefix(s.URL, "http://")}
}

// Push makes tag an image of the host's shell that runs script, and returns the reference.
func (i *Images) Push(tag, script string, env ...string) string {
	i.t.Helper()
	files := map[string]image.File{"server.sh": {Body: []byte(script), Mode: 0o755}}
	out, err := exec.Command("ldd", "/bin/sh").Output()
	if err != nil {
		i.t.Skipf("ldd says nothing about /bin/sh: %v", err)
	}
	for _, field := range append(strings.Fields(string(out)), "/bin/sh") {
		if !strings.HasPrefix(field, "/") {
			continue
		}
		body, err := os.ReadFile(field)
		if err != nil {
			i.t.Fatal(err)
		}
		files[strings.TrimPrefix(field, "/")] = image.File{Body: body, Mode: 0o755}
	}
	img, err := image.Build(files, image.Config{Entrypoint: []string{"/bin/sh", "/server.sh"}, Env: append([]string{"PATH=/bin"}, env...), WorkingDir: "/"})
	if err != nil {
		i.t.Fatal(err)
	}
	ref := i.host + "/" + tag
	to, err := name.ParseReference(ref, name.Insecure)
	if err == nil {
		err = remote.Write(to, img)
	}
	if err != nil {
		i.t.Fatal(err)
	}
	return ref
}
