package engine

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	continuity "github.com/containerd/continuity/fs"
	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	egress "github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/engine/wire"
	"github.com/garita-dev/garita/sandbox/packages"
	"github.com/garita-dev/garita/sandbox/packages/pyproject"
)

// made is what an installation is made of besides files of an index.
type made struct {
	packages.Of
	source string // the folder to build, inside; "" where none is built
	extras string
}

// cloneTime bounds one life of git.
const cloneTime = installTime / 2

// of is what req is of: what was read of files of this machine, or a repository, whose files are below dir then.
func (in *installer) of(ctx context.Context, req wire.Install, dir string, walls []*os.File, report func(sandbox.Progress)) (made, error) {
	if req.Ref.Repository == "" {
		return made{Of: packages.Of{Needs: req.Needs}}, nil
	}
	if len(walls) < 2 {
		return made{}, fmt.Errorf("install %s: its repository cannot be reached: %w", req.Ref, errdefs.ErrInvalidArgument)
	}
	m, err := in.repository(ctx, req, dir, walls[1], report)
	if err != nil {
		return m, fmt.Errorf("install %s: %w", req.Ref, err)
	}
	return m, nil
}

// repository fetches the commit that is asked for, or the lock's, and says how it is installed: from where its
// files are, or built, which needs leave.
func (in *installer) repository(ctx context.Context, req wire.Install, dir string, wall *os.File, report func(sandbox.Progress)) (made, error) {
	at, err := sandbox.ParseRepository(req.Ref.Repository)
	if err != nil {
		return made{}, err
	}
	if lock := lockOf(req); lock != nil {
		at.Ref = lock.Version
	}
	report(sandbox.Progress{Step: "resolve", Message: "Fetching " + at.URL})
	source, err := in.clone(ctx, req, at, dir, wall)
	if err != nil {
		return made{}, err
	}
	if lock := lockOf(req); lock != nil && (source.Commit != lock.Version || string(source.Digest) != lock.Integrity) {
		return made{}, fmt.Errorf("the repository gives other files for commit %s than garita.lock says; to take the new ones, remove the entry from garita.lock: %w", lock.Version, errdefs.ErrFailedPrecondition)
	}
	return howToInstall(req, at, source, dir)
}

// clone has git fetch into a folder that is thrown away, and copies the files below dir.
func (in *installer) clone(ctx context.Context, req wire.Install, at sandbox.Repository, dir string, wall *os.File) (packages.Source, error) {
	plan, err := packages.NewClonePlan(at.Ref, egress.RegistryAddress)
	if err != nil {
		return packages.Source{}, err
	}
	key := "install/" + randomHex()
	from, err := in.engine.prepareSnapshot(ctx, key)
	if err != nil {
		return packages.Source{}, err
	}
	defer in.discard(ctx, key)
	what := "fetch " + at.URL
	if at.Ref != "" {
		what += " at " + at.Ref
	}
	if _, err := in.run(ctx, life{what: what, plan: plan, dir: from, wall: wall, within: cloneTime}); err != nil {
		return packages.Source{}, err
	}
	var s packages.Source
	s.Commit, s.Digest, err = packages.TakeTree(from, dir)
	s.Name = sandbox.PythonName(path.Base(strings.TrimSuffix(at.URL, ".git")))
	if req.Ref.Name != "" {
		s.Name = req.Ref.Name
	}
	return s, err
}

// howToInstall reads what was fetched. A project of the usual kind needs no code to be run: its modules are
// imported from where they are. Any other is built, if a person has allowed that for these very files.
func howToInstall(req wire.Install, at sandbox.Repository, source packages.Source, dir string) (made, error) {
	inside := path.Join(packages.SourceRoot, at.Folder)
	root, err := os.OpenRoot(filepath.Join(dir, "source", filepath.FromSlash(at.Folder)))
	if err != nil {
		return made{}, fmt.Errorf("open the folder of its package: %w: %w", err, errdefs.ErrFailedPrecondition)
	}
	defer root.Close()
	n, err := pyproject.ReadProject(root.FS(), inside, wishOf(req.Ref))
	why := ""
	switch {
	case err != nil:
		why = err.Error()
	default:
		if req.Ref.Name != "" && n.Name != req.Ref.Name {
			return made{}, fmt.Errorf("the package in the repository is %s, not %s: %w", n.Name, req.Ref.Name, errdefs.ErrFailedPrecondition)
		}
		source.Name = n.Name
		why = pyproject.Impure(root.FS(), n, inside)
	}
	if why == "" {
		return made{Of: packages.Of{Needs: &n, Source: &source}}, nil
	}
	return toBuild(req, source, root.FS(), inside)
}

// toBuild is a source that is built; NeedsBuild where nobody has allowed it.
func toBuild(req wire.Install, source packages.Source, folder fs.FS, inside string) (made, error) {
	builds, _ := allowedBuilds(req)
	if slices.ContainsFunc(builds, source.Built) {
		return made{Of: packages.Of{Source: &source}, source: inside, extras: req.Ref.Extras}, nil
	}
	text, err := packages.SourceScript(folder)
	if err != nil {
		return made{}, err
	}
	return made{}, &sandbox.NeedsBuild{Script: sandbox.InstallScript{Name: source.Name, Version: source.Commit, Integrity: string(source.Digest), Text: text}}
}

// wishOf is which parts of a project ref wants.
func wishOf(ref sandbox.PackageRef) pyproject.Wish {
	split := func(list string) []string {
		return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
	}
	return pyproject.Wish{Extras: split(ref.Extras), Groups: split(ref.Groups)}
}

// requirements are what pip is asked for.
func (m made) requirements(ref sandbox.PackageRef) []string {
	all := ref.Requirements()
	if m.Needs != nil {
		all = append(all, m.Needs.Requirements...)
	}
	if m.source != "" {
		text := m.source
		if m.extras != "" {
			text += "[" + m.extras + "]"
		}
		all = append(all, text)
	}
	return all
}

// copyTo gives a source to another sandbox, in which its build says what it needs.
func (m made) copyTo(dir, from string) error {
	if m.source == "" {
		return nil
	}
	if err := continuity.CopyDir(filepath.Join(from, "source"), filepath.Join(dir, "source")); err != nil {
		return fmt.Errorf("copy a source: %w", err)
	}
	return nil
}

func (m made) versioned(p packages.Plan) packages.Plan {
	if m.source == "" {
		return p
	}
	return p.Versioned(m.Source.Commit)
}
