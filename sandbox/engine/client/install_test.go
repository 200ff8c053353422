package client_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// registry is an npm registry on the loopback with one server and its dependency.
type registry struct {
	*httptest.Server
	mu       sync.Mutex
	tarballs map[string][]byte // by path
	hits     int
	hold     chan struct{} // tarballs wait for it
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{tarballs: map[string][]byte{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP answers for descriptions and tarballs.
func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.hits++
	body, hold := r.tarballs[req.URL.Path], r.hold
	r.mu.Unlock()
	if body == nil {
		http.NotFound(w, req)
		return
	}
	if hold != nil && strings.HasSuffix(req.URL.Path, ".tgz") {
		select {
		case <-hold:
		case <-req.Context().Done():
		}
	}
	_, _ = w.Write(body)
}

func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hits
}

// publish adds one version of a package, the newest from now on.
func (r *registry) publish(t *testing.T, name, version, description string, files map[string]string) {
	t.Helper()
	files["package.json"] = fmt.Sprintf(`{"name":%q,"version":%q,%s}`, name, version, description)
	packed := pack(t, files)
	path := fmt.Sprintf("/%s/-/%s-%s.tgz", name, filepath.Base(name), version)
	sum := sha512.Sum512(packed)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tarballs[path] = packed
	r.tarballs["/"+name] = fmt.Appendf(nil, `{"name":%q,"dist-tags":{"latest":%q},"versions":{%q:{"name":%q,"version":%q,%s,"dist":{"tarball":"%s%s","integrity":"sha512-%s"}}}}`,
		name, version, version, name, version, description, r.URL, path, base64.StdEncoding.EncodeToString(sum[:]))
}

func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for name, body := range files {
		if err := w.WriteHeader(&tar.Header{Name: "package/" + name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(body))}); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, body)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// server is a package that answers each line with its folder, and whose install script would leave a trace.
func (r *registry) server(t *testing.T) {
	t.Helper()
	r.publish(t, "dep", "1.0.0", `"main":"i.js"`, map[string]string{"i.js": `module.exports="from dep"`})
	r.publish(t, "@s/server", "1.2.3", `"bin":"cli.js","dependencies":{"dep":"^1.0.0"},"scripts":{"postinstall":"touch ran-postinstall"}`, map[string]string{
		"cli.js": `#!/usr/bin/env node
const fs = require("fs")
let ro = "writable"; try { fs.writeFileSync(__dirname + "/x", "") } catch (e) { ro = e.code }
require("readline").createInterface({input: process.stdin}).on("line", () =>
  console.log([require("dep"), ro, fs.existsSync(__dirname + "/ran-postinstall"), process.argv.slice(2)].join("|")))
`,
	})
}

// install is an engine with a wall and whatever registry.
type install struct {
	engine *client.Engine
	client.Installer
	mu      sync.Mutex
	fetched []client.Fetch
}

func newInstall(t *testing.T, e *client.Engine, c client.RegistryConfig) *install {
	t.Helper()
	wall, err := client.StartWall(t.Context(), client.Config{Program: filepath.Join(sandboxtest.Bin(), "garita-engine"), Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wall.Close() })
	in := &install{engine: e}
	in.Installer = client.Installer{
		Engine: e, Wall: wall,
		Registries: func() (client.RegistryConfig, error) { return c, nil },
		Toolchain:  func() (string, error) { return client.FindToolchain("/nonexistent", "/usr/bin") },
		Fetched: func(_ sandbox.PackageRef, f client.Fetch) {
			in.mu.Lock()
			defer in.mu.Unlock()
			in.fetched = append(in.fetched, f)
		},
	}
	return in
}

var serverRef = sandbox.PackageRef{Ecosystem: sandbox.NPM, Name: "@s/server"}

func TestInstallRunAndInstallAgain(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	data := t.TempDir()
	e := engineIn(t, data)
	r := newRegistry(t)
	r.server(t)
	in := newInstall(t, e, client.RegistryConfig{Default: r.URL})
	var steps []string
	p, err := in.Install(t.Context(), serverRef, nil, func(p sandbox.Progress) { steps = append(steps, p.Step) })
	if err != nil {
		t.Fatal(err)
	}
	if p.Version != "1.2.3" || !strings.HasPrefix(p.Integrity, "sha512-") || !strings.HasPrefix(p.Runtime, "node v") || len(p.Entry) != 2 {
		t.Errorf("installed %+v", p)
	}
	for _, want := range []string{"resolve", "download", "commit"} {
		if !strings.Contains(strings.Join(steps, " "), want) {
			t.Errorf("no step %q in %q", want, steps)
		}
	}
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
	l := sandboxtest.Shell("")
	l.Argv, l.Package = append(p.Entry, "a b"), &p
	i, pipes := sandboxtest.Start(t, e, l)
	if got := pipes.Line(t, "?"); got != "from dep|EROFS|false|a b" {
		t.Errorf("the server says %q", got)
	}
	if err := i.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}

	latest := sandbox.PackageRef{Ecosystem: sandbox.NPM, Name: "@s/server", Range: "latest"}
	if same, err := in.Install(t.Context(), latest, nil, nil); err != nil || same.Tree != p.Tree {
		t.Errorf("the same bytes for another reference: got %+v, %v", same, err)
	}
	hits := r.count()
	r.Close() // from here on nothing can be fetched
	for name, ref := range map[string]sandbox.PackageRef{
		"again":            serverRef,
		"by the other one": latest,
		"by exact version": {Ecosystem: sandbox.NPM, Name: "@s/server", Range: "1.2.3"},
		"by its program":   {Ecosystem: sandbox.NPM, Name: "@s/server", Bin: "server"},
	} {
		again, err := in.Install(t.Context(), ref, nil, nil)
		if err != nil || again.Tree != p.Tree || again.Runtime != p.Runtime || strings.Join(again.Entry, " ") != strings.Join(p.Entry, " ") {
			t.Errorf("%s: got %+v, %v", name, again, err)
		}
	}
	if again, err := in.Install(t.Context(), serverRef, &p, nil); err != nil || again.Tree != p.Tree {
		t.Errorf("by the lock: got %+v, %v", again, err)
	}
	if r.count() != hits {
		t.Error("the registry was asked again")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	in = newInstall(t, engineIn(t, data), client.RegistryConfig{Default: r.URL})
	if again, err := in.Install(t.Context(), serverRef, &p, nil); err != nil || again.Tree != p.Tree {
		t.Errorf("after a restart: got %+v, %v", again, err)
	}
}

func TestInstallRefuses(t *testing.T) {
	e := startEngine(t)
	r := newRegistry(t)
	r.server(t)
	r.publish(t, "no-bin", "1.0.0", `"main":"x.js"`, map[string]string{"x.js": ""})
	r.publish(t, "from-git", "1.0.0", `"bin":"x.js","dependencies":{"d":"git+https://git.example/x.git"}`, map[string]string{"x.js": ""})
	r.publish(t, "changed", "1.0.0", `"bin":"x.js"`, map[string]string{"x.js": ""})
	r.tarballs["/changed/-/changed-1.0.0.tgz"] = pack(t, map[string]string{"package.json": "{}", "evil.js": ""})
	in := newInstall(t, e, client.RegistryConfig{Default: r.URL})
	ref := func(name, versions string) sandbox.PackageRef {
		return sandbox.PackageRef{Ecosystem: sandbox.NPM, Name: name, Range: versions}
	}
	for name, tt := range map[string]struct {
		ref  sandbox.PackageRef
		want *sandbox.Package
		is   func(error) bool
	}{
		"an unknown package":     {ref("nothing-here", ""), nil, errdefs.IsNotFound},
		"an unknown version":     {ref("@s/server", "9.9.9"), nil, errdefs.IsNotFound},
		"no program":             {ref("no-bin", ""), nil, errdefs.IsNotFound},
		"bytes that changed":     {ref("changed", ""), nil, errdefs.IsFailedPrecondition},
		"a dependency from git":  {ref("from-git", ""), nil, func(err error) bool { return err != nil }},
		"not what the lock says": {serverRef, &sandbox.Package{Ecosystem: sandbox.NPM, Name: "@s/server", Version: "1.2.3", Integrity: "sha512-other"}, errdefs.IsFailedPrecondition},
		"an option as a name":    {ref("--prefix=/x", ""), nil, errdefs.IsInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := in.Install(t.Context(), tt.ref, tt.want, nil)
			if !tt.is(err) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}

func TestNpmReachesNothingButTheRegistry(t *testing.T) {
	e := startEngine(t)
	elsewhere := newRegistry(t)
	elsewhere.tarballs["/x.tgz"] = pack(t, map[string]string{"package.json": `{"name":"x","version":"1.0.0"}`})
	r := newRegistry(t)
	r.publish(t, "from-url", "1.0.0", fmt.Sprintf(`"bin":"x.js","dependencies":{"x":"%s/x.tgz"}`, elsewhere.URL), map[string]string{"x.js": ""})
	in := newInstall(t, e, client.RegistryConfig{Default: r.URL})
	_, err := in.Install(t.Context(), sandbox.PackageRef{Ecosystem: sandbox.NPM, Name: "from-url"}, nil, nil)
	if err == nil {
		t.Error("a dependency from elsewhere was installed")
	}
	if n := elsewhere.count(); n != 0 {
		t.Errorf("%d requests reached it", n)
	}
	t.Logf("npm says: %v", err)
}

func TestAnInterruptedInstallLeavesNothingAndStartsClean(t *testing.T) {
	e := startEngine(t)
	r := newRegistry(t)
	r.server(t)
	r.hold = make(chan struct{})
	in := newInstall(t, e, client.RegistryConfig{Default: r.URL})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := in.Install(ctx, serverRef, nil, func(p sandbox.Progress) {
		if p.Message == "Found @s/server" {
			cancel()
		}
	})
	if err == nil {
		t.Fatal("an interrupted installation has ended well")
	}
	began, tick := time.Now(), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		status, err := e.Status(t.Context())
		if err == nil && status.Instances == 0 {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("still there: %+v, %v", status, err)
		}
	}
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
	close(r.hold)
	if p, err := in.Install(t.Context(), serverRef, nil, nil); err != nil || p.Version != "1.2.3" {
		t.Errorf("the next one: %+v, %v", p, err)
	}
}

// nvmNode makes a version of node as nvm keeps it, from the system's.
func nvmNode(t *testing.T, home string) string {
	t.Helper()
	npm, err := filepath.EvalSymlinks("/usr/bin/npm")
	if err != nil || !strings.HasSuffix(npm, "/npm/bin/npm-cli.js") {
		t.Skip("the system has no npm to make one from")
	}
	root := filepath.Join(home, ".nvm/versions/node/v99.1.0")
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(root, "lib/node_modules/npm"), os.DirFS(filepath.Dir(filepath.Dir(npm)))); err != nil {
		t.Skipf("npm cannot be copied: %v", err)
	}
	body, err := os.ReadFile("/usr/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin/node"), body, 0o755); err != nil {
		t.Fatal(err)
	}
	cli := filepath.Join(root, "lib/node_modules/npm/bin/npm-cli.js")
	if err := os.Chmod(cli, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../lib/node_modules/npm/bin/npm-cli.js", filepath.Join(root, "bin/npm")); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestInstallWithTheNodeOfAVersionManager(t *testing.T) {
	e := startEngine(t)
	r := newRegistry(t)
	r.server(t)
	home := t.TempDir()
	root := nvmNode(t, home)
	in := newInstall(t, e, client.RegistryConfig{Default: r.URL})
	in.Toolchain = func() (string, error) { return client.FindToolchain(home, root+"/bin:/usr/bin") }
	p, err := in.Install(t.Context(), serverRef, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Entry[0] != root+"/bin/node" {
		t.Errorf("it is started by %s", p.Entry[0])
	}
	l := sandboxtest.Shell("")
	l.Argv, l.Package, l.Root.Toolchain = p.Entry, &p, root
	i, pipes := sandboxtest.Start(t, e, l)
	if got := pipes.Line(t, "?"); !strings.HasPrefix(got, "from dep|") {
		t.Errorf("the server says %q", got)
	}
	if err := i.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

func TestAnInstallThatDiesWithTheEngineStartsClean(t *testing.T) {
	sandboxtest.Need(t, sandboxtest.RootlessContainerd)
	data := t.TempDir()
	r := newRegistry(t)
	r.server(t)
	r.hold = make(chan struct{})
	e := engineIn(t, data)
	in := newInstall(t, e, client.RegistryConfig{Default: r.URL})
	_, err := in.Install(t.Context(), serverRef, nil, func(p sandbox.Progress) {
		if p.Message == "Found @s/server" {
			if err := syscall.Kill(e.PID(), syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	})
	if !errdefs.IsUnavailable(err) {
		t.Errorf("got %v", err)
	}
	<-e.Done()
	close(r.hold)
	e = engineIn(t, data)
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
	in = newInstall(t, e, client.RegistryConfig{Default: r.URL})
	if p, err := in.Install(t.Context(), serverRef, nil, nil); err != nil || p.Version != "1.2.3" {
		t.Errorf("the next one: %+v, %v", p, err)
	}
}

func TestEqualReferencesAreInstalledOnce(t *testing.T) {
	e := startEngine(t)
	r := newRegistry(t)
	r.server(t)
	in := newInstall(t, e, client.RegistryConfig{Default: r.URL})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := in.Install(t.Context(), serverRef, nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := r.count(); n != 4 { // two descriptions, two tarballs
		t.Errorf("the registry was asked %d times for two packages", n)
	}
}
