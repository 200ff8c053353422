package supervisor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

// person says yes to packages, and to the install scripts of these names.
type person struct {
	yes   []string
	err   error
	asked int
}

func (p *person) Package(context.Context, sandbox.Server, sandbox.PackageRef) error { return p.err }

func (p *person) Young(_ context.Context, _ sandbox.Server, y *sandbox.TooYoung) error {
	p.asked++
	if p.err == nil && len(p.yes) == 0 {
		return y
	}
	return p.err
}

func (p *person) Scripts(_ context.Context, srv sandbox.Server, pkg sandbox.Package) (may []sandbox.InstallScript, err error) {
	p.asked++
	for _, s := range pkg.Idle() {
		for _, name := range p.yes {
			if s.Name == name {
				may = append(may, s)
			}
		}
	}
	return may, p.err
}

// scripted installs packages with two install scripts, and runs those it is told to.
type scripted struct{ wants []*sandbox.Package }

func (r *scripted) Install(_ context.Context, ref sandbox.PackageRef, want *sandbox.Package, _ func(sandbox.Progress)) (sandbox.Package, error) {
	r.wants = append(r.wants, want)
	p := sandbox.Package{Name: ref.Name, Version: "1.0.0", Entry: []string{"/bin/cat"}, Scripts: []sandbox.InstallScript{
		{Name: "native", Version: "2.0.0", Text: "install: cc"}, {Name: "nosy", Version: "1.0.0", Text: "postinstall: curl"},
	}}
	return p.With(func(s sandbox.InstallScript) bool {
		if want != nil {
			for _, ran := range want.Ran() {
				if ran.Same(s) {
					return true
				}
			}
		}
		return false
	}), nil
}

func ranNames(p sandbox.Package) string {
	names := ""
	for _, s := range p.Ran() {
		names += s.Name + " "
	}
	return names
}

func TestInstallScriptsRunWhenDeclaredAndApproved(t *testing.T) {
	for name, tt := range map[string]struct {
		declared, yes, locked []string
		ran                   string
		asked                 int
	}{
		"declared and approved":                 {[]string{"native"}, []string{"native"}, nil, "native ", 1},
		"not declared":                          {nil, []string{"native"}, nil, "", 0},
		"declared, not approved":                {[]string{"native"}, nil, nil, "", 1},
		"approved before":                       {[]string{"native"}, nil, []string{"native"}, "native ", 0},
		"approved before, not declared anymore": {nil, nil, []string{"native"}, "", 0},
		"one more is declared":                  {[]string{"native", "nosy"}, []string{"nosy"}, []string{"native"}, "native nosy ", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, lock, _ := newTest(t)
			who, in := &person{yes: tt.yes}, &scripted{}
			s.Installer, s.Consent = in, who
			srv := sandbox.Server{Name: "srv", Source: sandbox.Source{Command: []string{"npx", "x"}}}
			srv.Spec.InstallScripts = tt.declared
			if tt.locked != nil {
				p, _ := in.Install(t.Context(), sandbox.PackageRef{Name: "x"}, nil, nil)
				lock.locked["srv"] = p.With(func(x sandbox.InstallScript) bool { return x.Name == tt.locked[0] })
			}
			if err := s.Prepare(t.Context(), srv); err != nil {
				t.Fatal(err)
			}
			if got := ranNames(lock.locked["srv"]); got != tt.ran || who.asked != tt.asked {
				t.Errorf("the lock says that %q ran, asked %d times; want %q, %d", got, who.asked, tt.ran, tt.asked)
			}
		})
	}
}

func TestWithoutAnAnswerNothingIsInstalled(t *testing.T) {
	s, _, lock, _ := newTest(t)
	in, nobody := &scripted{}, errors.New("nobody has answered")
	s.Installer, s.Consent = in, &person{err: nobody}
	srv := sandbox.Server{Name: "srv", Source: sandbox.Source{Command: []string{"npx", "x"}}}
	if err := s.Prepare(t.Context(), srv); !errors.Is(err, nobody) || len(in.wants) != 0 || len(lock.locked) != 0 {
		t.Errorf("%v after %d installations: %s", err, len(in.wants), cmp.Diff(lock.locked, nil))
	}
}

// fresh has nothing but a version of yesterday.
type fresh struct {
	scripted
	allowed func() bool
}

func (r *fresh) Install(ctx context.Context, ref sandbox.PackageRef, want *sandbox.Package, tell func(sandbox.Progress)) (sandbox.Package, error) {
	if !r.allowed() {
		return sandbox.Package{}, &sandbox.TooYoung{Name: ref.Name, Version: "9.0.0"}
	}
	return r.scripted.Install(ctx, ref, want, tell)
}

func TestAVersionThatIsTooNewIsAskedAbout(t *testing.T) {
	for name, yes := range map[string]bool{"allowed": true, "not allowed": false} {
		t.Run(name, func(t *testing.T) {
			s, _, lock, _ := newTest(t)
			who := &person{}
			if yes {
				who.yes = []string{"anything"}
			}
			s.Consent = who
			s.Installer = &fresh{allowed: func() bool { return yes && who.asked > 0 }}
			err := s.Prepare(t.Context(), sandbox.Server{Name: "srv", Source: sandbox.Source{Command: []string{"npx", "x"}}})
			if (err == nil) != yes || who.asked != 1 || len(lock.locked) != 0 != yes {
				t.Errorf("%v, asked %d times, %d locked", err, who.asked, len(lock.locked))
			}
		})
	}
}

// built installs a package of Python's, once its source may be built.
type built struct{ wants []*sandbox.Package }

func (r *built) Install(_ context.Context, ref sandbox.PackageRef, want *sandbox.Package, _ func(sandbox.Progress)) (sandbox.Package, error) {
	r.wants = append(r.wants, want)
	native := sandbox.InstallScript{Name: "native", Version: "1.0", Integrity: "sha256:aa", Text: "setup.py:\nx"}
	if want == nil || len(want.Ran()) == 0 {
		return sandbox.Package{}, &sandbox.NeedsBuild{Script: native}
	}
	native.Ran = true
	return sandbox.Package{Ecosystem: ref.Ecosystem, Name: ref.Name, Version: "1.0", Entry: []string{"/bin/cat"}, Scripts: []sandbox.InstallScript{native}}, nil
}

func TestSourcesAreBuiltWhenDeclaredAndApproved(t *testing.T) {
	for name, tt := range map[string]struct {
		declared, yes []string
		says          string // "" is built
		asked         int
	}{
		"declared and approved":  {[]string{"native"}, []string{"native"}, "", 1},
		"not declared":           {nil, []string{"native"}, "install: {scripts: [native]}", 0},
		"declared, not approved": {[]string{"native"}, nil, "a person said no", 1},
	} {
		t.Run(name, func(t *testing.T) {
			who, in := &person{yes: tt.yes}, &built{}
			s := New(Options{Installer: in, Lock: &lockFile{locked: map[sandbox.ServerName]sandbox.Package{}}, Consent: who, Progress: func(sandbox.ServerName, sandbox.Progress) {}})
			srv := sandbox.Server{Name: "x", Source: sandbox.Source{Command: []string{"uvx", "server", "-v"}}, Spec: sandbox.Spec{InstallScripts: tt.declared}}
			got, err := s.install(t.Context(), srv)
			switch {
			case tt.says != "":
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("got %+v, %v", got, err)
				}
			case err != nil || len(got.pkg.Ran()) != 1 || len(got.args) != 1 || in.wants[1].Version != "":
				t.Errorf("got %+v, %v after %+v", got, err, in.wants)
			}
			if who.asked != tt.asked {
				t.Errorf("asked %d times", who.asked)
			}
		})
	}
}
