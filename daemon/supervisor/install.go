package supervisor

import (
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

// installed is the package a server runs from, as its command asks for it; pkg is nil when it is no package.
type installed struct {
	pkg  *sandbox.Package
	ref  sandbox.PackageRef
	args []string
}

// install returns what a server runs from.
func (s *Supervisor) install(ctx context.Context, srv sandbox.Server) (installed, error) {
	ref, args, ok, err := sandbox.ParseCommand(srv.Source.Command)
	if err != nil || !ok {
		return installed{}, err
	}
	locked, known := s.Lock.Locked(srv.Name, ref)
	p, err := s.fetch(ctx, srv, ref, locked, known)
	if err != nil {
		return installed{}, err
	}
	if known && slices.Equal(locked.Scripts, p.Scripts) {
		return installed{&p, ref, args}, nil
	}
	if err := s.Lock.SetLocked(srv.Name, ref, p); err != nil {
		return installed{}, fmt.Errorf("remember the package in garita.lock: %w", err)
	}
	return installed{&p, ref, args}, nil
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

// installOld installs versions that have been out for long enough, or that a person allows; and of Python
// what has to be built first, if a person allows that.
func (s *Supervisor) installOld(ctx context.Context, srv sandbox.Server, ref sandbox.PackageRef, want *sandbox.Package, tell func(sandbox.Progress)) (sandbox.Package, error) {
	for asked := 0; ; asked++ {
		p, err := s.Installer.Install(ctx, ref, want, tell)
		var young *sandbox.TooYoung
		var build *sandbox.NeedsBuild
		switch {
		case asked == maxYoung:
			return p, err
		case errors.As(err, &young):
			tell(sandbox.Progress{Step: "ask", Message: "Waiting for a person to allow " + young.Name + "@" + young.Version})
			err = s.Consent.Young(ctx, srv, young)
		case errors.As(err, &build) && slices.Contains(srv.Spec.InstallScripts, build.Script.Name):
			tell(sandbox.Progress{Step: "ask", Message: "Waiting for a person to look at what building " + build.Script.Spec() + " runs"})
			want, err = s.mayBuild(ctx, srv, ref, want, build)
		default:
			return p, err
		}
		if err != nil {
			return p, err
		}
	}
}

// mayBuild is want with one more source that may be built, once a person has said so.
func (s *Supervisor) mayBuild(ctx context.Context, srv sandbox.Server, ref sandbox.PackageRef, want *sandbox.Package, build *sandbox.NeedsBuild) (*sandbox.Package, error) {
	next := &sandbox.Package{Ecosystem: ref.Ecosystem, Name: ref.Name, Scripts: []sandbox.InstallScript{build.Script}}
	may, err := s.Consent.Scripts(ctx, srv, *next)
	if err != nil {
		return want, err
	}
	if len(may) == 0 {
		return want, fmt.Errorf("%s is not built: a person said no: %w", build.Script.Spec(), errdefs.ErrPermissionDenied)
	}
	next.Scripts[0].Ran = true
	if want != nil {
		next.Scripts = append(next.Scripts, want.Ran()...)
	}
	return next, nil
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
