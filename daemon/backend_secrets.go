package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/seal"
)

// maxUses bounds how many uses of a secret are listed.
const maxUses = 10_000

// Secrets implements httpapi.Backend.
func (d *Daemon) Secrets(ctx context.Context) (api.Secrets, error) {
	kept, err := d.db.Secrets(ctx)
	if err != nil {
		return api.Secrets{}, err
	}
	all := map[string]api.Secret{}
	for name, grants := range d.secretGrants() {
		all[name] = api.Secret{Name: name, Missing: true, Grants: grants}
	}
	for _, ref := range kept {
		all[ref.Name] = d.apiSecret(ref, all[ref.Name].Grants)
	}
	out := api.Secrets{Keeper: apiKeeper(d.vault.keeper.Status(ctx)), Secrets: []api.Secret{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out.Secrets = append(out.Secrets, all[name])
	}
	return out, nil
}

// secret is one, as the API has it.
func (d *Daemon) secret(ctx context.Context, name string) (api.Secret, error) {
	grants := d.secretGrants()[name]
	kept, err := d.db.Secret(ctx, name)
	if errdefs.IsNotFound(err) {
		return api.Secret{Name: name, Missing: true, Grants: notNil(grants)}, nil
	}
	return d.apiSecret(kept.Ref, grants), err
}

func (d *Daemon) apiSecret(ref store.SecretRef, grants []api.SecretGrant) api.Secret {
	out := api.Secret{
		Name: ref.Name, Version: ref.Version, Created: orNil(ref.Created), Changed: orNil(ref.Changed), Expires: orNil(ref.Expires),
		Expired: ref.Expired(time.Now()), FromCommand: len(ref.Command) > 0, Grants: notNil(grants),
	}
	if !ref.LastUse.At.IsZero() {
		use := d.apiUse(ref.LastUse)
		out.LastUse = &use
	}
	return out
}

func (d *Daemon) apiUse(u store.SecretUse) api.SecretUsed {
	calls := make([]string, len(u.Calls))
	for i, c := range u.Calls {
		calls[i] = string(c)
	}
	return api.SecretUsed{
		At: u.At, Version: u.Version, Server: string(u.Server), Session: string(u.Session), Agent: d.agentName(u.Principal),
		Calls: calls, Mode: string(u.Mode), Host: u.Host,
	}
}

func apiKeeper(s seal.Status) api.Keeper {
	return api.Keeper{State: string(s.State), By: s.By, Why: s.Why, Next: s.Next}
}

// secretGrants are all that servers.yaml has, by the secret's name, those of one in the servers' order.
func (d *Daemon) secretGrants() map[string][]api.SecretGrant {
	out := map[string][]api.SecretGrant{}
	for _, s := range d.config.Servers() {
		for _, g := range s.Spec.Secrets {
			out[g.Secret] = append(out[g.Secret], apiGrantOf(s.Name, g, time.Now()))
		}
	}
	return out
}

func apiGrantOf(server sandbox.ServerName, g sandbox.SecretGrant, now time.Time) api.SecretGrant {
	out := api.SecretGrant{
		Server: string(server), Mode: string(g.Mode), Env: g.Env, File: g.File, Arg: g.Arg, Places: []api.SecretPlace{}, Hosts: ruleTexts(g.Hosts),
		Tools: notNil(g.Tools), Until: orNil(g.Until), Ask: g.Ask, Weaker: g.Weaker(), InForce: g.InForce(now), Words: grantWords(server, g),
		Scheme: g.Scheme,
	}
	if g.Mode == sandbox.SecretSent && g.Scheme == "" {
		out.Scheme = "none"
	}
	for _, p := range g.Places {
		out.Places = append(out.Places, api.SecretPlace{In: string(p.In), Name: p.Name})
	}
	return out
}

// grantWords tells a grant whole, in a sentence.
func grantWords(server sandbox.ServerName, g sandbox.SecretGrant) string {
	var b strings.Builder
	hosts := strings.Join(ruleTexts(g.Hosts), ", ")
	switch {
	case g.Mode == sandbox.SecretSent:
		fmt.Fprintf(&b, "Garita sends the value to %s alone, where %s is, in the %s", hosts, server, strings.ReplaceAll(placeWords(g.Places), ", or", ", and"))
	case g.Weaker():
		fmt.Fprintf(&b, "%s holds the value itself, in %s", server, g.Where())
	default:
		fmt.Fprintf(&b, "%s has a placeholder in %s; the value is sent to %s alone, in the %s", server, g.Where(), hosts, placeWords(g.Places))
	}
	if len(g.Tools) > 0 {
		fmt.Fprintf(&b, ", while only %s is called", strings.Join(g.Tools, ", "))
	}
	if g.Ask {
		b.WriteString(", and you are asked each time")
	}
	if !g.Until.IsZero() {
		fmt.Fprintf(&b, ", until %s", g.Until.UTC().Format("2006-01-02 15:04 MST"))
	}
	return b.String() + "."
}

func placeWords(places []sandbox.SecretPlace) string {
	names := map[sandbox.PlaceKind]string{sandbox.InHeader: "header", sandbox.InQuery: "query's", sandbox.InBody: "body's"}
	words := make([]string, len(places))
	for i, p := range places {
		words[i] = names[p.In] + " " + p.Name
	}
	return strings.Join(words, ", or the ")
}

// SetSecret implements httpapi.Backend.
func (d *Daemon) SetSecret(ctx context.Context, peer httpapi.Peer, s api.SecretSet) (api.Secret, error) {
	return d.keepSecret(ctx, peer, s, d.db.SetSecret)
}

// keepSecret seals a value and keeps it, by SetSecret or AddSecret of the store.
func (d *Daemon) keepSecret(ctx context.Context, peer httpapi.Peer, s api.SecretSet, keep keeping) (api.Secret, error) {
	name, err := sandbox.ParseSecretName(s.Name)
	if err != nil {
		return api.Secret{}, fmt.Errorf("set a secret: %w: %w", err, errdefs.ErrInvalidArgument)
	}
	if err := d.mayDecide(ctx, peer, "set the secret "+name); err != nil {
		return api.Secret{}, err
	}
	ref := store.SecretRef{Name: name, Command: s.Command}
	if s.Expires != nil {
		ref.Expires = *s.Expires
	}
	if err := d.checkSet(ctx, peer, ref, []byte(s.Value)); err != nil {
		return api.Secret{}, err
	}
	seal, err := d.sealing(ctx, ref, store.NewSecretValue([]byte(s.Value)))
	if err != nil {
		return api.Secret{}, keeperProblem(err)
	}
	if _, err := keep(ctx, approvals.Principal{UID: peer.UID}, deciderOf(peer), ref, seal); err != nil {
		return api.Secret{}, err
	}
	d.vault.forget(name)
	if _, err := d.noteSecret(ctx, name); err != nil {
		return api.Secret{}, err
	}
	return d.secret(ctx, name)
}

// keeping is how the store keeps a secret.
type keeping func(context.Context, approvals.Principal, string, store.SecretRef, func(int64) ([]byte, string, error)) (store.SecretRef, error)

// checkSet refuses what cannot be a secret. A command is tried once, so that what is wrong with it shows now.
func (d *Daemon) checkSet(ctx context.Context, peer httpapi.Peer, ref store.SecretRef, value []byte) error {
	err := checkSource(ref.Command, value)
	switch {
	case err != nil:
	case !ref.Expires.IsZero() && ref.Expired(time.Now()):
		err = fmt.Errorf("it would have expired already: %w", errdefs.ErrInvalidArgument)
	case len(ref.Command) > 0 && peer.Page:
		return &api.Problem{
			Code: "denied", Title: "A page may not name programs to run", Next: "garita secret set " + ref.Name + " --from-command -- COMMAND …",
			Detail: "The command would be run outside of every wall.",
		}
	case len(ref.Command) > 0:
		var tried []byte
		tried, err = d.vault.run(ctx, ref.Command)
		if err == nil {
			err = d.checkLength(ref.Name, tried)
		}
		clear(tried)
	default:
		err = d.checkLength(ref.Name, value)
	}
	if err != nil {
		return fmt.Errorf("set secret %s: %w", ref.Name, err)
	}
	return nil
}

// checkLength refuses a value that is too short for the placeholders that servers have of it.
func (d *Daemon) checkLength(name string, value []byte) error {
	if len(value) >= leastPlaceholder {
		return nil
	}
	for _, s := range d.granted(name) {
		if slices.ContainsFunc(s.Spec.Secrets, func(g sandbox.SecretGrant) bool { return g.Secret == name && g.Mode == sandbox.SecretPlaceholder }) {
			return fmt.Errorf("it is too short for %s: %s: %w", s.Name, whyTooShort, errdefs.ErrInvalidArgument)
		}
	}
	return nil
}

// maxCommand bounds a command that gives a value, in words and in bytes.
const maxCommandWords, maxCommandBytes = 64, 4 << 10

func checkSource(command []string, value []byte) error {
	switch {
	case len(command) > 0 && len(value) > 0:
		return fmt.Errorf("want a value or a command, not both: %w", errdefs.ErrInvalidArgument)
	case len(command) == 0:
		return checkValue(value)
	case command[0] == "" || len(command) > maxCommandWords || len(strings.Join(command, " ")) > maxCommandBytes:
		return fmt.Errorf("want a command of 1 to %d words and at most %d bytes: %w", maxCommandWords, maxCommandBytes, errdefs.ErrInvalidArgument)
	}
	return nil
}

// sealing returns what seals the value, with the key at hand already: nothing waits for a keyring while
// the record is held up.
func (d *Daemon) sealing(ctx context.Context, ref store.SecretRef, value store.SecretValue) (func(int64) ([]byte, string, error), error) {
	if len(ref.Command) > 0 {
		return nil, nil
	}
	key, err := d.vault.keeper.KeyOrNew(ctx)
	if err != nil {
		return nil, err
	}
	return func(version int64) ([]byte, string, error) {
		sealed, err := key.Seal(ref.Name, version, value)
		return sealed, key.ID(), err
	}, nil
}

// keeperProblem says what keeps the key out of reach, and what to do.
func keeperProblem(err error) error {
	var not *seal.NotReady
	switch {
	case errors.As(err, &not):
		return &api.Problem{Code: "precondition", Title: "Secrets are out of reach", Detail: not.Status.Why, Next: not.Status.Next}
	case errors.Is(err, seal.ErrPassphrase):
		return &api.Problem{
			Code: "denied", Title: "The passphrase is wrong", Detail: "The file with the key of the secrets does not open with it.",
			Next: "garita secret unlock",
		}
	}
	return err
}

// noteSecret puts in force what has become of a secret, and tells watchers. It returns how many
// sandboxes that has ended; the error says which were cut off, as the wall could not be told.
func (d *Daemon) noteSecret(ctx context.Context, name string) (ended int, err error) {
	ended, err = d.secrets.changed(context.WithoutCancel(ctx), []string{name})
	d.events.Publish("secret", name, nil)
	return ended, err
}

// RemoveSecret implements httpapi.Backend.
func (d *Daemon) RemoveSecret(ctx context.Context, peer httpapi.Peer, name string) (err error) {
	if err := d.mayDecide(ctx, peer, "remove the secret "+name); err != nil {
		return err
	}
	had := d.granted(name)
	err = d.db.ForgetSecret(ctx, approvals.Principal{UID: peer.UID}, deciderOf(peer), store.SecretRemoved, name)
	if errdefs.IsNotFound(err) && len(had) > 0 { // it is only wanted
		err = nil
	}
	if err != nil {
		return named(err, "secret named", name, "garita secret list")
	}
	d.vault.forget(name)
	defer func() {
		_, cut := d.noteSecret(ctx, name)
		err = errors.Join(err, cut)
	}()
	for _, s := range had {
		if err := d.revokeSecret(ctx, peer, s, name); err != nil {
			return err
		}
	}
	return nil
}

// granted are the servers that may use a secret.
func (d *Daemon) granted(name string) (all []sandbox.Server) {
	for _, s := range d.config.Servers() {
		if slices.ContainsFunc(s.Spec.Secrets, func(g sandbox.SecretGrant) bool { return g.Secret == name }) {
			all = append(all, s)
		}
	}
	return all
}

// GrantSecret implements httpapi.Backend: it edits servers.yaml.
func (d *Daemon) GrantSecret(ctx context.Context, peer httpapi.Peer, name string, g api.SecretGrant) (api.Secret, error) {
	s, err := d.configured(g.Server)
	if err != nil {
		return api.Secret{}, err
	}
	if err := d.mayDecide(ctx, peer, fmt.Sprintf("grant the secret %s to %s", name, s.Name)); err != nil {
		return api.Secret{}, err
	}
	grant, err := checkGrant(name, g, &s)
	if err == nil {
		err = d.secrets.fits(ctx, grant)
	}
	if err != nil {
		return api.Secret{}, err
	}
	err = d.changeGrant(ctx, store.SecretGranted, peer, s.Name, name, func(now *sandbox.Server) (string, error) {
		grant, err := checkGrant(name, g, now) // something else may have been changed meanwhile
		now.Spec.Secrets = append(without(now.Spec.Secrets, name), grant)
		return grantWords(s.Name, grant), err
	})
	if err != nil {
		return api.Secret{}, err
	}
	_, err = d.noteSecret(ctx, name)
	d.events.Publish("server", string(s.Name), nil)
	if err != nil {
		return api.Secret{}, err
	}
	return d.secret(ctx, name)
}

// checkGrant is a grant as it would be declared; InvalidArgument for one that s cannot have.
func checkGrant(name string, g api.SecretGrant, s *sandbox.Server) (sandbox.SecretGrant, error) {
	grant, err := grantFrom(name, g, s.Source)
	if err == nil {
		grant, err = config.CheckSecret(grant, *s)
	}
	if err == nil && !grant.InForce(time.Now()) {
		err = errors.New("until: that has passed")
	}
	if err != nil {
		return grant, fmt.Errorf("grant %s to %s: %w: %w", name, s.Name, err, errdefs.ErrInvalidArgument)
	}
	return grant, nil
}

// grantFrom is a grant as a person gives it: a placeholder where no mode is named, and a file below
// sandbox.SecretsDir; to a server elsewhere it is sent, and Bearer stands before it where nothing else is said.
func grantFrom(name string, g api.SecretGrant, source sandbox.Source) (sandbox.SecretGrant, error) {
	elsewhere := source.External()
	if elsewhere && slices.Equal(g.Hosts, ruleTexts(config.SecretHosts(source))) {
		g.Hosts = nil // as it was told
	}
	out := sandbox.SecretGrant{Secret: name, Mode: sandbox.SecretMode(g.Mode), Env: g.Env, File: g.File, Arg: g.Arg, Tools: g.Tools, Ask: g.Ask, Scheme: g.Scheme}
	switch {
	case elsewhere && (g.Mode == "" || g.Mode == string(sandbox.SecretPlaceholder)):
		out.Mode = sandbox.SecretSent
	case g.Mode == "":
		out.Mode = sandbox.SecretPlaceholder
	}
	switch {
	case !elsewhere && g.Scheme != "":
		return out, errors.New("scheme is for a server at a url; others write what stands before the value themselves")
	case !elsewhere && out.Mode == sandbox.SecretSent:
		return out, errors.New("mode sent is for a server at a url")
	case elsewhere && (len(g.Hosts) > 0 || out.Mode != sandbox.SecretSent):
		return out, errors.New("a server at a url is sent its secrets by Garita, at that address alone: want neither hosts nor a mode")
	case elsewhere && g.Scheme == "":
		out.Scheme = "Bearer"
	case g.Scheme == "none":
		out.Scheme = ""
	}
	if g.File != "" && !path.IsAbs(g.File) {
		out.File = path.Join(sandbox.SecretsDir, g.File)
	}
	if g.Until != nil {
		out.Until = g.Until.UTC().Truncate(time.Second)
	}
	for _, p := range g.Places {
		if !slices.Contains([]string{string(sandbox.InHeader), string(sandbox.InQuery), string(sandbox.InBody)}, p.In) {
			return out, fmt.Errorf("a value is put into a header, query or body, and %q is none of them", p.In)
		}
		out.Places = append(out.Places, sandbox.SecretPlace{In: sandbox.PlaceKind(p.In), Name: p.Name})
	}
	for _, host := range g.Hosts {
		e, err := config.ParseRule(host)
		if err != nil {
			return out, fmt.Errorf("hosts: %w", err)
		}
		out.Hosts = append(out.Hosts, e)
	}
	return out, nil
}

func without(grants []sandbox.SecretGrant, name string) []sandbox.SecretGrant {
	return slices.DeleteFunc(slices.Clone(grants), func(g sandbox.SecretGrant) bool { return g.Secret == name })
}

// changeGrant edits what a server is declared to use of a secret. It is on record before it is so, once
// nothing speaks against it; edit returns the grant in words. What could not be written down after all is on
// record, too.
func (d *Daemon) changeGrant(ctx context.Context, kind store.Kind, peer httpapi.Peer, server sandbox.ServerName, name string, edit func(*sandbox.Server) (string, error)) error {
	recorded := ""
	err := d.config.Update(server, func(now *sandbox.Server) error {
		words, err := edit(now)
		if err != nil {
			return err
		}
		recorded = cmp.Or(words, name)
		return d.recordGrant(ctx, kind, peer, server, name, words, "")
	})
	if err == nil || recorded == "" {
		return err
	}
	return errors.Join(err, d.recordGrant(context.WithoutCancel(ctx), kind, peer, server, name, recorded, "servers.yaml could not be changed"))
}

// recordGrant writes that a server was granted a secret, or lost it, or, with undone, that it was not so after
// all.
func (d *Daemon) recordGrant(ctx context.Context, kind store.Kind, peer httpapi.Peer, server sandbox.ServerName, name, words, undone string) error {
	body := map[string]any{"name": name, "by": deciderOf(peer)}
	if words != "" {
		body["grant"] = words
	}
	if undone != "" {
		body["undone"] = undone
	}
	e := event(kind, approvals.Principal{UID: peer.UID}, body)
	e.Server = server
	if _, err := d.db.AppendDurable(ctx, e); err != nil {
		return fmt.Errorf("record it: %w: %w", err, errdefs.ErrUnavailable)
	}
	return nil
}

// RevokeSecret implements httpapi.Backend.
func (d *Daemon) RevokeSecret(ctx context.Context, peer httpapi.Peer, name, server string) (api.Secret, error) {
	s, err := d.configured(server)
	if err != nil {
		return api.Secret{}, err
	}
	if err := d.refuseDescendants(ctx, peer, fmt.Sprintf("revoke the secret %s of %s", name, s.Name)); err != nil {
		return api.Secret{}, err
	}
	if len(without(s.Spec.Secrets, name)) == len(s.Spec.Secrets) {
		return api.Secret{}, &api.Problem{
			Code: "not_found", Title: fmt.Sprintf("%s may not use the secret %q anyway", s.Name, name), Next: "garita secret list",
		}
	}
	if err := d.revokeSecret(ctx, peer, s, name); err != nil {
		return api.Secret{}, err
	}
	if _, err := d.noteSecret(ctx, name); err != nil {
		return api.Secret{}, err
	}
	return d.secret(ctx, name)
}

// errNotGranted ends a change that has nothing to take away.
var errNotGranted = errors.New("it is not granted")

func (d *Daemon) revokeSecret(ctx context.Context, peer httpapi.Peer, s sandbox.Server, name string) error {
	err := d.changeGrant(ctx, store.SecretRevoked, peer, s.Name, name, func(now *sandbox.Server) (string, error) {
		left := without(now.Spec.Secrets, name)
		if len(left) == len(now.Spec.Secrets) {
			return "", errNotGranted
		}
		now.Spec.Secrets = left
		return "", nil
	})
	if errors.Is(err, errNotGranted) { // somebody else was faster
		return nil
	}
	if err != nil {
		return err
	}
	d.events.Publish("server", string(s.Name), nil)
	return nil
}

// SecretUses implements httpapi.Backend.
func (d *Daemon) SecretUses(ctx context.Context, name string, since time.Time) ([]api.SecretUsed, error) {
	found, err := d.db.SecretUses(ctx, name, since, maxUses)
	if err != nil {
		return nil, err
	}
	out := make([]api.SecretUsed, len(found))
	for i, u := range found {
		out[i] = d.apiUse(u)
	}
	return out, nil
}

// RotateSecret implements httpapi.Backend: the value is forgotten, and whoever holds it is ended. The
// grants stay, and come to life with the next value, unless they are to be forgotten.
func (d *Daemon) RotateSecret(ctx context.Context, peer httpapi.Peer, name string, since time.Time, forget bool) (api.SecretRotation, error) {
	if err := d.mayDecide(ctx, peer, "rotate the secret "+name); err != nil {
		return api.SecretRotation{}, err
	}
	err := d.db.ForgetSecret(ctx, approvals.Principal{UID: peer.UID}, deciderOf(peer), store.SecretRotated, name)
	if err != nil {
		return api.SecretRotation{}, named(err, "secret named", name, "garita secret list")
	}
	d.vault.forget(name)
	ended, cut := d.noteSecret(ctx, name)
	out := api.SecretRotation{Revoked: []string{}, Ended: ended}
	for _, s := range d.granted(name) {
		out.Revoked = append(out.Revoked, string(s.Name))
		if forget {
			cut = errors.Join(cut, d.revokeSecret(ctx, peer, s, name))
		}
	}
	if forget {
		_, again := d.noteSecret(ctx, name)
		cut = errors.Join(cut, again)
	}
	out.Uses, err = d.SecretUses(ctx, name, since) // after the end: what came last is among them
	return out, errors.Join(cut, err)
}

// OpenKeeper implements httpapi.Backend.
func (d *Daemon) OpenKeeper(ctx context.Context, peer httpapi.Peer, o api.KeeperOpen) (api.Keeper, error) {
	keeper := d.vault.keeper
	if o.Cancel {
		if err := d.refuseDescendants(ctx, peer, "cancel the keyring's question"); err != nil {
			return api.Keeper{}, err
		}
		return apiKeeper(keeper.Cancel(ctx)), nil
	}
	if err := d.mayDecide(ctx, peer, "unlock the secrets"); err != nil {
		return api.Keeper{}, err
	}
	if o.Reset {
		if err := d.giveUpSealed(ctx, peer); err != nil {
			return api.Keeper{}, err
		}
	}
	var err error
	switch {
	case o.Create:
		err = keeper.Create(ctx, string(o.Passphrase))
	case o.Passphrase != "":
		err = keeper.Unlock(ctx, string(o.Passphrase))
	case !o.Reset:
		return apiKeeper(keeper.Ask(ctx)), nil
	}
	if err != nil {
		return api.Keeper{}, keeperProblem(err)
	}
	d.secretsChanged(ctx) // servers may have waited for it
	return apiKeeper(keeper.Status(ctx)), nil
}

// giveUpSealed forgets the values whose key is not there any more, each on record, and puts a file that
// does not open aside. Names, grants and the record stay.
func (d *Daemon) giveUpSealed(ctx context.Context, peer httpapi.Peer) error {
	lost, err := d.vault.keeper.Lost(ctx)
	if err != nil {
		return err
	}
	for _, key := range lost {
		names, err := d.db.SealedBy(ctx, key)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := d.db.ForgetSecret(ctx, approvals.Principal{UID: peer.UID}, deciderOf(peer), store.SecretRemoved, name); err != nil {
				return err
			}
			if _, err := d.noteSecret(ctx, name); err != nil {
				return err
			}
		}
	}
	aside, err := d.vault.keeper.PutAside()
	if aside != "" {
		d.log.Info("the key's file was put aside", "file", aside)
	}
	return err
}

// noteKeeper tells watchers that the key has come within reach, or out of it.
func (d *Daemon) noteKeeper() {
	d.events.Publish("status", "", nil)
	d.events.Publish("secret", "", nil)
}

// keeperNotice is what a person should know about the keeping of secrets; "" when nothing. That a keyring
// is locked is nobody's concern while there are no secrets.
func (d *Daemon) keeperNotice(ctx context.Context) string {
	s := d.vault.keeper.Status(ctx)
	if s.State == seal.Ready || s.State != seal.None && !d.wantsSecrets(ctx) {
		return ""
	}
	return s.Why + " " + s.Next
}

func (d *Daemon) wantsSecrets(ctx context.Context) bool {
	if len(d.secretGrants()) > 0 {
		return true
	}
	kept, err := d.db.Secrets(ctx)
	return err == nil && len(kept) > 0
}

// keeperCheck is the doctor's.
func keeperCheck(s seal.Status) api.Check {
	switch s.State {
	case seal.Ready:
		return api.Check{Name: "secrets", State: "ok", Found: "the key of the secrets is kept by the " + s.By}
	default:
		return api.Check{Name: "secrets", State: "warn", Found: s.Why, Consequence: "servers that use a secret do not start; the others do", Mend: s.Next}
	}
}
