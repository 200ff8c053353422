package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/pins"
	"github.com/garita-dev/garita/assets"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/packages/wellknown"
	"github.com/garita-dev/garita/store"
)

// The rules by which a person is asked about packages.
const (
	ruleNames   = "a package that can be mistaken for a well-known one is asked about"
	ruleAge     = "a version has to be out for a while"
	ruleScripts = "install scripts run only when a person has seen them"
)

// consents puts questions about packages to a person. A question outlives who had to wait for it: a
// client that has lost its patience finds the answer at its next start.
type consents struct {
	d      *Daemon
	asking sync.WaitGroup // questions that wait

	mu    sync.Mutex // guards asked
	asked map[sandbox.Digest]*consent
}

// consent is one question; answered ones stay for the daemon's life, so that a no is not asked again.
type consent struct {
	server   sandbox.ServerName
	done     chan struct{}
	decision approvals.Decision // read only after done, as err
	err      error
}

func newConsents(d *Daemon) *consents {
	return &consents{d: d, asked: map[sandbox.Digest]*consent{}}
}

// answer is a person's answer to q, now or earlier. An error says that there is none.
func (c *consents) answer(ctx context.Context, q approvals.Question) (yes bool, err error) {
	one := c.ask(q)
	select {
	case <-one.done:
	case <-ctx.Done():
		return false, fmt.Errorf("wait for a person: %w", ctx.Err())
	}
	d := one.decision
	switch {
	case one.err != nil:
		return false, fmt.Errorf("ask a person: %w", one.err)
	case d.Outcome != approvals.Approved && d.Outcome != approvals.Denied:
		return false, fmt.Errorf("%s %s; it is asked again at the next start: %w", q.Subject.Install.Package, lowerFirst(strings.TrimSuffix(d.Reason, ".")), errdefs.ErrUnavailable)
	}
	return d.Allowed(), nil
}

func (c *consents) ask(q approvals.Question) *consent {
	c.mu.Lock()
	defer c.mu.Unlock()
	binding := q.Binding()
	if one := c.asked[binding]; one != nil {
		return one
	}
	one := &consent{server: q.About.Server, done: make(chan struct{})}
	c.asked[binding] = one
	c.asking.Go(func() {
		one.decision, one.err = c.d.gate.Ask(c.d.running, q)
		if o := one.decision.Outcome; one.err != nil || o != approvals.Approved && o != approvals.Denied {
			c.mu.Lock()
			delete(c.asked, binding)
			c.mu.Unlock()
		}
		close(one.done)
	})
	return one
}

// forget has what was answered about a server asked again.
func (c *consents) forget(server sandbox.ServerName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for binding, one := range c.asked {
		select {
		case <-one.done:
			if one.server == server {
				delete(c.asked, binding)
			}
		default: // it waits: it is asked already
		}
	}
}

// about says which server a question is about. Nobody's session asks: the answer is the server's.
func (c *consents) about(srv sandbox.Server, sentence string) (approvals.Call, error) {
	spec, err := config.Digest(srv)
	return approvals.Call{
		Principal: approvals.Principal{UID: c.d.uid}, Server: srv.Name, Spec: spec, Mode: srv.Spec.Workspace,
		Sentence: sentence, At: time.Now().UTC(),
	}, err
}

// Package implements supervisor.Consent: a name that can be taken for a well-known one is asked
// about before anything of it is fetched.
func (c *consents) Package(ctx context.Context, srv sandbox.Server, ref sandbox.PackageRef) error {
	for _, one := range namedBy(ref) {
		if doubt, ok := wellKnown().Doubt(one); ok && doubt.Kind == wellknown.Near {
			if err := c.near(ctx, srv, one, doubt); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *consents) near(ctx context.Context, srv sandbox.Server, ref sandbox.PackageRef, doubt wellknown.Doubt) error {
	about, err := c.about(srv, fmt.Sprintf("install and run the package %s, which can be mistaken for %s", ref, doubt.Like))
	if err != nil {
		return err
	}
	yes, err := c.answer(ctx, approvals.Question{
		About:   about,
		Subject: approvals.Subject{Install: &approvals.Installation{Package: string(ref.Ecosystem) + ":" + ref.String(), Doubts: []string{doubt.Text}}},
		Why:     approvals.Decision{Effect: approvals.Ask, Class: approvals.Execute, Rule: ruleNames, Reason: doubt.Text},
	})
	if err != nil || yes {
		return err
	}
	return fmt.Errorf("%s is not installed: a person said no, because it can be mistaken for %s: %w", ref, doubt.Like, errdefs.ErrPermissionDenied)
}

// Young implements supervisor.Consent: a version that is too new is an exception a person may make.
func (c *consents) Young(ctx context.Context, srv sandbox.Server, y *sandbox.TooYoung) error {
	about, err := c.about(srv, fmt.Sprintf("install %s@%s, which was published only lately", y.Name, y.Version))
	if err != nil {
		return err
	}
	yes, err := c.answer(ctx, approvals.Question{
		About:   about,
		Subject: approvals.Subject{Install: &approvals.Installation{Package: string(y.Ecosystem) + ":" + y.Name + "@" + y.Version, Doubts: []string{y.Error()}}},
		Why: approvals.Decision{
			Effect: approvals.Ask, Class: approvals.Execute, Rule: ruleAge,
			Reason: "Most poisoned versions are found and taken back within days.",
		},
	})
	if err != nil {
		return err
	}
	if !yes {
		return y
	}
	c.d.engine.allow(y.Ecosystem, y.Name, y.Version)
	return nil
}

// packageFetched is what the record says of what an installation fetched.
const packageFetched store.Kind = "package.fetched"

// maxNoted bounds what one installation writes into the record; the largest seen fetches 600 tarballs.
const maxNoted = 5000

// noteFetched records names and versions of what one installation fetched, was refused, and left out.
func (d *Daemon) noteFetched(ref sandbox.PackageRef, all []client.Fetch) {
	var tarballs, refused, young, sources, repositories []string
	for _, f := range all {
		name := f.Name + "@" + f.Version
		switch {
		case f.Kind == client.FetchCloned && f.Why == "":
			repositories = append(repositories, f.Name)
		case f.Kind == client.FetchRefused || f.Kind == client.FetchCloned || f.Kind == client.FetchedTarball && f.Why != "":
			refused = append(refused, f.Name+" "+f.Version+": "+f.Why)
		case f.Kind == client.FetchYoung:
			young = append(young, name)
		case f.Kind == client.FetchSource:
			sources = append(sources, name+" "+f.Integrity)
		case f.Kind == client.FetchedTarball && f.Cached:
			tarballs = append(tarballs, name+" "+f.Integrity+" (kept)")
		case f.Kind == client.FetchedTarball:
			tarballs = append(tarballs, name+" "+f.Integrity)
		}
	}
	for _, list := range []*[]string{&tarballs, &refused, &young, &sources, &repositories} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		if len(*list) > maxNoted {
			*list = append((*list)[:maxNoted], fmt.Sprintf("and %d more", len(*list)-maxNoted))
		}
	}
	body := map[string]any{"asked": ref, "tarballs": tarballs}
	if len(refused) > 0 {
		body["refused"] = refused
	}
	if len(repositories) > 0 {
		body["repositories"] = repositories
	}
	if len(sources) > 0 {
		body["not_built"] = sources
	}
	if len(young) > 0 {
		body["too_new"] = young
		d.log.Info("versions were left out because they are too new", "package", ref.String(), "left_out", few(young))
	}
	if _, err := d.db.Append(context.WithoutCancel(d.running), event(packageFetched, approvals.Principal{UID: d.uid}, body)); err != nil {
		d.log.Error("cannot record what was fetched", "package", ref.String(), "err", err)
	}
}

// wellKnown are the names of packages that we ship.
var wellKnown = sync.OnceValue(func() *wellknown.List {
	l := &wellknown.List{}
	l.Add(sandbox.NPM, assets.NPMPackages)
	l.Add(sandbox.PyPI, assets.PyPIPackages)
	return l
})

// packageWarnings are what to say of a command's package before it has ever run.
func packageWarnings(command []string) []string {
	ref, _, ok, err := sandbox.ParseCommand(command)
	if err != nil || !ok {
		return nil
	}
	var out []string
	for _, one := range namedBy(ref) {
		if d, ok := wellKnown().Doubt(one); ok && (one.Name == ref.Name || d.Kind == wellknown.Near) {
			out = append(out, d.Text)
		}
	}
	return out
}

// namedBy is ref, and what it asks for besides.
func namedBy(ref sandbox.PackageRef) []sandbox.PackageRef {
	var all []sandbox.PackageRef
	if ref.Name != "" && ref.Repository == "" {
		all = append(all, ref)
	}
	for _, requirement := range strings.Fields(ref.With) {
		if one, _, ok, err := sandbox.ParsePythonCommand([]string{"uvx", requirement}); ok && err == nil {
			all = append(all, one)
		}
	}
	return all
}

// Scripts implements supervisor.Consent: one question for each script that is declared by its
// package's name. What has run already needs none.
func (c *consents) Scripts(ctx context.Context, srv sandbox.Server, p sandbox.Package) (may []sandbox.InstallScript, err error) {
	for _, s := range p.Idle() {
		if !slices.Contains(srv.Spec.InstallScripts, s.Name) {
			continue
		}
		about, err := c.about(srv, scriptSentence(s, p))
		if err != nil {
			return nil, err
		}
		yes, err := c.answer(ctx, approvals.Question{
			About: about,
			Subject: approvals.Subject{Install: &approvals.Installation{
				Package: string(p.Ecosystem) + ":" + s.Spec(), Integrity: s.Integrity, Script: pins.Visible(s.Text),
			}},
			Why: approvals.Decision{
				Effect: approvals.Ask, Class: approvals.Execute, Rule: ruleScripts,
				Reason: fmt.Sprintf("servers.yaml lets the install script of %s run; what it does is not known before.", s.Name),
			},
		})
		if err != nil {
			return nil, err
		}
		if yes {
			may = append(may, s)
		}
	}
	return may, nil
}

func scriptSentence(s sandbox.InstallScript, p sandbox.Package) string {
	if p.Ecosystem == sandbox.PyPI {
		return fmt.Sprintf("build %s from its source, which runs its code, while %s is installed, where only the index can be reached", s.Spec(), p.Name)
	}
	return fmt.Sprintf("run the install script of %s while %s@%s is installed, where only the registry can be reached", s.Spec(), p.Name, p.Version)
}

// packageNotices are what a person should know of the package a server runs from.
func packageNotices(p *sandbox.Package) []string {
	if p == nil {
		return nil
	}
	var out []string
	if idle := p.Idle(); len(idle) > 0 {
		out = append(out, fmt.Sprintf("Install scripts did not run: %s. Should the server need one, name its package in servers.yaml, %s, and you are shown what it runs.",
			scriptNames(idle), installKey(idle)))
	}
	if ran := p.Ran(); len(ran) > 0 {
		out = append(out, fmt.Sprintf("Install scripts have run, as approved: %s.", scriptNames(ran)))
	}
	return out
}

func scriptNames(scripts []sandbox.InstallScript) string {
	var names []string
	for _, s := range scripts {
		names = append(names, s.Spec())
	}
	return strings.Join(names, ", ")
}

func installKey(scripts []sandbox.InstallScript) string {
	var names []string
	for _, s := range scripts {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return "install: {scripts: [" + strings.Join(names, ", ") + "]}"
}
