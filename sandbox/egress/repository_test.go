package egress_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func TestOnlyCommitsAreFetchedFromARepository(t *testing.T) {
	w, log := startWall(t)
	r := sandboxtest.NewRepository(t)
	r.Commit(t, map[string]string{"a": "b"})
	in := serve(t, w, client.RegistryConfig{Ecosystem: wire.Git, Default: r.Address()})
	if status, body := in.get("/repository/info/refs?service=git-upload-pack"); status != http.StatusOK || !strings.Contains(body, "git-upload-pack") {
		t.Errorf("the refs are %d %s", status, body)
	}
	if said := in.next(); said.Kind != wire.Cloned || !strings.HasSuffix(said.Name, "/org/tools") || said.Bytes == 0 {
		t.Errorf("the wall says %+v", said)
	}
	n := len(r.Paths())
	for _, path := range []string{
		"/repository/info/refs?service=git-receive-pack", "/repository/info/refs", "/repository/HEAD", "/repository/git-upload-pack",
		"/repository/../other/info/refs?service=git-upload-pack", "/org/tools/info/refs?service=git-upload-pack", "/",
	} {
		if status, body := in.get(path); status < 400 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if len(r.Paths()) != n || strings.Contains(log.String(), "panic") {
		t.Errorf("it was asked for %q", r.Paths()[n:])
	}
	missing := serve(t, w, client.RegistryConfig{Ecosystem: wire.Git, Default: r.URL + "/org/none"})
	if status, body := missing.get("/repository/info/refs?service=git-upload-pack"); status != http.StatusNotFound || !strings.Contains(body, "~/.netrc") {
		t.Errorf("a repository that is not there: %d %s", status, body)
	}
}
