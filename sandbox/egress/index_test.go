package egress_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

func pypi(x *sandboxtest.Index) client.RegistryConfig {
	return client.RegistryConfig{Ecosystem: sandbox.PyPI, Default: x.Simple()}
}

const demoWheel = "demo-1.0-py3-none-any.whl"

func TestAnIndexInside(t *testing.T) {
	w, _ := startWall(t)
	for name, older := range map[string]bool{"JSON": false, "HTML": true} {
		x := sandboxtest.NewIndex(t)
		x.HTML = older
		f := x.Publish(t, sandboxtest.Wheel{Name: "demo", Version: "1.0"})
		in := serve(t, w, pypi(x))
		status, body := in.get("/simple/demo/")
		if status != http.StatusOK || !strings.Contains(body, `"url":"http://127.0.0.1:4873/files/demo/`+demoWheel+`","hashes":{"sha256":"`+f.Digest+`"}`) {
			t.Errorf("%s: the page is %d %s", name, status, body)
		}
		if said := in.next(); said.Kind != wire.Packument || said.Name != "demo" {
			t.Errorf("%s: the wall says %+v", name, said)
		}
		if status, body := in.get("/files/demo/" + demoWheel + ".metadata"); status != http.StatusOK || body != string(f.Metadata) {
			t.Errorf("%s: its metadata is %d %s", name, status, body)
		}
		if said := in.next(); said.Kind != wire.Metadata || said.File != demoWheel+".metadata" {
			t.Errorf("%s: the wall says %+v", name, said)
		}
		if status, body = in.get("/files/demo/" + demoWheel); status != http.StatusOK || body != string(f.Body) {
			t.Errorf("%s: the file is %d, %d bytes", name, status, len(body))
		}
		if said := in.next(); said.Kind != wire.Tarball || said.Integrity != "sha256:"+f.Digest || said.File != demoWheel || said.Version != "1.0" {
			t.Errorf("%s: the wall says %+v", name, said)
		}
	}
}

func TestMetadataByItself(t *testing.T) {
	w, _ := startWall(t)
	for name, tt := range map[string]struct {
		lie  func(*sandboxtest.IndexFile)
		page bool // tells of it
	}{
		"other bytes than the page says": {func(f *sandboxtest.IndexFile) { f.Metadata = []byte("Name: other\n") }, true},
		"nothing there":                  {func(f *sandboxtest.IndexFile) { f.Metadata = nil }, true},
		"a page that tells of none":      {func(f *sandboxtest.IndexFile) { f.MetadataDigest = "" }, false},
		"a page that does not vouch":     {func(f *sandboxtest.IndexFile) { f.MetadataDigest = "true" }, false},
		"a wheel that may not be used":   {func(f *sandboxtest.IndexFile) { f.Yanked = true }, false},
	} {
		x := sandboxtest.NewIndex(t)
		tt.lie(x.Publish(t, sandboxtest.Wheel{Name: "demo", Version: "1.0"}))
		in := serve(t, w, pypi(x))
		if _, body := in.get("/simple/demo/"); strings.Contains(body, "core-metadata") != tt.page {
			t.Errorf("%s: the page is %s", name, body)
		}
		if status, body := in.get("/files/demo/" + demoWheel + ".metadata"); status < 400 {
			t.Errorf("%s: it is %d %s", name, status, body)
		}
	}
	x := sandboxtest.NewIndex(t)
	x.Source(t, "demo", "1.0", map[string]string{"setup.py": ""})
	if status, _ := serve(t, w, pypi(x)).get("/files/demo/demo-1.0.tar.gz.metadata"); status < 400 {
		t.Error("a source has metadata by itself")
	}
}

func TestOnlyWhatALockHas(t *testing.T) {
	w, _ := startWall(t)
	x := sandboxtest.NewIndex(t)
	old := x.Publish(t, sandboxtest.Wheel{Name: "demo", Version: "1.0"})
	x.Publish(t, sandboxtest.Wheel{Name: "demo", Version: "1.1"})
	x.Publish(t, sandboxtest.Wheel{Name: "other", Version: "1.0"})
	c := pypi(x)
	c.Pinned = map[string][]string{"demo": {old.Digest}}
	in := serve(t, w, c)
	if _, body := in.get("/simple/demo/"); strings.Contains(body, "1.1") || !strings.Contains(body, demoWheel) {
		t.Errorf("the page is %s", body)
	}
	if status, _ := in.get("/files/demo/demo-1.1-py3-none-any.whl"); status < 400 {
		t.Error("another file than the lock's is given")
	}
	if _, body := in.get("/simple/other/"); !strings.Contains(body, "other-1.0") {
		t.Errorf("what no lock speaks of is %s", body)
	}
}

// TestAttacksByAnIndex is what an index, or whoever has taken one over, may try.
func TestAttacksByAnIndex(t *testing.T) {
	w, log := startWall(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer elsewhere.Close()
	for name, tt := range map[string]struct {
		lie  func(*sandboxtest.IndexFile)
		page string // is in the page
		says string // of the file
	}{
		"other bytes than the page says": {func(f *sandboxtest.IndexFile) { f.Body = append(f.Body, 'x') }, demoWheel, "is not what the index's own page says"},
		"a file on another host":         {func(f *sandboxtest.IndexFile) { f.URL = elsewhere.URL + "/x.whl" }, demoWheel, "not one of the configured hosts"},
		"a file that was taken back":     {func(f *sandboxtest.IndexFile) { f.Yanked = true }, `"files":[]`, "is not there for this installation"},
		"a path in the name":             {func(f *sandboxtest.IndexFile) { f.Name = "../" + demoWheel }, `"files":[]`, "is not there for this installation"},
		"another project's file":         {func(f *sandboxtest.IndexFile) { f.Name = "requests-1.0-py3-none-any.whl" }, `"files":[]`, "is not there for this installation"},
	} {
		t.Run(name, func(t *testing.T) {
			x := sandboxtest.NewIndex(t)
			tt.lie(x.Publish(t, sandboxtest.Wheel{Name: "demo", Version: "1.0"}))
			in := serve(t, w, pypi(x))
			if _, body := in.get("/simple/demo/"); !strings.Contains(body, tt.page) {
				t.Errorf("the page is %s", body)
			}
			if status, body := in.get("/files/demo/" + demoWheel); status < 400 || !strings.Contains(body, tt.says) {
				t.Errorf("the file is %d %s", status, body)
			}
		})
	}
	if strings.Contains(log.String(), "panic") {
		t.Error(log.String())
	}
}

func TestAnIndexThatSendsOn(t *testing.T) {
	w, _ := startWall(t)
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer elsewhere.Close()
	from := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/simple/demo/", http.StatusFound))
	defer from.Close()
	in := serve(t, w, client.RegistryConfig{Ecosystem: sandbox.PyPI, Default: from.URL + "/simple"})
	if status, body := in.get("/simple/demo/"); status != http.StatusForbidden || reached {
		t.Errorf("%d %s, reached: %v", status, body, reached)
	}
}

func TestNothingElsePassesAnIndex(t *testing.T) {
	w, _ := startWall(t)
	x := sandboxtest.NewIndex(t)
	in := serve(t, w, pypi(x))
	for _, path := range []string{
		"/", "/simple/", "/simple/Demo/", "/simple/demo", "/simple/../x/", "/simple/a%2fb/", "/simple/demo/?x=1",
		"/files/demo/../x", "/files/demo/other-1.0.tar.gz", "/files/demo/demo-1.0.exe", "/pypi/demo/json", "/left-pad",
	} {
		if status, body := in.get(path); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if said := in.next(); said.Kind != wire.Refused {
			t.Errorf("%s: the wall says %+v", path, said)
		}
	}
	if paths := x.Paths(); len(paths) != 0 {
		t.Errorf("the index was asked for %q", paths)
	}
}

func TestVersionsOfAnIndexThatAreTooNewDoNotExist(t *testing.T) {
	w, _ := startWall(t)
	x := sandboxtest.NewIndex(t)
	x.Publish(t, sandboxtest.Wheel{Name: "demo", Version: "1.0"})
	x.Publish(t, sandboxtest.Wheel{Name: "demo", Version: "2.0"}).At = time.Now()
	x.Publish(t, sandboxtest.Wheel{Name: "demo", Version: "3.0"}).At = time.Time{} // it alone has none
	c := pypi(x)
	c.Before, c.Young = time.Now().Add(-72*time.Hour), []string{"demo@3.0"}
	in := serve(t, w, c)
	_, body := in.get("/simple/demo/")
	if !strings.Contains(body, "demo-1.0-") || strings.Contains(body, "demo-2.0-") || !strings.Contains(body, "demo-3.0-") {
		t.Errorf("the page is %s", body)
	}
	if said := in.next(); said.Kind != wire.Young || said.Version != "2.0" || said.Published.IsZero() {
		t.Errorf("the wall says %+v", said)
	}
	if status, _ := in.get("/files/demo/demo-2.0-py3-none-any.whl"); status != http.StatusForbidden {
		t.Errorf("its file is %d", status)
	}
}

func TestSourcesArePassedOnceTheyWereAllowed(t *testing.T) {
	w, _ := startWall(t)
	x := sandboxtest.NewIndex(t)
	x.Source(t, "demo", "1.0", map[string]string{"setup.py": "import os\n"})
	f := x.Source(t, "demo", "1.1", map[string]string{"setup.py": "import this\n"})
	in := serve(t, w, pypi(x))
	if _, body := in.get("/simple/demo/"); !strings.Contains(body, `"files":[]`) {
		t.Errorf("the page is %s", body)
	}
	said := in.next()
	if said.Kind != wire.Source || said.Version != "1.1" || said.Integrity != "sha256:"+f.Digest || said.Script != "setup.py:\nimport this" {
		t.Errorf("the wall says %+v", said)
	}
	c := pypi(x)
	c.Builds = []string{said.Name + "@" + said.Version + " " + said.Integrity}
	in = serve(t, w, c)
	if _, body := in.get("/simple/demo/"); !strings.Contains(body, "demo-1.1.tar.gz") || strings.Contains(body, "demo-1.0") {
		t.Errorf("the page is %s", body)
	}
	f.Body, f.Digest = append(bytes.Clone(f.Body), 'x'), ""
	in = serve(t, w, c)
	if status, body := in.get("/files/demo/demo-1.1.tar.gz"); status != http.StatusBadGateway {
		t.Errorf("other bytes than those that were looked at: %d %s", status, body)
	}
}

func TestAnIndexThatIsDown(t *testing.T) {
	w, _ := startWall(t)
	x := sandboxtest.NewIndex(t)
	f := x.Publish(t, sandboxtest.Wheel{Name: "demo", Version: "1.0"})
	c := pypi(x)
	c.Cache = t.TempDir()
	in := serve(t, w, c)
	in.get("/files/demo/" + demoWheel)
	x.Close()
	in = serve(t, w, c)
	if status, body := in.get("/files/demo/" + demoWheel); status != http.StatusOK || body != string(f.Body) {
		t.Errorf("%d, %d bytes", status, len(body))
	}
	if said := in.next(); !said.Cached {
		t.Errorf("the wall says %+v", said)
	}
	if status, _ := in.get("/simple/unknown/"); status != http.StatusBadGateway {
		t.Errorf("what was never there: %d", status)
	}
}

func TestCredentialsOfAnIndexStayOutside(t *testing.T) {
	w, log := startWall(t)
	x := sandboxtest.NewIndex(t)
	x.User, x.Password = "ana", "s3cret-of-the-index"
	x.Publish(t, sandboxtest.Wheel{Name: "demo", Version: "1.0"})
	c := pypi(x)
	in := serve(t, w, c)
	if status, _ := in.get("/simple/demo/"); status != http.StatusForbidden {
		t.Errorf("without them: %d", status)
	}
	c, _, err := client.HostIndex("/nonexistent", func(name string) (string, bool) {
		return strings.Replace(x.Simple(), "http://", "http://ana:s3cret-of-the-index@", 1), name == "UV_DEFAULT_INDEX"
	})
	if err != nil {
		t.Fatal(err)
	}
	in = serve(t, w, c)
	if status, body := in.get("/simple/demo/"); status != http.StatusOK || strings.Contains(body, "s3cret") {
		t.Errorf("with them: %d %s", status, body)
	}
	if strings.Contains(log.String(), "s3cret") {
		t.Error("they are in the log")
	}
}
