package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	egress "github.com/garita-dev/garita/sandbox/egress/wire"
	"github.com/garita-dev/garita/sandbox/engine/wire"
	"github.com/garita-dev/garita/sandbox/packages/pyproject"
)

// Install asks for one package.
type Install struct {
	Ref       sandbox.PackageRef
	Want      *sandbox.Package // the lock's entry; nil takes what the registry has
	Toolchain string           // see FindToolchain
	Before    time.Time        // as in sandbox.Package
	Young     []string
	Renew     bool // ask the registry whatever is there already
	// Of Python's: what files of this machine say, see HostNeeds, and the interpreter that fits ("3.12"; "" for
	// the one of Ref).
	Needs  *pyproject.Needs
	Python string
}

// InstalledPackage returns a package that is there already. NotFound when it is not.
func (e *Engine) InstalledPackage(ctx context.Context, i Install) (sandbox.Package, error) {
	return e.install(ctx, i, nil)
}

// InstallPackage returns the package that is there already, or installs it; walls are the File of a Registry,
// and where it comes from a repository that of another one; they stay the caller's. Ending ctx ends it and leaves nothing behind. progress may be nil.
//
// Kinds: NotFound when the registry has no such package or version, or it no such program;
// FailedPrecondition when it is not what Want says, or there is no node; Unavailable when the
// registry cannot be reached.
func (e *Engine) InstallPackage(ctx context.Context, i Install, progress func(sandbox.Progress), walls ...*os.File) (sandbox.Package, error) {
	return e.install(ctx, i, progress, walls...)
}

// PackageContents is everything that an installed package consists of, "name@version" each, sorted.
// NotFound.
func (e *Engine) PackageContents(ctx context.Context, p sandbox.Package) ([]string, error) {
	resp, err := e.send(ctx, "/v1/packages/contents", p)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var event wire.InstallEvent
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&event); err != nil {
		return nil, fmt.Errorf("read the engine's answer: %w: %w", err, errdefs.ErrInternal)
	}
	if event.Error != nil {
		return nil, event.Error.Err()
	}
	return event.Contents, nil
}

func (e *Engine) install(ctx context.Context, i Install, progress func(sandbox.Progress), files ...*os.File) (sandbox.Package, error) {
	resp, err := e.send(ctx, "/v1/packages", wire.Install{
		Ref: i.Ref, Want: i.Want, Toolchain: i.Toolchain, Before: i.Before, Young: i.Young, Renew: i.Renew, Needs: i.Needs, Python: i.Python,
	}, files...)
	if err != nil {
		return sandbox.Package{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		return sandbox.Package{}, wire.DecodeError(resp.StatusCode, body)
	}
	var got *sandbox.Package
	err = eachLine(resp.Body, func(line []byte) error {
		var event wire.InstallEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("read the engine's answer: %w: %w", err, errdefs.ErrInternal)
		}
		switch {
		case event.Error != nil && event.Build != nil:
			return fmt.Errorf("install %s: %w", i.Ref, &sandbox.NeedsBuild{Script: *event.Build})
		case event.Error != nil:
			return event.Error.Err()
		case event.Progress != nil && progress != nil:
			progress(*event.Progress)
		case event.Package != nil:
			got = event.Package
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return sandbox.Package{}, ctx.Err()
	case err != nil:
		return sandbox.Package{}, err
	case got == nil:
		return sandbox.Package{}, fmt.Errorf("the engine ended in the middle of an installation: %w", errdefs.ErrUnavailable)
	}
	return *got, nil
}

// Installer is sandbox.Installer by engine and wall together.
type Installer struct {
	Engine *Engine
	Wall   *Wall
	// Registries is asked for each installation: tokens are read when they are needed. See HostRegistries.
	Registries func() (RegistryConfig, error)
	Toolchain  func() (string, error) // see FindToolchain
	// Index and Python are the same for packages of Python's: see HostIndex and FindPythonToolchain.
	Index  func() (RegistryConfig, error)
	Python func(version string) (string, error)
	// Repository is how a repository of git's is reached: see HostRepository.
	Repository func(address string) (RegistryConfig, error)
	// Fetched is told what each installation fetched or was refused; nil is allowed.
	Fetched func(ref sandbox.PackageRef, f Fetch)
	// Renew asks the registry even where ref is installed: what is newest may have changed.
	Renew bool
}

var _ sandbox.Installer = (*Installer)(nil)

// Install implements sandbox.Installer. What is installed already needs neither wall nor registry.
func (in *Installer) Install(ctx context.Context, ref sandbox.PackageRef, want *sandbox.Package, progress func(sandbox.Progress)) (sandbox.Package, error) {
	i := Install{Ref: ref, Want: want, Renew: in.Renew}
	if err := in.read(&i); err != nil {
		return sandbox.Package{}, fmt.Errorf("install %s: %w", ref, err)
	}
	if !in.Renew {
		p, err := in.Engine.InstalledPackage(ctx, i)
		if !errdefs.IsNotFound(err) {
			return p, err
		}
	}
	registries, err := in.registries(ref, want)
	if err != nil {
		return sandbox.Package{}, fmt.Errorf("install %s: %w", ref, err)
	}
	if i.Needs != nil && !registries.Exactly {
		registries.Pinned = i.Needs.Pinned
	}
	i.Before, i.Young = registries.Before.Truncate(time.Second), registries.Young
	if want != nil && len(want.Files) > 0 {
		i.Young = want.Young // the files themselves are in the lock
	}
	one := inTurn(progress)
	fetched := &fetchProgress{tell: one, ref: ref, next: in.Fetched, young: map[string]Fetch{}, sources: map[string]Fetch{}, passed: map[string]string{}, failed: map[string]Fetch{}}
	registry, err := in.Wall.ServeRegistry(ctx, registries, fetched.seen)
	if err != nil {
		return sandbox.Package{}, fmt.Errorf("install %s: %w", ref, err)
	}
	p, err := in.served(ctx, i, registry, one, fetched.seen)
	if left := registry.Close(); err == nil {
		err = left
	}
	if err == nil {
		err = fetched.check(p)
	}
	if p.Tools = fetched.tools(p); len(p.Tools) == 0 && want != nil && len(p.Ran()) > 0 {
		p.Tools = want.Tools
	}
	return p, fetched.blame(err, ref, registries.Before)
}

// served installs i from registry, and from its repository where it has one.
func (in *Installer) served(ctx context.Context, i Install, registry *Registry, progress func(sandbox.Progress), seen func(Fetch)) (sandbox.Package, error) {
	if i.Ref.Repository == "" {
		return in.Engine.InstallPackage(ctx, i, progress, registry.File)
	}
	at, err := sandbox.ParseRepository(i.Ref.Repository)
	if err != nil {
		return sandbox.Package{}, err
	}
	c, err := in.Repository(at.URL)
	if err != nil {
		return sandbox.Package{}, err
	}
	repository, err := in.Wall.ServeRegistry(ctx, c, seen)
	if err != nil {
		return sandbox.Package{}, fmt.Errorf("install %s: %w", i.Ref, err)
	}
	p, err := in.Engine.InstallPackage(ctx, i, progress, registry.File, repository.File)
	if left := repository.Close(); err == nil {
		err = left
	}
	return p, err
}

// read fills i with what files of this machine say, and where the runtime lies.
func (in *Installer) read(i *Install) (err error) {
	if i.Needs, err = HostNeeds(i.Ref); err != nil {
		return err
	}
	if i.Want != nil && i.Want.Version != "" && i.Needs != nil && i.Needs.Name != "" && i.Want.Integrity != string(i.Needs.Digest()) {
		return fmt.Errorf("what it says that it needs is not what was installed any more (pyproject.toml, uv.lock, or its comment has changed): garita server update NAME installs that, and shows what changes: %w", errdefs.ErrFailedPrecondition)
	}
	if i.Needs != nil && i.Ref.Python == "" && (i.Want == nil || i.Want.Runtime == "") {
		i.Toolchain, i.Python, err = in.fitting(*i.Needs)
		return err
	}
	i.Toolchain, err = in.toolchain(i.Ref, i.Want)
	return err
}

// toolchain is where the runtime of ref lies.
func (in *Installer) toolchain(ref sandbox.PackageRef, want *sandbox.Package) (string, error) {
	if ref.Ecosystem != sandbox.PyPI {
		return in.Toolchain()
	}
	if want != nil && want.Runtime != "" {
		if root, err := in.Python(pythonOf(*want)); err == nil {
			return root, nil
		}
	}
	return in.Python(ref.Python)
}

// registries is where ref may come from, for an installation as want says.
func (in *Installer) registries(ref sandbox.PackageRef, want *sandbox.Package) (RegistryConfig, error) {
	from := in.Registries
	if ref.Ecosystem == sandbox.PyPI {
		from = in.Index
	}
	c, err := from()
	if err != nil {
		return c, err
	}
	if ref.Exact() {
		c.Prefer = ref.Name + "@" + ref.Range
	}
	if want == nil {
		return c, nil
	}
	if want.Version != "" { // the tree that was chosen then, whatever was published since
		c.Before, c.Young = want.Before, append(slices.Clone(want.Young), want.Name+"@"+want.Version)
	}
	for _, f := range slices.Concat(want.Files, want.Tools) { // or taken back
		c.Young = append(c.Young, f.Name+"@"+f.Version)
	}
	if c.Exactly = want.Version != "" && len(want.Tools) > 0; c.Exactly {
		c.Pinned = map[string][]string{}
		for _, f := range slices.Concat(want.Files, want.Tools) {
			c.Pinned[f.Name] = append(c.Pinned[f.Name], strings.TrimPrefix(string(f.Digest), "sha256:"))
		}
	}
	if ref.Ecosystem == sandbox.PyPI {
		for _, s := range want.Ran() {
			c.Builds = append(c.Builds, s.Spec()+" "+s.Integrity)
		}
	}
	slices.Sort(c.Young)
	c.Young = slices.Compact(c.Young)
	return c, nil
}

// inTurn makes f safe to be called from two goroutines.
func inTurn(f func(sandbox.Progress)) func(sandbox.Progress) {
	if f == nil {
		return func(sandbox.Progress) {}
	}
	turn := make(chan struct{}, 1)
	return func(p sandbox.Progress) {
		turn <- struct{}{}
		defer func() { <-turn }()
		f(p)
	}
}

// fetchProgress turns what the wall sees into progress. A repository and an index tell at the same time.
type fetchProgress struct {
	mu   sync.Mutex // guards all of it until the installation is over
	tell func(sandbox.Progress)
	ref  sandbox.PackageRef
	next func(sandbox.PackageRef, Fetch)
	done int64 // tarballs
	step string
	told time.Time
	// young is the newest version of each package that was left out for its age; with the one that
	// was asked for, that.
	young map[string]Fetch
	// sources is what was left out because building it runs its code; passed the digest of each file.
	sources map[string]Fetch
	passed  map[string]string
	files   []Fetch // those that passed whole
	// failed are the projects whose page could not be had: pip takes them for ones without versions.
	failed map[string]Fetch
}

// check refuses a package of files that have not passed the wall with those bytes.
func (p *fetchProgress) check(got sandbox.Package) error {
	for _, f := range got.Files {
		if p.passed[f.File] != string(f.Digest) {
			return fmt.Errorf("install %s: %s is not the file that came from the index: %w", p.ref, f.File, errdefs.ErrFailedPrecondition)
		}
	}
	return nil
}

// tools are the files that came besides those of p, where sources were built: what building them needed.
func (p *fetchProgress) tools(got sandbox.Package) []sandbox.PackageFile {
	if got.Ecosystem != sandbox.PyPI || len(got.Ran()) == 0 {
		return nil
	}
	var out []sandbox.PackageFile
	for _, f := range p.files {
		if !slices.ContainsFunc(slices.Concat(got.Files, out), func(o sandbox.PackageFile) bool { return o.File == f.File }) {
			out = append(out, sandbox.PackageFile{Name: f.Name, Version: f.Version, File: f.File, Digest: sandbox.Digest(f.Integrity)})
		}
	}
	slices.SortFunc(out, func(a, b sandbox.PackageFile) int { return strings.Compare(a.File, b.File) })
	return out
}

// blame says that an installation failed for want of versions that were left out, if it did.
func (p *fetchProgress) blame(err error, ref sandbox.PackageRef, before time.Time) error {
	if !errdefs.IsNotFound(err) {
		return err
	}
	for name, f := range p.young {
		if text := err.Error(); strings.Contains(text, "version found for "+name+"@") || strings.Contains(text, "versions available for "+name+":") {
			return fmt.Errorf("install %s: %w", ref, &sandbox.TooYoung{Ecosystem: sandbox.NPM, Name: name, Version: f.Version, At: f.Published, Before: before})
		}
	}
	if ref.Ecosystem == sandbox.PyPI {
		return p.blamePython(err, ref, before)
	}
	return err
}

// pipMissing is how pip names what it has found nothing for.
var pipMissing = regexp.MustCompile(`No matching distribution found for ([A-Za-z0-9._-]+)`)

func (p *fetchProgress) blamePython(err error, ref sandbox.PackageRef, before time.Time) error {
	m := pipMissing.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	name := sandbox.PythonName(strings.TrimRight(m[1], "-_."))
	young, isYoung := p.young[name]
	source, isSource := p.sources[name]
	if f, ok := p.failed[name]; ok {
		return fmt.Errorf("install %s: look %s up: %s: %w", ref, name, f.Why, errdefs.ErrUnavailable)
	}
	switch {
	case isYoung && (!isSource || name == ref.Name && young.Version == ref.Range):
		return fmt.Errorf("install %s: %w", ref, &sandbox.TooYoung{Ecosystem: sandbox.PyPI, Name: name, Version: young.Version, At: young.Published, Before: before})
	case isSource && source.Script == "":
		return fmt.Errorf("install %s: %s is there only as source, and what building that runs cannot be shown: %s: %w", ref, name, source.Why, errdefs.ErrFailedPrecondition)
	case isSource:
		return fmt.Errorf("install %s: %w", ref, &sandbox.NeedsBuild{Script: sandbox.InstallScript{
			Name: name, Version: source.Version, Integrity: source.Integrity, Text: source.Script,
		}})
	}
	return err
}

// pythonOf is the version of the interpreter that a package was installed for: "3.11".
func pythonOf(p sandbox.Package) string {
	parts := strings.Split(strings.TrimPrefix(p.Runtime, "python "), ".")
	if len(parts) < 2 {
		return ""
	}
	return parts[0] + "." + parts[1]
}

func (p *fetchProgress) leftOut(f Fetch) {
	old, ok := p.young[f.Name]
	asked := f.Name == p.ref.Name && f.Version == p.ref.Range
	if !ok || asked || f.Published.After(old.Published) && !(old.Name == p.ref.Name && old.Version == p.ref.Range) {
		p.young[f.Name] = f
	}
}

// often is how much progress a person can follow.
const often = 100 * time.Millisecond

func (p *fetchProgress) seen(f Fetch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next != nil {
		p.next(p.ref, f)
	}
	now := sandbox.Progress{Step: "resolve", Message: "Found " + f.Name}
	switch f.Kind {
	case egress.Packument:
		if f.Why != "" && f.Status != http.StatusNotFound {
			p.failed[f.Name] = f
		}
	case egress.Young:
		p.leftOut(f)
		return
	case egress.Source:
		p.sources[f.Name] = f
		return
	case egress.Tarball:
		p.done++
		p.passed[f.File] = f.Integrity
		if f.Why == "" && f.File != "" {
			p.files = append(p.files, f)
		}
		now = sandbox.Progress{Step: "download", Message: "Fetched " + f.Name + " " + f.Version}
	default:
		return
	}
	if now.Step == p.step && time.Since(p.told) < often {
		return
	}
	p.step, p.told, now.Done = now.Step, time.Now(), p.done
	p.tell(now)
}
