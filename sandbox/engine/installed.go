package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
	"github.com/garita-dev/garita/sandbox/packages"
)

// Labels of a package's snapshot: they are all that is remembered of an installation, and appear
// and disappear with it.
const (
	runtimeLabel = "garita.dev/package-runtime"
	beforeLabel  = "garita.dev/package-before"
	youngLabel   = "garita.dev/package-young"
	refLabel     = "garita.dev/package-ref." // and a digest of the reference; the value is the reference
)

// labelOf is the label of what an installation answers: npm's reference, or pythonKey.
func labelOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return refLabel + hex.EncodeToString(sum[:8])
}

// installed returns the package that ref, or the lock, names, if it is there. NotFound.
func (in *installer) installed(ctx context.Context, req wire.Install, tools packages.Tools) (sandbox.Package, error) {
	info, err := in.find(ctx, req, req.Ref.String())
	if err != nil {
		return sandbox.Package{}, err
	}
	p, err := in.readSnapshot(ctx, info.Name, req.Ref, tools)
	if err != nil {
		return sandbox.Package{}, err
	}
	p.Runtime = info.Labels[runtimeLabel]
	p.Before, p.Young = chosen(info.Labels)
	if err := packages.Check(p, req.Want); err != nil {
		return sandbox.Package{}, err
	}
	if p = ranAs(p, req.Want); len(p.Ran()) > 0 {
		return p, nil
	}
	return p, in.remember(ctx, info, req.Ref.String())
}

// find chooses the newest snapshot that fits: the lock's very own, one that was installed for this
// reference, or one of exactly the version it asks for.
func (in *installer) find(ctx context.Context, req wire.Install, key string) (snapshots.Info, error) {
	var best snapshots.Info
	err := in.engine.snapshots().Walk(inNamespace(ctx), func(_ context.Context, info snapshots.Info) error {
		if info.Kind == snapshots.KindCommitted && fits(info, req, key) && info.Created.After(best.Created) {
			best = info
		}
		return nil
	})
	if err != nil {
		return best, fmt.Errorf("look for installed packages: %w", err)
	}
	if best.Name == "" {
		return best, fmt.Errorf("%s is not installed: %w", req.Ref, errdefs.ErrNotFound)
	}
	return best, nil
}

// chosen is when a package's tree was chosen, as its snapshot remembers it.
func chosen(labels map[string]string) (before time.Time, young []string) {
	before, _ = time.Parse(time.RFC3339, labels[beforeLabel])
	if text := labels[youngLabel]; text != "" {
		young = strings.Split(text, " ")
	}
	return before, young
}

// fits says whether a snapshot is what is asked for: the lock's, else one that was installed for key, or
// one of exactly the version that npm is asked for.
func fits(info snapshots.Info, req wire.Install, key string) bool {
	ref := req.Ref
	if req.Want != nil {
		return info.Name == SnapshotName(*req.Want)
	}
	exact := fmt.Sprintf("%s/%s@%s/", sandbox.NPM, ref.Name, ref.Range)
	plain := !strings.Contains(path.Base(info.Name), scriptsRan) // what ran is the lock's alone to ask for
	return plain && (info.Labels[labelOf(key)] == key || ref.Ecosystem == sandbox.NPM && strings.HasPrefix(info.Name, exact))
}

// ranAs is p with those scripts having run that want says.
func ranAs(p sandbox.Package, want *sandbox.Package) sandbox.Package {
	if want == nil {
		return p
	}
	ran := want.Ran()
	return p.With(func(s sandbox.InstallScript) bool { return slices.ContainsFunc(ran, s.Same) })
}

// view is a committed snapshot's folder until done is called.
func (in *installer) view(ctx context.Context, name string) (dir string, done func(), err error) {
	key := "read/" + randomHex()
	mounts, err := in.engine.snapshots().View(inNamespace(ctx), key, name, temporary())
	if err != nil {
		return "", nil, fmt.Errorf("view %s: %w", name, err)
	}
	if dir, err = single(mounts); err != nil {
		in.discard(ctx, key)
		return "", nil, err
	}
	return dir, func() { in.discard(ctx, key) }, nil
}

// readSnapshot reads an installed package anew, as the data it is.
func (in *installer) readSnapshot(ctx context.Context, name string, ref sandbox.PackageRef, tools packages.Tools) (sandbox.Package, error) {
	dir, done, err := in.view(ctx, name)
	if err != nil {
		return sandbox.Package{}, err
	}
	defer done()
	return packages.Read(dir, ref, tools)
}

// contents is all that p's snapshot has, "name@version" each, sorted. NotFound.
func (in *installer) contents(ctx context.Context, p sandbox.Package) ([]string, error) {
	dir, done, err := in.view(ctx, SnapshotName(p))
	if err != nil {
		return nil, err
	}
	defer done()
	if p.Ecosystem == sandbox.PyPI {
		return packages.PythonContents(dir)
	}
	return packages.Contents(dir)
}

// keep makes the installation at key immutable, as one that answers what answers says. The same bytes may
// be there already, installed for something else: then they serve both.
func (in *installer) keep(ctx context.Context, key, answers string, p sandbox.Package) error {
	name := SnapshotName(p)
	labels := map[string]string{runtimeLabel: p.Runtime}
	if !p.Before.IsZero() {
		labels[beforeLabel], labels[youngLabel] = p.Before.UTC().Format(time.RFC3339), strings.Join(p.Young, " ")
	}
	if len(p.Ran()) == 0 {
		labels[labelOf(answers)] = answers
	}
	err := in.engine.commitSnapshot(ctx, name, key, labels)
	if !errdefs.IsAlreadyExists(err) {
		return err
	}
	if len(p.Ran()) > 0 {
		return nil
	}
	info, err := in.engine.snapshots().Stat(inNamespace(ctx), name)
	if err != nil {
		return fmt.Errorf("find snapshot %s: %w", name, err)
	}
	return in.remember(ctx, info, answers)
}

// remember notes what the snapshot answers, too.
func (in *installer) remember(ctx context.Context, info snapshots.Info, answers string) error {
	label := labelOf(answers)
	if info.Labels[label] == answers {
		return nil
	}
	update := snapshots.Info{Name: info.Name, Labels: map[string]string{label: answers}}
	if _, err := in.engine.snapshots().Update(inNamespace(ctx), update, "labels."+label); err != nil {
		return errors.Join(fmt.Errorf("label snapshot %s", info.Name), err)
	}
	return nil
}
