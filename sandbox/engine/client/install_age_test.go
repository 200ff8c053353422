package client_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// date says when versions of a package were published, in its one description.
func (r *registry) date(t *testing.T, name string, times map[string]time.Time) {
	t.Helper()
	list := ""
	for version, at := range times {
		list += fmt.Sprintf(`,%q:%q`, version, at.Format(time.RFC3339))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.tarballs["/"+name]
	r.tarballs["/"+name] = append(text[:len(text)-1], []byte(`,"time":{"created":"2020-01-01T00:00:00Z"`+list+`}}`)...)
}

func TestVersionsThatAreTooNewAreNotInstalled(t *testing.T) {
	e := startEngine(t)
	r := newRegistry(t)
	now := time.Now()
	r.publish(t, "hot", "2.0.0", `"bin":"c.js"`, map[string]string{"c.js": "#!/usr/bin/env node\n"})
	r.date(t, "hot", map[string]time.Time{"2.0.0": now.Add(-time.Hour)})
	c := client.RegistryConfig{Default: r.URL, Before: now.Add(-72 * time.Hour)}
	in := newInstall(t, e, c)
	ref := sandbox.PackageRef{Ecosystem: sandbox.NPM, Name: "hot", Range: "2.0.0"}
	for _, versions := range []string{"2.0.0", "", "^2"} {
		ref.Range = versions
		_, err := in.Install(t.Context(), ref, nil, nil)
		var young *sandbox.TooYoung
		if !errors.As(err, &young) || young.Name != "hot" || young.Version != "2.0.0" || young.At.IsZero() {
			t.Errorf("%s: got %v", ref, err)
		}
	}
	c.Young = []string{"hot@2.0.0"}
	in.Registries = func() (client.RegistryConfig, error) { return c, nil }
	p, err := in.Install(t.Context(), ref, nil, nil)
	if err != nil || p.Version != "2.0.0" || p.Before.IsZero() || len(p.Young) != 1 {
		t.Errorf("as an exception: %+v, %v", p, err)
	}
}

// TestAnInstallWithoutTheRegistry installs in a home that has nothing but the cache, with the
// registry gone; the tree is the lock's, whatever was published since.
func TestAnInstallWithoutTheRegistry(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	r := newRegistry(t)
	r.server(t)
	c := client.RegistryConfig{Default: r.URL, Cache: t.TempDir(), Before: time.Now()}
	e := engineIn(t, t.TempDir())
	first, err := newInstall(t, e, c).Install(t.Context(), serverRef, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	in := newInstall(t, engineIn(t, t.TempDir()), c)
	again, err := in.Install(t.Context(), serverRef, &first, nil)
	if err != nil || again.Tree != first.Tree || !again.Before.Equal(first.Before) {
		t.Fatalf("got %+v, %v", again, err)
	}
	kept := 0
	for _, f := range in.fetched {
		if f.Kind == client.FetchedTarball && f.Cached {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d tarballs were kept, want 2: %+v", kept, in.fetched)
	}
}

// TestADependencyPublishedSinceChangesNothing is what keeps an installation by the lock the same.
func TestADependencyPublishedSinceChangesNothing(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	r := newRegistry(t)
	r.server(t)
	c := client.RegistryConfig{Default: r.URL, Before: time.Now()}
	e := engineIn(t, t.TempDir())
	first, err := newInstall(t, e, c).Install(t.Context(), serverRef, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	r.addVersion(t, "dep", "1.0.1", time.Now().Add(time.Hour))
	c.Before = time.Now().Add(2 * time.Hour)
	in := newInstall(t, engineIn(t, t.TempDir()), c)
	if again, err := in.Install(t.Context(), serverRef, &first, nil); err != nil || again.Tree != first.Tree {
		t.Errorf("by the lock: %+v, %v", again, err)
	}
	if newer, err := in.Install(t.Context(), sandbox.PackageRef{Ecosystem: sandbox.NPM, Name: "@s/server", Range: "^1"}, nil, nil); err != nil || newer.Tree == first.Tree {
		t.Errorf("without it: %+v, %v", newer, err)
	}
}

// addVersion publishes a version beside the one there is.
func (r *registry) addVersion(t *testing.T, name, version string, at time.Time) {
	t.Helper()
	r.mu.Lock()
	was := string(r.tarballs["/"+name])
	r.mu.Unlock()
	r.publish(t, name, version, `"main":"i.js"`, map[string]string{"i.js": ""})
	r.mu.Lock()
	defer r.mu.Unlock()
	older, newer := versionsOf(t, was), versionsOf(t, string(r.tarballs["/"+name]))
	r.tarballs["/"+name] = fmt.Appendf(nil, `{"name":%q,"dist-tags":{"latest":%q},"versions":{%s,%s},"time":{"1.0.0":"2020-01-01T00:00:00Z",%q:%q}}`,
		name, version, older, newer, version, at.Format(time.RFC3339))
}

// versionsOf is what stands in a description's versions.
func versionsOf(t *testing.T, description string) string {
	t.Helper()
	_, rest, ok := strings.Cut(description, `"versions":{`)
	if !ok {
		t.Fatal(description)
	}
	return strings.TrimSuffix(rest, "}}")
}
