package daemon

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// host is the machine, as the supervisor's lowering asks about it.
type host struct{ *Daemon }

// LookPath passes over the shims of version managers (pyenv, asdf, mise …): they are scripts that look for the
// program of a version, which is not where they would look for it inside.
func (host) LookPath(program string) (string, error) {
	if !strings.Contains(program, "/") {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			if filepath.Base(dir) == "shims" || !filepath.IsAbs(dir) {
				continue
			}
			if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
				return path, nil
			}
		}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

func (host) EvalSymlinks(path string) (string, error) { return filepath.EvalSymlinks(path) }

// Image has the wall pull an image that is not there yet, and the engine import it.
func (h host) Image(ctx context.Context, server sandbox.ServerName, reference string) (sandbox.Digest, error) {
	if t := h.trials.of(server); t != nil && t.image != "" {
		return t.image, nil
	}
	tell := func(p sandbox.Progress) { h.noteProgress(server, p) }
	locked, ok := h.config.Image(server)
	if ok && locked.Reference == reference {
		return h.lockedImage(ctx, reference, locked.Digest, tell)
	}
	digest, err := h.engine.image(ctx, reference, tell)
	if _, configured := h.config.Server(server); err != nil || !configured {
		return digest, err
	}
	return digest, h.config.SetImage(server, config.Image{Reference: reference, Digest: digest})
}

// lockedImage is the very image that the lock has, wherever its tag points by now.
func (h host) lockedImage(ctx context.Context, reference string, want sandbox.Digest, tell func(sandbox.Progress)) (sandbox.Digest, error) {
	got, err := h.engine.image(ctx, byDigest(reference, want), tell)
	if err != nil {
		return "", err
	}
	if got != want {
		return "", fmt.Errorf("%s is not what garita.lock says: it is %s, the lock has %s; to take the new one: garita server update: %w", reference, got, want, errdefs.ErrFailedPrecondition)
	}
	return got, nil
}

// byDigest names the image of that digest in the repository of reference; a place on this machine
// is the only one of its kind.
func byDigest(reference string, digest sandbox.Digest) string {
	if filepath.IsAbs(reference) {
		return reference
	}
	repository, _, _ := strings.Cut(reference, "@")
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository = repository[:colon]
	}
	return repository + "@" + string(digest)
}

// packageLock is garita.lock, as the supervisor uses it.
type packageLock struct{ *Daemon }

// Locked returns the entry if it is of this package and, where the command line names one exact
// version, of that version. A range or tag stays with the version it was first resolved to.
func (l packageLock) Locked(server sandbox.ServerName, ref sandbox.PackageRef) (sandbox.Package, bool) {
	if t := l.trials.of(server); t != nil {
		return t.pkg, true
	}
	p := l.config.Package(server)
	if p == nil || !ref.Names(*p) {
		return sandbox.Package{}, false
	}
	return *p, true
}

// SetLocked records what was installed, and locks it where the server is a configured one.
func (l packageLock) SetLocked(server sandbox.ServerName, ref sandbox.PackageRef, p sandbox.Package) error {
	e := event(store.PackageInstalled, approvals.Principal{UID: l.uid}, map[string]any{"asked": ref, "package": p})
	e.Server = server
	if _, err := l.db.AppendDurable(context.Background(), e); err != nil {
		return err
	}
	if _, configured := l.config.Server(server); !configured {
		return nil // garita run: nothing is remembered of a command that is not configured
	}
	return l.config.SetPackage(server, p)
}
