package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/keyring/keyringtest"
	"github.com/garita-dev/garita/store/seal"
	"github.com/garita-dev/garita/store/sqlite"
)

// vaultHome is a home in which a daemon lives, and lives again: whole, but for its walls, with its API on a socket.
type vaultHome struct {
	*Daemon
	t      *testing.T
	dir    string
	client *api.Client
	close  func()
}

func newVaultHome(t *testing.T) *vaultHome {
	t.Helper()
	h := &vaultHome{t: t, dir: t.TempDir()}
	h.open()
	t.Cleanup(func() { h.close() })
	return h
}

func (h *vaultHome) open() {
	h.t.Helper()
	at := func(s string) string { return filepath.Join(h.dir, s) }
	settings, err := config.Open(config.Paths{Config: at("config"), State: at("state"), Data: at("data"), Run: at("run"), Home: at("home"), Isolated: true})
	if err != nil {
		h.t.Fatal(err)
	}
	db, err := sqlite.Open(h.t.Context(), at("state/garita.db"), sqlite.Options{KeyFile: at("state/audit.key"), HeadFile: at("state/audit.head"), Redact: known.Record})
	if err != nil {
		h.t.Fatal(err)
	}
	d := join(context.WithoutCancel(h.t.Context()), settings, db, nil, slog.New(slog.DiscardHandler))
	d.supervisor.Runtime, d.supervisor.Host = sandboxtest.NewFake(), inHost{}
	d.vault.keeper = seal.New(seal.Options{
		Ring: d.vault.ring, File: at("state/secrets.key.age"), Sealed: db.SealedWith, Changed: d.noteKeeper, Work: 10,
	})
	socket, err := net.Listen("unix", at("run/s"))
	if err != nil {
		h.t.Fatal(err)
	}
	var parts sync.WaitGroup
	parts.Go(func() { _ = httpapi.New(d, httpapi.Options{}).ServeSocket(d.running, socket) })
	parts.Go(func() { _ = d.vault.keeper.Run(d.running) })
	h.Daemon, h.client = d, api.New(at("run/s"))
	h.close = func() {
		h.client.Close()
		d.stop()
		parts.Wait()
		d.vault.ring.Close()
		if err := d.supervisor.Close(context.Background()); err != nil {
			h.t.Error(err)
		}
		_ = d.gate.Close()
		_ = db.Close()
	}
}

// again ends the daemon and starts another.
func (h *vaultHome) again() {
	h.close()
	h.open()
}

// declare makes a server that uses the secrets of that name, if any.
func (h *vaultHome) declare(name sandbox.ServerName, secrets ...string) sandbox.Server {
	h.t.Helper()
	s := sandbox.Server{Name: name, Source: sandbox.Source{Command: []string{"/bin/cat"}}, Spec: sandbox.Spec{Workspace: sandbox.None, Network: sandbox.Unsaid()}}
	for _, secret := range secrets {
		s.Spec.Secrets = append(s.Spec.Secrets, sandbox.SecretGrant{Secret: secret, Mode: sandbox.SecretEnv, Env: "KEY"})
	}
	if err := h.config.Put(s); err != nil {
		h.t.Fatal(err)
	}
	return s
}

// starts says whether a server of the home's starts.
func (h *vaultHome) starts(s sandbox.Server) error {
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	i, err := h.supervisor.Start(ctx, s, supervisor.NewInstanceID(), supervisor.Owner{Group: "g"})
	if err != nil {
		return err
	}
	return i.Stop(ctx)
}

func (h *vaultHome) set(name, value string) api.Secret {
	h.t.Helper()
	s, err := h.client.SetSecret(h.t.Context(), api.SecretSet{Name: name, Value: api.Hidden(value)})
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *vaultHome) keeperState() api.Keeper {
	h.t.Helper()
	all, err := h.client.Secrets(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return all.Keeper
}

func (h *vaultHome) warned(of string) bool {
	h.t.Helper()
	st, err := h.client.Status(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Contains(strings.ToLower(strings.Join(st.Warnings, "\n")), of)
}

func problemCode(err error) string {
	var p *api.Problem
	if errors.As(err, &p) {
		return p.Code
	}
	return "none: " + text(err)
}

// TestWithoutAKeyringOnTheBus is K01.
func TestWithoutAKeyringOnTheBus(t *testing.T) {
	t.Run("report_K01", func(t *testing.T) {
		keyringtest.Bus(t)
		ctx, h := t.Context(), newVaultHome(t)
		plain, wanting := h.declare("plain"), h.declare("wanting", "search.key")
		if !h.warned("no keyring: choose encrypted file store") {
			t.Error("nobody is told that there is no keyring")
		}
		if check := keeperCheck(h.vault.keeper.Status(ctx)); check.Name != "secrets" || check.State != "warn" || !strings.Contains(check.Mend, "garita secret unlock --create") {
			t.Errorf("doctor says %+v", check)
		}
		if err := h.starts(plain); err != nil {
			t.Errorf("a server without secrets: %v", err)
		}
		if err := h.starts(wanting); err == nil || !strings.Contains(err.Error(), "missing secret search.key") {
			t.Errorf("one that wants a secret: %v", err)
		}
		_, err := h.client.SetSecret(ctx, api.SecretSet{Name: "search.key", Value: "v1-of-the-key"})
		if problemCode(err) != "precondition" || !strings.Contains(err.Error(), "--create") {
			t.Errorf("set: %v", err)
		}
		k, err := h.client.OpenKeeper(ctx, api.KeeperOpen{Create: true, Passphrase: "correct horse"})
		if err != nil || k.State != "ready" || k.By != "file" {
			t.Fatalf("made: %+v, %v", k, err)
		}
		h.set("search.key", "v1-of-the-key")
		if err := h.starts(wanting); err != nil {
			t.Errorf("once it is stored: %v", err)
		}
		if h.warned("keyring") {
			t.Error("it is warned still")
		}

		h.again()
		if k := h.keeperState(); k.State != "locked" || k.By != "file" || k.Next == "" {
			t.Errorf("after a restart: %+v", k)
		}
		if err := h.starts(plain); err != nil {
			t.Errorf("a server without secrets: %v", err)
		}
		if err := h.starts(wanting); err == nil || !strings.Contains(err.Error(), "garita secret unlock") {
			t.Errorf("one with a secret: %v", err)
		}
		if _, err := h.client.OpenKeeper(ctx, api.KeeperOpen{Passphrase: "wrong horse"}); problemCode(err) != "denied" || !strings.Contains(err.Error(), "passphrase is wrong") {
			t.Errorf("a wrong passphrase: %v", err)
		}
		if !h.warned("passphrase has not been given") {
			t.Error("nobody is told that it is locked")
		}
		if _, err := h.client.OpenKeeper(ctx, api.KeeperOpen{Passphrase: "correct horse"}); err != nil {
			t.Error(err)
		}
		if err := h.starts(wanting); err != nil {
			t.Errorf("unlocked: %v", err)
		}
	})
}

// TestALockedKeyringWhosePromptNeverCompletes is K02.
func TestALockedKeyringWhosePromptNeverCompletes(t *testing.T) {
	t.Run("report_K02", func(t *testing.T) {
		ring := keyringtest.Start(t, keyringtest.Bus(t))
		ctx, h := t.Context(), newVaultHome(t)
		h.set("search.key", "v1-of-the-key")
		plain, wanting := h.declare("plain"), h.declare("wanting", "search.key")
		ring.Lock(keyringtest.Never)
		h.again()
		if k := h.keeperState(); k.State != "locked" || k.By != "keyring" {
			t.Errorf("found as %+v", k)
		}
		if shown, _ := ring.Asked(); shown != 0 {
			t.Error("the person is asked, and nobody wanted anything")
		}

		// Many want it. None waits for longer than it likes, one question is put, and the API goes on.
		for range 20 {
			short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
			if _, _, err := h.vault.Value(short, "search.key"); !errors.Is(err, errdefs.ErrFailedPrecondition) {
				t.Errorf("locked: %v", err)
			}
			cancel()
		}
		type got struct {
			value store.SecretValue
			err   error
		}
		waits := make(chan got, 1)
		go func() {
			_, v, err := h.vault.Value(ctx, "search.key")
			waits <- got{v, err}
		}()
		soon(t, "the prompt is shown", func() bool { shown, _ := ring.Asked(); return shown == 1 })
		if k := h.keeperState(); k.State != "waiting" || !strings.Contains(strings.ToLower(k.Why), "keyring locked - waiting") || !strings.Contains(k.Next, "cancel") {
			t.Errorf("waiting is %+v", k)
		}
		if !h.warned("keyring locked - waiting") {
			t.Error("nobody is told")
		}
		if err := h.starts(plain); err != nil {
			t.Errorf("a server without secrets: %v", err)
		}
		select {
		case g := <-waits:
			t.Fatalf("who wants it did not wait: %v", g.err)
		default:
		}

		// Unlocked elsewhere, it goes on by itself, though the prompt never completes.
		ring.Unlock()
		if g := <-waits; g.err != nil || g.value.Reveal() != "v1-of-the-key" {
			t.Errorf("unlocked: %v", g.err)
		}
		if k := h.keeperState(); k.State != "ready" || h.warned("keyring") {
			t.Errorf("then it is %+v", k)
		}
		if err := h.starts(wanting); err != nil {
			t.Error(err)
		}
		if shown, _ := ring.Asked(); shown != 1 {
			t.Errorf("asked %d times", shown)
		}
	})
	t.Run("report_K02 canceled", func(t *testing.T) {
		ring := keyringtest.Start(t, keyringtest.Bus(t))
		ctx, h := t.Context(), newVaultHome(t)
		h.set("search.key", "v1-of-the-key")
		ring.Lock(keyringtest.Never)
		h.again()
		waits := make(chan error, 1)
		go func() {
			_, _, err := h.vault.Value(ctx, "search.key")
			waits <- err
		}()
		soon(t, "the prompt is shown", func() bool { shown, _ := ring.Asked(); return shown == 1 })
		k, err := h.client.OpenKeeper(ctx, api.KeeperOpen{Cancel: true})
		if err != nil || k.State != "locked" || !strings.Contains(k.Next, "garita secret unlock") {
			t.Errorf("canceled: %+v, %v", k, err)
		}
		if err := <-waits; !errors.Is(err, errdefs.ErrFailedPrecondition) {
			t.Error(err)
		}
		soon(t, "the prompt is taken back", func() bool { _, dismissed := ring.Asked(); return dismissed == 1 })
		if _, _, err := h.vault.Value(ctx, "search.key"); !errors.Is(err, errdefs.ErrFailedPrecondition) {
			t.Error(err)
		}
		if shown, _ := ring.Asked(); shown != 1 {
			t.Errorf("who has canceled is asked again: %d", shown)
		}
		ring.Lock(keyringtest.Unlocks)
		if k, err := h.client.OpenKeeper(ctx, api.KeeperOpen{}); err != nil || k.State != "ready" {
			t.Errorf("asked for: %+v, %v", k, err)
		}
	})
}

func soon(t *testing.T, what string, fact func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !fact(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// A keyring that does not answer keeps nobody from anything but secrets.
func TestAKeyringThatDoesNotAnswer(t *testing.T) {
	ring := keyringtest.Start(t, keyringtest.Bus(t))
	h := newVaultHome(t)
	h.set("search.key", "v1-of-the-key")
	plain := h.declare("plain")
	ring.Silence()
	h.again()
	if err := h.starts(plain); err != nil {
		t.Error(err)
	}
	if !h.warned("does not answer") {
		t.Error("nobody is told")
	}
	ring.Answer()
	if _, v, err := h.vault.Value(t.Context(), "search.key"); err != nil || v.IsZero() {
		t.Errorf("once it answers: %v", err)
	}
}

func TestAKeyLostFromTheKeyring(t *testing.T) {
	ring := keyringtest.Start(t, keyringtest.Bus(t))
	ctx, h := t.Context(), newVaultHome(t)
	h.set("search.key", "v1-of-the-key")
	key := ring.Entries()["sealing-key"]
	ring.Put("sealing-key", "")
	h.again()
	if k := h.keeperState(); k.State != "none" || !strings.Contains(k.Why, "not in the keyring any more") || !strings.Contains(k.Next, "--reset") {
		t.Errorf("lost: %+v", k)
	}
	if _, err := h.client.SetSecret(ctx, api.SecretSet{Name: "other", Value: "another-value"}); problemCode(err) != "precondition" {
		t.Errorf("set: %v", err)
	}
	if len(ring.Entries()) != 0 {
		t.Error("another key was made in its place")
	}
	ring.Put("sealing-key", key) // from a backup
	h.again()
	if _, v, err := h.vault.Value(ctx, "search.key"); err != nil || v.Reveal() != "v1-of-the-key" {
		t.Errorf("put back: %v", err)
	}
	ring.Put("sealing-key", "")
	h.again()
	if k, err := h.client.OpenKeeper(ctx, api.KeeperOpen{Reset: true}); err != nil || k.State != "ready" {
		t.Fatalf("given up: %+v, %v", k, err)
	}
	if _, _, err := h.vault.Value(ctx, "search.key"); !errors.Is(err, errdefs.ErrNotFound) {
		t.Errorf("given up: %v", err)
	}
	if s := h.set("search.key", "v2-of-the-key"); s.Version != 2 {
		t.Errorf("set anew: %+v", s)
	}
}

func TestALostPassphrase(t *testing.T) {
	keyringtest.Bus(t)
	ctx, h := t.Context(), newVaultHome(t)
	if _, err := h.client.OpenKeeper(ctx, api.KeeperOpen{Create: true, Passphrase: "correct horse"}); err != nil {
		t.Fatal(err)
	}
	h.set("search.key", "v1-of-the-key")
	h.again()
	k, err := h.client.OpenKeeper(ctx, api.KeeperOpen{Reset: true, Create: true, Passphrase: "another horse"})
	if err != nil || k.State != "ready" {
		t.Fatalf("%+v, %v", k, err)
	}
	if s := h.set("search.key", "v2-of-the-key"); s.Version != 2 {
		t.Errorf("set anew: %+v", s)
	}
	aside, err := filepath.Glob(filepath.Join(h.dir, "state", "secrets.key.age.old-*"))
	if err != nil || len(aside) != 1 {
		t.Errorf("the old file is %v, %v", aside, err)
	}
}

func TestGrantsAreKeptInServersYAML(t *testing.T) {
	keyringtest.Start(t, keyringtest.Bus(t))
	ctx, h := t.Context(), newVaultHome(t)
	h.declare("github")
	h.set("gh-token", "ghp_0123456789")
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	s, err := h.client.GrantSecret(ctx, "gh-token", api.SecretGrant{
		Server: "github", Mode: "placeholder", Env: "GITHUB_TOKEN", Hosts: []string{"API.github.com"}, Tools: []string{"get_*"}, Until: &until, Ask: true,
	})
	if err != nil || len(s.Grants) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	g := s.Grants[0]
	if g.Weaker || !g.InForce || g.Hosts[0] != "api.github.com:443" || g.Places[0] != (api.SecretPlace{In: "header", Name: "Authorization"}) {
		t.Errorf("got %+v", g)
	}
	for _, words := range []string{"placeholder in GITHUB_TOKEN", "api.github.com:443 alone", "header Authorization", "while only get_* is called", "asked each time", "until "} {
		if !strings.Contains(g.Words, words) {
			t.Errorf("%q does not say %q", g.Words, words)
		}
	}
	if s, err = h.client.GrantSecret(ctx, "gh-token", api.SecretGrant{Server: "github", Mode: "file", File: "token"}); err != nil || len(s.Grants) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	if g := s.Grants[0]; !g.Weaker || g.File != "/run/secrets/token" {
		t.Errorf("in place of the other: %+v", g)
	}
	written, err := os.ReadFile(filepath.Join(h.dir, "config", "servers.yaml"))
	if err != nil || !strings.Contains(string(written), "gh-token") || strings.Contains(string(written), "ghp_") {
		t.Errorf("servers.yaml (%v):\n%s", err, written)
	}
	for name, bad := range map[string]api.SecretGrant{
		"no host":            {Server: "github", Mode: "placeholder", Env: "X"},
		"no place inside":    {Server: "github", Mode: "placeholder", Hosts: []string{"a.example"}},
		"a mode nobody has":  {Server: "github", Mode: "argv", Env: "X"},
		"a place nobody has": {Server: "github", Mode: "placeholder", Env: "X", Hosts: []string{"a.example"}, Places: []api.SecretPlace{{In: "path", Name: "x"}}},
		"anybody's names":    {Server: "github", Mode: "placeholder", Env: "X", Hosts: []string{"*.co.uk"}},
		"over already":       {Server: "github", Mode: "placeholder", Env: "X", Hosts: []string{"a.example"}, Until: &time.Time{}},
	} {
		if bad.Until != nil {
			past := time.Now().Add(-time.Hour)
			bad.Until = &past
		}
		if _, err := h.client.GrantSecret(ctx, "gh-token", bad); problemCode(err) != "invalid" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.client.GrantSecret(ctx, "gh-token", api.SecretGrant{Server: "nobody", Env: "X"}); problemCode(err) != "not_found" {
		t.Errorf("no server: %v", err)
	}
	if s, err := h.client.RevokeSecret(ctx, "gh-token", "github"); err != nil || len(s.Grants) != 0 {
		t.Errorf("revoked: %+v, %v", s, err)
	}
	if _, err := h.client.RevokeSecret(ctx, "gh-token", "github"); problemCode(err) != "not_found" {
		t.Errorf("twice: %v", err)
	}
	kinds := h.kinds()
	if diff := cmp.Diff([]store.Kind{store.SecretSet, store.SecretGranted, store.SecretGranted, store.SecretRevoked}, kinds); diff != "" {
		t.Errorf("on record: %s", diff)
	}
}

// kinds are the events about secrets.
func (h *vaultHome) kinds() (all []store.Kind) {
	h.t.Helper()
	events, err := h.db.Events(h.t.Context(), 0, 1000, "")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range events {
		if strings.HasPrefix(string(e.Kind), "secret.") {
			all = append(all, e.Kind)
		}
	}
	return all
}

// TestARotationMayForgetGrants: the next value is nobody's then.
func TestARotationMayForgetGrants(t *testing.T) {
	keyringtest.Start(t, keyringtest.Bus(t))
	ctx, h := t.Context(), newVaultHome(t)
	h.declare("mine", "api-token")
	h.set("api-token", "value-0001")
	for _, forget := range []bool{false, true} {
		r, err := h.client.RotateSecret(ctx, "api-token", time.Time{}, forget)
		if err != nil || len(r.Revoked) != 1 || len(h.granted("api-token")) != map[bool]int{false: 1}[forget] {
			t.Errorf("forget %v: %+v, %v", forget, r, err)
		}
		h.set("api-token", "value-0002")
	}
}

func TestARotationEndsAllUseAndTellsIt(t *testing.T) {
	keyringtest.Start(t, keyringtest.Bus(t))
	ctx, h := t.Context(), newVaultHome(t)
	h.declare("search", "search.key")
	h.set("search.key", "v1-of-the-key")
	old := store.SecretUse{Secret: "search.key", Version: 1, At: time.Now().Add(-48 * time.Hour), Server: "search", Mode: sandbox.SecretEnv, Principal: approvals.Principal{UID: h.uid, Client: "claude"}}
	late := old
	late.At, late.Host = time.Now(), "api.example.com:443"
	for _, u := range []store.SecretUse{old, late} {
		if err := h.vault.RecordUse(ctx, u); err != nil {
			t.Fatal(err)
		}
	}
	all, err := h.client.Secrets(ctx)
	if err != nil || all.Secrets[0].LastUse == nil || all.Secrets[0].LastUse.Agent != "claude" {
		t.Errorf("%+v, %v", all, err)
	}
	if uses, err := h.client.SecretUses(ctx, "search.key", time.Time{}); err != nil || len(uses) != 2 {
		t.Errorf("%+v, %v", uses, err)
	}
	r, err := h.client.RotateSecret(ctx, "search.key", time.Now().Add(-time.Hour), false)
	if err != nil || len(r.Uses) != 1 || r.Uses[0].Host != "api.example.com:443" || !cmp.Equal(r.Revoked, []string{"search"}) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, _, err := h.vault.Value(ctx, "search.key"); !errors.Is(err, errdefs.ErrNotFound) || !strings.Contains(err.Error(), "garita secret set search.key") {
		t.Errorf("rotated: %v", err)
	}
	if _, err := h.client.RotateSecret(ctx, "search.key", time.Time{}, false); problemCode(err) != "not_found" {
		t.Errorf("twice: %v", err)
	}
	if s := h.set("search.key", "v2-of-the-key"); s.Version != 2 || len(s.Grants) != 1 {
		t.Errorf("set anew: %+v", s)
	}
	if err := h.client.RemoveSecret(ctx, "search.key"); err != nil {
		t.Error(err)
	}
	if all, err := h.client.Secrets(ctx); err != nil || len(all.Secrets) != 0 {
		t.Errorf("removed: %+v, %v", all, err)
	}
	if err := h.client.RemoveSecret(ctx, "search.key"); problemCode(err) != "not_found" {
		t.Errorf("twice: %v", err)
	}
}

func TestWhatCannotBeASecretIsRefusedWithoutBeingShown(t *testing.T) {
	keyringtest.Start(t, keyringtest.Bus(t))
	h := newVaultHome(t)
	const value = "s3cr3t-value"
	past := time.Now().Add(-time.Hour)
	for name, s := range map[string]api.SecretSet{
		"nothing":           {Name: "a"},
		"too short":         {Name: "a", Value: "abc"},
		"a short one made":  {Name: "a", Command: []string{"echo", "abc"}},
		"both":              {Name: "a", Value: value, Command: []string{"true"}},
		"too long":          {Name: "a", Value: api.Hidden(strings.Repeat(value, 10_000))},
		"a zero":            {Name: "a", Value: value + "\x00"},
		"no name":           {Value: value},
		"a name in caps":    {Name: "A B", Value: value},
		"expired":           {Name: "a", Value: value, Expires: &past},
		"a long command":    {Name: "a", Command: make([]string, 100)},
		"no program at all": {Name: "a", Command: []string{""}},
	} {
		_, err := h.client.SetSecret(t.Context(), s)
		want := "invalid"
		if len(s.Command) == 2 { // it was run
			want = "precondition"
		}
		if problemCode(err) != want || strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if kinds := h.kinds(); len(kinds) > 0 {
		t.Errorf("on record: %v", kinds)
	}
}

func TestTheAgentChangesNothingAboutSecrets(t *testing.T) {
	keyringtest.Start(t, keyringtest.Bus(t))
	ctx, h := t.Context(), newVaultHome(t)
	h.declare("search", "search.key")
	h.set("search.key", "v1-of-the-key")
	agent := httpapi.Peer{PID: os.Getpid(), UID: os.Getuid()}
	if err := h.attached.hold(agent.PID); err != nil { // as if this test were one
		t.Fatal(err)
	}
	defer h.attached.close()
	for what, try := range map[string]func() error{
		"set":    func() error { _, err := h.SetSecret(ctx, agent, api.SecretSet{Name: "x", Value: "y"}); return err },
		"remove": func() error { return h.RemoveSecret(ctx, agent, "search.key") },
		"grant": func() error {
			_, err := h.GrantSecret(ctx, agent, "search.key", api.SecretGrant{Server: "search", Mode: "env", Env: "OTHER"})
			return err
		},
		"revoke": func() error { _, err := h.RevokeSecret(ctx, agent, "search.key", "search"); return err },
		"rotate": func() error { _, err := h.RotateSecret(ctx, agent, "search.key", time.Time{}, false); return err },
		"unlock": func() error { _, err := h.OpenKeeper(ctx, agent, api.KeeperOpen{Passphrase: "x"}); return err },
		"create": func() error {
			_, err := h.OpenKeeper(ctx, agent, api.KeeperOpen{Create: true, Passphrase: "long enough"})
			return err
		},
		"reset":  func() error { _, err := h.OpenKeeper(ctx, agent, api.KeeperOpen{Reset: true}); return err },
		"cancel": func() error { _, err := h.OpenKeeper(ctx, agent, api.KeeperOpen{Cancel: true}); return err },
	} {
		if err := try(); problemCode(err) != "denied" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
