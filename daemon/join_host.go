package daemon

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// host is the machine, as the supervisor's lowering asks about it.
type host struct{ *Daemon }

func (host) LookPath(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

func (host) EvalSymlinks(path string) (string, error) { return filepath.EvalSymlinks(path) }

// Image has the wall pull an image that is not there yet, and the engine import it.
func (h host) Image(ctx context.Context, server sandbox.ServerName, reference string) (sandbox.Digest, error) {
	return h.engine.image(ctx, reference, func(p sandbox.Progress) { h.noteProgress(server, p) })
}

// packageLock is garita.lock, as the supervisor uses it.
type packageLock struct{ *Daemon }

// Locked returns the entry if it is of this package and, where the command line names one exact
// version, of that version. A range or tag stays with the version it was first resolved to.
func (l packageLock) Locked(server sandbox.ServerName, ref sandbox.PackageRef) (sandbox.Package, bool) {
	p := l.config.Package(server)
	if p == nil || p.Ecosystem != ref.Ecosystem || p.Name != ref.Name || exact(ref.Range) && ref.Range != p.Version {
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

// exactVersion is one version without any operator or wildcard: 1.2.3, 2.0.0-beta.1.
var exactVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

func exact(r string) bool { return exactVersion.MatchString(r) }
