package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
)

// asks runs f, answers the questions it leads to, in turn, and returns them.
func asks(t *testing.T, h *pinHome, yes bool, f func(*consents) error) ([]approvals.Request, error) {
	t.Helper()
	c := newConsents(h.Daemon)
	defer c.asking.Wait()
	done := make(chan error, 1)
	go func() { done <- f(c) }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := make(chan []approvals.Request)
	go func() {
		for ctx.Err() == nil {
			if list, err := h.gate.Await(ctx); err == nil {
				select {
				case waiting <- list:
				case <-ctx.Done():
				}
			}
		}
	}()
	var asked []approvals.Request
	for {
		select {
		case err := <-done:
			return asked, err
		case list := <-waiting:
			for _, r := range list {
				if slices.ContainsFunc(asked, func(x approvals.Request) bool { return x.ID == r.ID }) {
					continue // the list was made before the answer
				}
				if _, err := h.gate.Answer(t.Context(), r.ID, approvals.Answer{Approve: yes, By: "test", Binding: r.Binding}); err == nil {
					asked = append(asked, r)
				}
			}
		}
	}
}

func npx(name, spec string) sandbox.Server {
	return sandbox.Server{Name: sandbox.ServerName(name), Source: sandbox.Source{Command: []string{"npx", "-y", spec}}}
}

func refOf(t *testing.T, spec string) sandbox.PackageRef {
	t.Helper()
	ref, err := sandbox.ParsePackageSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func TestPackagesAreAskedAboutBeforeTheirFirstRun(t *testing.T) {
	const typo = "@modelcontextprotcol/server-filesystem"
	t.Run("attack_H50", func(t *testing.T) {
		for name, tt := range map[string]struct {
			command string
			says    string
		}{
			"a near name":     {"npx -y " + typo, "almost the well-known @modelcontextprotocol/server-filesystem"},
			"an unknown one":  {"npx jwt-mcp-server@latest", "not one of the well-known"},
			"unknown, Python": {"uvx jwt-mcp-server@latest", "not one of the well-known"},
			"near, Python":    {"uvx mcp-server-fetchh", "almost the well-known mcp-server-fetch"},
			"near, besides":   {"uvx --with mcp_server_fetchh mcp-server-git", "almost the well-known mcp-server-fetch"},
			"known, Python":   {"uvx --with pandas mcp-server-fetch", ""},
			"a known one":     {"npx -y @modelcontextprotocol/server-filesystem /tmp", ""},
			"no package":      {"node server.js", ""},
		} {
			got := strings.Join(packageWarnings(strings.Fields(tt.command)), " ")
			if (tt.says == "") != (got == "") || !strings.Contains(got, tt.says) {
				t.Errorf("%s: import says %q, want %q", name, got, tt.says)
			}
		}
		h := newPinHome(t)
		asked, err := asks(t, h, false, func(c *consents) error { return c.Package(t.Context(), npx("files", typo), refOf(t, typo)) })
		if !errdefs.IsPermissionDenied(err) || len(asked) != 1 || asked[0].Kind != approvals.KindInstall || len(asked[0].Subject.Install.Doubts) != 1 {
			t.Errorf("a no: %v after %+v", err, asked)
		}
		if asked, err = asks(t, h, true, func(c *consents) error { return c.Package(t.Context(), npx("files", typo), refOf(t, typo)) }); err != nil || len(asked) != 1 {
			t.Errorf("a yes: %v after %d questions", err, len(asked))
		}
		if asked, err = asks(t, h, false, func(c *consents) error {
			return c.Package(t.Context(), npx("files", "@playwright/mcp"), refOf(t, "@playwright/mcp"))
		}); err != nil || len(asked) != 0 {
			t.Errorf("a well-known one: %v after %d questions", err, len(asked))
		}
	})
}

func TestInstallScriptsAreShownWhole(t *testing.T) {
	h := newPinHome(t)
	srv := npx("files", "server")
	srv.Spec.InstallScripts = []string{"native"}
	p := sandbox.Package{Ecosystem: sandbox.NPM, Name: "server", Version: "1.0.0", Scripts: []sandbox.InstallScript{
		{Name: "native", Version: "2.0.0", Integrity: "sha512-a", Text: "install: node-gyp rebuild\npostinstall: rm \u202e-rf"},
		{Name: "other", Version: "1.0.0", Integrity: "sha512-b", Text: "install: x"},
	}}
	var may []sandbox.InstallScript
	var twice []sandbox.InstallScript
	asked, err := asks(t, h, true, func(c *consents) (err error) {
		if may, err = c.Scripts(t.Context(), srv, p); err == nil {
			twice, err = c.Scripts(t.Context(), srv, p)
		}
		return err
	})
	if err != nil || len(asked) != 1 || len(may) != 1 || may[0].Name != "native" || len(twice) != 1 {
		t.Fatalf("%v after %d questions: %+v", err, len(asked), may)
	}
	i := asked[0].Subject.Install
	if i.Package != "npm:native@2.0.0" || i.Integrity != "sha512-a" || !strings.Contains(i.Script, "postinstall: rm ") || strings.ContainsRune(i.Script, '\u202e') {
		t.Errorf("asked about %+v", i)
	}
	if asked[0].Why.Class != approvals.Execute || asked[0].Call.Server != "files" {
		t.Errorf("asked %+v", asked[0])
	}
	notices := strings.Join(packageNotices(new(p.With(func(s sandbox.InstallScript) bool { return s.Name == "native" }))), " ")
	if !strings.Contains(notices, "did not run: other@1.0.0") || !strings.Contains(notices, "have run, as approved: native@2.0.0") {
		t.Errorf("notices: %s", notices)
	}
}

func TestANoToAVersionThatIsTooNew(t *testing.T) {
	h := newPinHome(t)
	h.engine = newEngine(client.Config{}, "", h.log, func() {})
	y := &sandbox.TooYoung{Name: "a", Version: "2.0.0", At: time.Now(), Before: time.Now()}
	if asked, err := asks(t, h, false, func(c *consents) error { return c.Young(t.Context(), npx("files", "a"), y) }); !errors.Is(err, errdefs.ErrFailedPrecondition) || len(asked) != 1 {
		t.Errorf("a no: %v after %d questions", err, len(asked))
	}
	if _, err := asks(t, h, true, func(c *consents) error { return c.Young(t.Context(), npx("files", "a"), y) }); err != nil || len(h.engine.young) != 1 {
		t.Errorf("a yes: %v, %q", err, h.engine.young)
	}
}

// TestWhatWasResolvedOnceStays is attack H49: at a restart @latest is another version, a tag another image.
func TestWhatWasResolvedOnceStays(t *testing.T) {
	t.Run("attack_H49", func(t *testing.T) {
		h := newPinHome(t)
		ref := refOf(t, "files@latest")
		if err := h.config.SetPackage("files", sandbox.Package{Ecosystem: sandbox.NPM, Name: "files", Version: "1.0.0", Integrity: "sha512-a"}); err != nil {
			t.Fatal(err)
		}
		if err := h.config.SetImage("mail", config.Image{Reference: "ghcr.io/a/mail:1", Digest: "sha256:11"}); err != nil {
			t.Fatal(err)
		}
		h.restart()
		if p, ok := (packageLock{h.Daemon}).Locked("files", ref); !ok || p.Version != "1.0.0" {
			t.Errorf("@latest is %+v, %v", p, ok)
		}
		image, ok := h.config.Image("mail")
		if !ok || byDigest(image.Reference, image.Digest) != "ghcr.io/a/mail@sha256:11" {
			t.Errorf("the tag is %+v, %v", image, ok)
		}
		python := sandbox.Package{Ecosystem: sandbox.PyPI, Name: "notes", Version: "1.0", Files: []sandbox.PackageFile{{Name: "notes", Version: "1.0", File: "notes-1.0-py3-none-any.whl", Digest: "sha256:aa"}}}
		if err := h.config.SetPackage("notes", python); err != nil {
			t.Fatal(err)
		}
		h.restart()
		for command, same := range map[string]bool{"uvx notes@latest": true, "uvx notes>=1": true, "uvx notes==1": true, "uvx notes==1.1": false, "uvx --with more notes": false, "npx notes": false} {
			ref, _, _, err := sandbox.ParseCommand(strings.Fields(command))
			p, ok := (packageLock{h.Daemon}).Locked("notes", ref)
			if err != nil || ok != same || ok && (len(p.Files) != 1 || p.Files[0] != python.Files[0]) {
				t.Errorf("%s is %+v, %v, %v", command, p, ok, err)
			}
		}
	})
	for in, want := range map[string]string{
		"a:1":                   "a@sha256:11",
		"localhost:5000/a":      "localhost:5000/a@sha256:11",
		"localhost:5000/a/b:v1": "localhost:5000/a/b@sha256:11",
		"a@sha256:22":           "a@sha256:11",
		"/srv/layout":           "/srv/layout",
	} {
		if got := byDigest(in, "sha256:11"); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
