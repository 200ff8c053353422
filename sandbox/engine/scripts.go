package engine

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/containerd/continuity/fs"
	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	egress "github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/engine/wire"
	"github.com/garita-dev/garita/sandbox/packages"
)

// scriptTime bounds the install scripts of one package's tree: a large C++ program compiles that
// long on a slow machine.
const scriptTime = 30 * time.Minute

// scripted is the package that req wants, with the install scripts run that it says. They run in a
// copy of what was installed without them, which stays as it is.
func (in *installer) scripted(ctx context.Context, req wire.Install, tools packages.Tools, wall *os.File, report func(sandbox.Progress)) (sandbox.Package, error) {
	run := req.Want.Ran()
	if err := distinct(req.Want.Scripts); err != nil {
		return sandbox.Package{}, err
	}
	without := req.Want.With(func(sandbox.InstallScript) bool { return false })
	plain := req
	plain.Want = &without
	p, err := in.installed(ctx, plain, tools)
	if isNotFound(err) {
		p, err = in.fresh(ctx, plain, tools, wall, report)
	}
	if err == nil {
		err = packages.Check(p, req.Want)
	}
	if err != nil {
		return sandbox.Package{}, err
	}
	// What was installed tells when it was chosen; the copy tells the same.
	return ranAs(p, req.Want), in.runScripts(ctx, req, ranAs(p, req.Want), run, tools, wall, report)
}

// runScripts runs them in a copy of p's snapshot and keeps that.
func (in *installer) runScripts(ctx context.Context, req wire.Install, p sandbox.Package, run []sandbox.InstallScript, tools packages.Tools, wall *os.File, report func(sandbox.Progress)) error {
	key := "install/" + randomHex()
	dir, err := in.engine.prepareSnapshot(ctx, key)
	if err != nil {
		return err
	}
	defer in.discard(ctx, key)
	if err := in.copyInstalled(ctx, dir, SnapshotName(p.With(func(sandbox.InstallScript) bool { return false }))); err != nil {
		return err
	}
	what := "run the install scripts of " + scriptSpecs(run)
	report(sandbox.Progress{Step: "scripts", Message: "Running the install scripts of " + scriptSpecs(run)})
	_, err = in.run(ctx, life{
		what: what, plan: packages.NewScriptsPlan(run, tools, packages.FindHeaders(tools, req.Toolchain), egress.RegistryAddress),
		toolchain: req.Toolchain, dir: dir, wall: wall, within: scriptTime, said: saying(report),
	})
	if err != nil {
		return err
	}
	// A script writes what it likes; that the rest is still what was installed is looked at.
	after, err := packages.Read(dir, req.Ref, tools)
	if err == nil {
		err = packages.Check(after, &p)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return in.commit(ctx, key, dir, req.Ref, p, report)
}

// copyInstalled copies a committed snapshot into dir, as the data it is: links stay links.
func (in *installer) copyInstalled(ctx context.Context, dir, name string) error {
	key := "read/" + randomHex()
	mounts, err := in.engine.snapshots().View(inNamespace(ctx), key, name, temporary())
	if err != nil {
		return fmt.Errorf("view %s: %w", name, err)
	}
	defer in.discard(ctx, key)
	from, err := single(mounts)
	if err != nil {
		return err
	}
	if err := fs.CopyDir(dir, from); err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	return nil
}

// distinct refuses what npm could not tell apart.
func distinct(all []sandbox.InstallScript) error {
	seen := map[string]bool{}
	for _, s := range all {
		if seen[s.Spec()] {
			return fmt.Errorf("%s is there with two different install scripts; neither can be run: %w", s.Spec(), errdefs.ErrFailedPrecondition)
		}
		seen[s.Spec()] = true
	}
	return nil
}

func scriptSpecs(scripts []sandbox.InstallScript) string {
	var all []string
	for _, s := range scripts {
		all = append(all, s.Spec())
	}
	return strings.Join(all, ", ")
}

// sayEvery is how often a script's own words are passed on; sayMost bounds them, in bytes.
const (
	sayEvery = time.Second
	sayMost  = 120
)

// saying passes on a line now and then: enough to see that something happens.
func saying(report func(sandbox.Progress)) func(string) {
	var last time.Time
	return func(line string) {
		if time.Since(last) < sayEvery {
			return
		}
		last = time.Now()
		line = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return -1
			}
			return r
		}, line)
		if len(line) > sayMost {
			line = strings.ToValidUTF8(line[:sayMost], "") + "…"
		}
		report(sandbox.Progress{Step: "scripts", Message: line})
	}
}
