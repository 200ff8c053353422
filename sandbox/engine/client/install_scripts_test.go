package client_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// probe is an install script that writes down what it can see and reach.
const probe = `
const fs = require("fs"), net = require("net")
const found = {env: process.env, home: fs.readdirSync(process.env.HOME), cwd: process.cwd(), reached: []}
const tries = process.argv.slice(2)
const done = () => fs.writeFileSync("probed.json", JSON.stringify(found))
let left = tries.length
for (const t of tries) {
  const [host, port] = t.split(":")
  const s = net.connect({host, port, timeout: 3000})
  const over = ok => { if (ok) found.reached.push(t); s.destroy(); if (--left == 0) done() }
  s.on("connect", () => over(true)); s.on("error", () => over(false)); s.on("timeout", () => over(false))
}
`

// publishScripts is a server with two dependencies that have install scripts.
func publishScripts(t *testing.T, r *registry, elsewhere string) {
	t.Helper()
	r.publish(t, "native", "2.0.0", fmt.Sprintf(`"main":"i.js","scripts":{"install":"node probe.js %s 127.0.0.1:4873 1.1.1.1:443 registry.npmjs.org:443"}`, elsewhere),
		map[string]string{"i.js": "", "probe.js": probe})
	r.publish(t, "nosy", "1.0.0", `"main":"i.js","scripts":{"preinstall":"touch nosy-ran","postinstall":"touch ../../everything"}`, map[string]string{"i.js": ""})
	r.publish(t, "@s/scripted", "1.2.3", `"bin":"cli.js","dependencies":{"native":"^2.0.0","nosy":"*"}`, map[string]string{
		"cli.js": `#!/usr/bin/env node
const fs = require("fs"), path = require("path"), at = n => path.join(__dirname, "../..", n)
let probed = "none"; try { probed = fs.readFileSync(at("native/probed.json"), "utf8") } catch {}
require("readline").createInterface({input: process.stdin}).on("line", () =>
  console.log(JSON.stringify({probed, nosy: fs.existsSync(at("nosy/nosy-ran")) || fs.existsSync(at("../everything"))})))
`,
	})
}

// seenInside starts p and returns what it says of the scripts of its dependencies.
func seenInside(t *testing.T, e *client.Engine, p sandbox.Package) (probed string, nosy bool) {
	t.Helper()
	l := sandboxtest.Shell("")
	l.Argv, l.Package = p.Entry, &p
	i, pipes := sandboxtest.Start(t, e, l)
	var said struct {
		Probed string
		Nosy   bool
	}
	if err := json.Unmarshal([]byte(pipes.Line(t, "?")), &said); err != nil {
		t.Fatal(err)
	}
	if err := i.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
	return said.Probed, said.Nosy
}

// TestAttacksByInstallScripts is attack H48: scripts run for nobody who has not approved them, and
// then without secrets, with the registry as their only neighbor.
func TestAttacksByInstallScripts(t *testing.T) {
	t.Run("attack_H48", func(t *testing.T) {
		t.Setenv("GITHUB_TOKEN", "ghp_not_for_scripts")
		e := startEngine(t)
		elsewhere, r := newRegistry(t), newRegistry(t)
		publishScripts(t, r, strings.TrimPrefix(elsewhere.URL, "http://"))
		in := newInstall(t, e, client.RegistryConfig{Default: r.URL})
		ref := sandbox.PackageRef{Ecosystem: sandbox.NPM, Name: "@s/scripted"}
		plain, err := in.Install(t.Context(), ref, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(plain.Idle()); got != 2 || len(plain.Ran()) != 0 {
			t.Fatalf("%d scripts did not run, %d did: %+v", got, len(plain.Ran()), plain.Scripts)
		}
		if text := plain.Scripts[1].Text; text != "preinstall: touch nosy-ran\npostinstall: touch ../../everything" {
			t.Errorf("the script's text is %q", text)
		}
		if probed, nosy := seenInside(t, e, plain); probed != "none" || nosy {
			t.Errorf("without approval: %q, %v", probed, nosy)
		}
		want := plain.With(func(s sandbox.InstallScript) bool { return s.Name == "native" })
		var steps []string
		built, err := in.Install(t.Context(), ref, &want, func(p sandbox.Progress) { steps = append(steps, p.Step) })
		if err != nil {
			t.Fatal(err)
		}
		if len(built.Ran()) != 1 || built.Tree != plain.Tree || !strings.Contains(strings.Join(steps, " "), "scripts") {
			t.Errorf("built %+v with steps %q", built, steps)
		}
		probed, nosy := seenInside(t, e, built)
		var found struct {
			Env     map[string]string
			Home    []string
			Cwd     string
			Reached []string
		}
		if err := json.Unmarshal([]byte(probed), &found); err != nil {
			t.Fatalf("the approved script left %q: %v", probed, err)
		}
		if nosy {
			t.Error("the script that nobody approved ran with it")
		}
		if len(found.Reached) != 1 || found.Reached[0] != "127.0.0.1:4873" {
			t.Errorf("it reached %q; want the registry alone", found.Reached)
		}
		if found.Cwd != filepath.Join(sandbox.PackageRoot, "node_modules/native") || len(found.Home) != 0 {
			t.Errorf("it ran in %s, with %q at home", found.Cwd, found.Home)
		}
		for name, value := range found.Env {
			if strings.Contains(value, "ghp_not_for_scripts") {
				t.Errorf("%s=%s", name, value)
			}
		}
		if probed, _ := seenInside(t, e, plain); probed != "none" {
			t.Error("what was installed without scripts has changed")
		}
		r.Close()
		if again, err := in.Install(t.Context(), ref, &built, nil); err != nil || len(again.Ran()) != 1 {
			t.Errorf("by the lock: %+v, %v", again, err)
		}
		if again, err := in.Install(t.Context(), ref, nil, nil); err != nil || len(again.Ran()) != 0 {
			t.Errorf("without the lock: %+v, %v", again, err)
		}
		if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
			t.Errorf("left behind: %+v, %v", s, err)
		}
	})
}

func TestInstallScriptsThatAreRefused(t *testing.T) {
	e := startEngine(t)
	r := newRegistry(t)
	r.publish(t, "broken", "1.0.0", `"bin":"c.js","scripts":{"install":"echo no such header >&2; exit 3"}`, map[string]string{"c.js": "#!/usr/bin/env node\n"})
	r.publish(t, "thief", "1.0.0", `"bin":"c.js","scripts":{"install":"echo '{}' > ../.package-lock.json"}`, map[string]string{"c.js": "#!/usr/bin/env node\n"})
	in := newInstall(t, e, client.RegistryConfig{Default: r.URL})
	for name, tt := range map[string]struct {
		name string
		edit func(*sandbox.Package)
		is   func(error) bool
	}{
		"a script that fails":                 {"broken", func(*sandbox.Package) {}, func(err error) bool { return err != nil }},
		"a script that is not what was shown": {"broken", func(p *sandbox.Package) { p.Scripts[0].Text = "install: true" }, errdefs.IsFailedPrecondition},
		"a script that writes npm's lock":     {"thief", func(*sandbox.Package) {}, errdefs.IsFailedPrecondition},
	} {
		t.Run(name, func(t *testing.T) {
			ref := sandbox.PackageRef{Ecosystem: sandbox.NPM, Name: tt.name}
			p, err := in.Install(t.Context(), ref, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := p.With(func(sandbox.InstallScript) bool { return true })
			tt.edit(&want)
			got, err := in.Install(t.Context(), ref, &want, nil)
			if !tt.is(err) {
				t.Errorf("got %+v, %v", got, err)
			}
			t.Logf("it says: %v", err)
		})
	}
	if s, err := e.Sweep(t.Context()); err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}
