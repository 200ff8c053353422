package engine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	egress "github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/engine/wire"
	"github.com/garita-dev/garita/sandbox/packages"
)

// python returns the package of Python's that req names, installing it when it is not there. It takes
// two lives of pip: one fetches, with the index for its only neighbor; the other installs exactly the
// files that we have looked at in between, and has no neighbor unless sources are to be built.
//
// A repository's files are fetched by a life of git before, with the repository for its only neighbor.
func (in *installer) python(ctx context.Context, req wire.Install, walls []*os.File, report func(sandbox.Progress)) (sandbox.Package, error) {
	py, err := findPython(req)
	if err != nil {
		return sandbox.Package{}, err
	}
	if !req.Renew {
		p, err := in.installedPython(ctx, req, py)
		if !isNotFound(err) || len(walls) == 0 {
			return p, err
		}
	}
	builds, locked := allowedBuilds(req)
	if err := needsBuilds(locked, builds); err != nil {
		return sandbox.Package{}, err
	}
	key := "install/" + randomHex()
	dir, err := in.engine.prepareSnapshot(ctx, key)
	if err != nil {
		return sandbox.Package{}, err
	}
	defer in.discard(ctx, key)
	of, err := in.of(ctx, req, dir, walls, report)
	if err != nil {
		return sandbox.Package{}, err
	}
	report(sandbox.Progress{Step: "resolve", Message: "Asking the index for " + req.Ref.String()})
	files, err := in.fetchPython(ctx, req, of, py, dir, walls[0], report)
	if err == nil && locked != nil && !slices.Equal(files, locked) {
		err = fmt.Errorf("install %s: what the index gives is not what garita.lock says; to take the new one, remove the entry from garita.lock: %w", req.Ref, errdefs.ErrFailedPrecondition)
	}
	if err != nil {
		return sandbox.Package{}, err
	}
	return in.finishPython(ctx, req, of, py, key, dir, files, walls[0], report)
}

// findPython is the interpreter to install for: the one that is asked for, else of the lock's version.
func findPython(req wire.Install) (packages.Python, error) {
	version := cmp.Or(req.Python, req.Ref.Python)
	was := ""
	if req.Want != nil {
		was = packages.PythonOf(*req.Want)
	}
	if was != "" {
		version = was
	}
	py, err := packages.FindPython(req.Toolchain, version)
	if err != nil && was != "" {
		return py, fmt.Errorf("%s was installed for python %s, which is not here any more: garita server update NAME installs it for the python that is, and shows what changes (%v): %w", req.Ref, was, err, errdefs.ErrFailedPrecondition)
	}
	return py, err
}

// allowedBuilds are the sources that may be built, and the lock's files; nil where there is no lock yet.
func allowedBuilds(req wire.Install) ([]sandbox.InstallScript, []sandbox.PackageFile) {
	if req.Want == nil {
		return nil, nil
	}
	return req.Want.Ran(), req.Want.Files
}

// needsBuilds refuses files that could not be installed.
func needsBuilds(files []sandbox.PackageFile, builds []sandbox.InstallScript) error {
	for _, f := range files {
		_, _, wheel, _ := sandbox.ParsePythonFile(f.File)
		if !wheel && !slices.ContainsFunc(builds, func(s sandbox.InstallScript) bool { return s.Name == f.Name && s.Integrity == string(f.Digest) }) {
			return &sandbox.NeedsBuild{Script: sandbox.InstallScript{Name: f.Name, Version: f.Version, Integrity: string(f.Digest)}}
		}
	}
	return nil
}

// fetchPython has pip fetch into a folder that is thrown away, and returns the files, moved to dir.
func (in *installer) fetchPython(ctx context.Context, req wire.Install, of made, py packages.Python, dir string, wall *os.File, report func(sandbox.Progress)) ([]sandbox.PackageFile, error) {
	requirements := of.requirements(req.Ref)
	if len(requirements) == 0 {
		return nil, nil
	}
	key := "install/" + randomHex()
	from, err := in.engine.prepareSnapshot(ctx, key)
	if err != nil {
		return nil, err
	}
	defer in.discard(ctx, key)
	if err := of.copyTo(dir, from); err != nil {
		return nil, err
	}
	builds, locked := allowedBuilds(req)
	_, err = in.run(ctx, life{
		what: "install " + req.Ref.String(), plan: of.versioned(packages.NewFetchPlan(requirements, locked, builds, py, egress.RegistryAddress)),
		toolchain: req.Toolchain, dir: from, wall: wall, within: installTime, said: sayingOf(builds, report),
	})
	if err != nil {
		return nil, err
	}
	files, err := packages.TakeFetched(from, dir, builds, py)
	if err != nil {
		return nil, fmt.Errorf("install %s: %w", req.Ref, err)
	}
	return files, nil
}

// sayingOf passes on what is said while foreign code runs.
func sayingOf(builds []sandbox.InstallScript, report func(sandbox.Progress)) func(string) {
	if len(builds) == 0 {
		return nil
	}
	return saying(report)
}

// finishPython installs the files below dir, and keeps that.
func (in *installer) finishPython(ctx context.Context, req wire.Install, of made, py packages.Python, key, dir string, files []sandbox.PackageFile, wall *os.File, report func(sandbox.Progress)) (sandbox.Package, error) {
	report(sandbox.Progress{Step: "unpack", Message: "Installing " + req.Ref.String()})
	builds, _ := allowedBuilds(req)
	n := life{
		what: "install " + req.Ref.String(), plan: of.versioned(packages.NewInstallPlan(files, builds, of.source, py, egress.RegistryAddress)),
		toolchain: req.Toolchain, dir: dir, within: installTime, said: sayingOf(builds, report),
	}
	if len(builds) > 0 {
		n.wall, n.within = wall, scriptTime
	}
	if _, err := in.run(ctx, n); err != nil {
		return sandbox.Package{}, err
	}
	if err := packages.FinishPython(dir, files, builds, of.Of, py); err != nil {
		return sandbox.Package{}, err
	}
	p, err := packages.ReadPython(dir, req.Ref, py)
	if err != nil {
		return sandbox.Package{}, err
	}
	p.Before, p.Young = req.Before, req.Young
	if err := packages.Check(p, lockOf(req)); err != nil {
		return sandbox.Package{}, err
	}
	report(sandbox.Progress{Step: "commit", Message: "Keeping " + req.Ref.String()})
	return p, in.keep(ctx, key, pythonKey(req, py), p)
}

// lockOf is the lock's entry; a package without a version only says what may be built.
func lockOf(req wire.Install) *sandbox.Package {
	if req.Want == nil || req.Want.Version == "" {
		return nil
	}
	return req.Want
}

// pythonKey is what an installation answers: the reference, as it reads now, for one version of the interpreter.
func pythonKey(req wire.Install, py packages.Python) string {
	ref := req.Ref
	key := "pypi " + ref.String() + " python" + py.Version
	if ref.Nameless() || ref.Groups != "" {
		key += " [" + ref.Extras + "] [" + ref.Groups + "]"
	}
	if req.Needs != nil {
		key += " " + string(req.Needs.Digest())
	}
	return key
}

// installedPython returns the package that ref, or the lock, names, if it is there. NotFound.
func (in *installer) installedPython(ctx context.Context, req wire.Install, py packages.Python) (sandbox.Package, error) {
	if req.Want != nil && lockOf(req) == nil {
		return sandbox.Package{}, fmt.Errorf("%s is being built: %w", req.Ref, errdefs.ErrNotFound)
	}
	info, err := in.find(ctx, req, pythonKey(req, py))
	if err != nil {
		return sandbox.Package{}, err
	}
	dir, done, err := in.view(ctx, info.Name)
	if err != nil {
		return sandbox.Package{}, err
	}
	defer done()
	p, err := packages.ReadPython(dir, req.Ref, py)
	if err != nil {
		return sandbox.Package{}, err
	}
	p.Before, p.Young = chosen(info.Labels)
	if err := packages.Check(p, req.Want); err != nil {
		return sandbox.Package{}, err
	}
	if len(p.Ran()) > 0 {
		return p, nil
	}
	return p, in.remember(ctx, info, pythonKey(req, py))
}
