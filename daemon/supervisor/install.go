package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// Consent is what a person says about packages. Its methods wait for an answer as long as ctx
// lasts, and may overlap.
type Consent interface {
	// Package returns nil when ref may be installed for a server that has no package yet.
	Package(ctx context.Context, srv sandbox.Server, ref sandbox.PackageRef) error
	// Young returns nil when a version may be installed that is too new; installing is tried again.
	Young(ctx context.Context, srv sandbox.Server, y *sandbox.TooYoung) error
	// Scripts says which of p's install scripts may run. An error means that nobody has answered.
	Scripts(ctx context.Context, srv sandbox.Server, p sandbox.Package) ([]sandbox.InstallScript, error)
}

// install returns the package a server runs from, nil when it is no package.
func (s *Supervisor) install(ctx context.Context, srv sandbox.Server) (*sandbox.Package, []string, error) {
	ref, args, ok, err := sandbox.ParsePackageCommand(srv.Source.Command)
	if err == nil && !ok {
		err = refusePython(srv.Source.Command)
	}
	if err != nil || !ok {
		return nil, nil, err
	}
	locked, known := s.Lock.Locked(srv.Name, ref)
	p, err := s.fetch(ctx, srv, ref, locked, known)
	if err != nil {
		return nil, nil, err
	}
	if known && slices.Equal(locked.Scripts, p.Scripts) {
		return &p, args, nil
	}
	if err := s.Lock.SetLocked(srv.Name, ref, p); err != nil {
		return nil, nil, fmt.Errorf("remember the package in garita.lock: %w", err)
	}
	return &p, args, nil
}

// fetch installs ref as the lock has it, and runs the install scripts that may run.
func (s *Supervisor) fetch(ctx context.Context, srv sandbox.Server, ref sandbox.PackageRef, locked sandbox.Package, known bool) (sandbox.Package, error) {
	var want *sandbox.Package
	if known {
		locked = locked.With(func(x sandbox.InstallScript) bool { // what is no longer declared does not run
			return x.Ran && slices.Contains(srv.Spec.InstallScripts, x.Name)
		})
		want = &locked
	} else if err := s.Consent.Package(ctx, srv, ref); err != nil {
		return sandbox.Package{}, err
	}
	tell := func(p sandbox.Progress) { s.Progress(srv.Name, p) }
	p, err := s.installOld(ctx, srv, ref, want, tell)
	if err != nil {
		return p, err
	}
	return s.script(ctx, srv, ref, p, tell)
}

// maxYoung bounds the exceptions asked for in one installation.
const maxYoung = 5

// installOld installs versions that have been out for long enough, or that a person allows.
func (s *Supervisor) installOld(ctx context.Context, srv sandbox.Server, ref sandbox.PackageRef, want *sandbox.Package, tell func(sandbox.Progress)) (sandbox.Package, error) {
	for asked := 0; ; asked++ {
		p, err := s.Installer.Install(ctx, ref, want, tell)
		var young *sandbox.TooYoung
		if !errors.As(err, &young) || asked == maxYoung {
			return p, err
		}
		tell(sandbox.Progress{Step: "ask", Message: "Waiting for a person to allow " + young.Name + "@" + young.Version})
		if err := s.Consent.Young(ctx, srv, young); err != nil {
			return p, err
		}
	}
}

// script has those install scripts of p run that may, and have not.
func (s *Supervisor) script(ctx context.Context, srv sandbox.Server, ref sandbox.PackageRef, p sandbox.Package, tell func(sandbox.Progress)) (sandbox.Package, error) {
	if !slices.ContainsFunc(p.Idle(), func(x sandbox.InstallScript) bool { return slices.Contains(srv.Spec.InstallScripts, x.Name) }) {
		return p, nil
	}
	tell(sandbox.Progress{Step: "ask", Message: "Waiting for a person to look at install scripts"})
	may, err := s.Consent.Scripts(ctx, srv, p)
	if err != nil {
		return p, err
	}
	next := p.With(func(x sandbox.InstallScript) bool { return x.Ran || slices.ContainsFunc(may, x.Same) })
	if slices.Equal(next.Scripts, p.Scripts) {
		return p, nil
	}
	return s.Installer.Install(ctx, ref, &next, tell)
}

// refusePython says what to do about a command that would run a package of a Python index.
func refusePython(command []string) error {
	ref, _, ok, err := sandbox.ParsePythonCommand(command)
	if !ok || err != nil {
		return err
	}
	venv, program := "~/mcp/"+ref.Name, cmp.Or(ref.Bin, ref.Name)
	return fmt.Errorf("install %s: Python packages cannot be installed by this version of Garita; what works is a virtual environment of your own (/usr/bin/python3 -m venv %s && %s/bin/pip install %s), declared as run: %s/bin/%s with mounts: [{host: %s}], or an image; see docs/packages.md: %w",
		ref.Name, venv, venv, ref.Name, venv, program, venv, errdefs.ErrFailedPrecondition)
}
