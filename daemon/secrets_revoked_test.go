package daemon

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// slowPurse does something before it gives the value of the secret "slow", as a command or a keyring may
// let much happen.
type slowPurse struct {
	*purse
	meanwhile func()
}

func (s slowPurse) Value(ctx context.Context, name string) (store.SecretRef, store.SecretValue, error) {
	if name == "slow" {
		s.meanwhile()
	}
	return s.purse.Value(ctx, name)
}

// TestRevokedDuringAStart: what was read before the revocation is not handed over after it.
func TestRevokedDuringAStart(t *testing.T) {
	h := newSecretHome(t)
	h.purse.set("search.key", "value-0001-abcdef", time.Time{})
	h.purse.set("slow", "value-0002-abcdef", time.Time{})
	slow := sandbox.SecretGrant{Secret: "slow", Mode: sandbox.SecretEnv, Env: "SLOW"}
	s := h.declare(envGrant(), slow)
	launch := func() *sandbox.Launch { return &sandbox.Launch{ID: "i0123456789abcdef", Server: s.Name} }
	h.secrets.vault = slowPurse{h.purse, func() {
		if _, err := h.RevokeSecret(t.Context(), httpapi.Peer{UID: h.uid, Page: true}, "search.key", "search"); err != nil {
			t.Error(err)
		}
	}}
	frame, err := h.secrets.Equip(t.Context(), s, launch())
	if err == nil || frame != nil || h.secrets.of("i0123456789abcdef") != nil || len(h.purse.uses) > 0 {
		t.Fatalf("it is handed over: %v, %d bytes, %+v", err, len(frame), h.purse.uses)
	}
	h.secrets.vault = h.purse
	if _, err := h.secrets.Equip(t.Context(), s, launch()); err != nil {
		t.Errorf("without it, the server starts: %v", err)
	}

	if err := h.secretsSettled(t.Context(), "i0123456789abcdef"); err != nil {
		t.Error(err)
	}
	h.declare() // between its start and its first use
	if err := h.secretsSettled(t.Context(), "i0123456789abcdef"); err == nil {
		t.Error("a sandbox that holds a revoked value is used")
	}
}

// TestALeaveThatIsShortened ends when it says, also where the server holds the value already.
func TestALeaveThatIsShortened(t *testing.T) {
	h := newSecretHome(t)
	h.purse.set("search.key", "value-0001-abcdef", time.Time{})
	h.approving()
	c := h.attach(h.declare(envGrant()))
	c.search()
	g := envGrant()
	for _, until := range []time.Time{time.Now().Add(time.Minute), time.Now().Add(time.Hour)} {
		g.Until = until.UTC().Truncate(time.Second)
		h.declare(g)
		h.secretsChanged(t.Context())
		if next := h.secrets.nextEnd(); !next.Equal(g.Until) {
			t.Errorf("it ends at %s, want %s", next, g.Until)
		}
	}
}

// TestAnOldVersionExpires, whatever the next one does.
func TestAnOldVersionExpires(t *testing.T) {
	h := newSecretHome(t)
	h.purse.set("search.key", "value-0001-abcdef", time.Now().Add(time.Hour))
	s := h.declare(envGrant())
	if _, err := h.secrets.Equip(t.Context(), s, &sandbox.Launch{ID: "i0123456789abcdef", Server: s.Name}); err != nil {
		t.Fatal(err)
	}
	h.purse.set("search.key", "value-0002-abcdef", time.Time{})
	h.secrets.held["i0123456789abcdef"].given[0].ref.Expires = time.Now().Add(-time.Second)
	if ended := h.secretsChanged(t.Context()); ended != 1 {
		t.Errorf("%d sandboxes were ended", ended)
	}
	if next := h.secrets.nextEnd(); !next.IsZero() {
		t.Errorf("what has ended is waited for: %s", next)
	}
}

// TestARevocationIsNotUndone by another change of the same server.
func TestARevocationIsNotUndone(t *testing.T) {
	h := newSecretHome(t)
	peer := httpapi.Peer{UID: h.uid, Page: true}
	other := api.SecretGrant{Server: "search", Mode: "env", Env: "OTHER"}
	for range 20 {
		h.declare(envGrant())
		done := make(chan error, 3)
		go func() { _, err := h.RevokeSecret(t.Context(), peer, "search.key", "search"); done <- err }()
		go func() { _, err := h.GrantSecret(t.Context(), peer, "other", other); done <- err }()
		go func() {
			_, err := h.ChangeNetwork(t.Context(), peer, "search", api.NetworkChange{Host: "api.example.com", Allow: true})
			done <- err
		}()
		for range 3 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		s, _ := h.config.Server("search")
		if len(s.Spec.Secrets) != 1 || s.Spec.Secrets[0].Secret != "other" || !slices.Contains(s.Spec.Network.Endpoints, endpoint("api.example.com", 443)) {
			t.Fatalf("of three changes these are left: %+v, %+v", s.Spec.Secrets, s.Spec.Network)
		}
	}
}

// TestWhatTheWallWouldRefuse is refused where a person says it, and never costs a sandbox its network.
func TestWhatTheWallWouldRefuse(t *testing.T) {
	h := newSecretHome(t)
	peer := httpapi.Peer{UID: h.uid, Page: true}
	h.purse.set("pin", "4711", time.Time{})
	h.declare()
	grant := func(name, header string) error {
		_, err := h.GrantSecret(t.Context(), peer, name, api.SecretGrant{
			Server: "search", Env: "X", Hosts: []string{"api.example.com"}, Places: []api.SecretPlace{{In: "header", Name: header}},
		})
		return err
	}
	for name, err := range map[string]error{
		"a short value": grant("pin", "Authorization"), "the host": grant("token", "host"), "a range": grant("token", "range"),
		"the length": grant("token", "Content-Length"),
	} {
		if !errdefs.IsInvalidArgument(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	s := h.declare(toward("pin", "X", "Authorization"))
	if err := h.checkSet(t.Context(), peer, store.SecretRef{Name: "pin"}, []byte("47111")); !errdefs.IsInvalidArgument(err) {
		t.Errorf("a short value for a placeholder is stored: %v", err)
	}
	if _, err := h.secrets.Equip(t.Context(), s, &sandbox.Launch{ID: standInID, Server: s.Name}); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("a server starts with it: %v", err)
	}

	h.purse.set("pin", "4711-4711", time.Time{})
	h.purse.set("token", "value-0001-abcdef", time.Time{})
	s = h.declare(toward("pin", "X", "Authorization"), toward("token", "Y", "Authorization"))
	if _, err := h.secrets.Equip(t.Context(), s, &sandbox.Launch{ID: standInID, Server: s.Name}); err != nil {
		t.Fatal(err)
	}
	h.purse.set("pin", "4711", time.Time{})
	further := toward("token", "Y", "Authorization")
	further.Hosts = append(further.Hosts, endpoint("new.example.test", 443))
	h.declare(toward("pin", "X", "Authorization"), further)
	h.secretsChanged(t.Context())
	_, all := h.secrets.placeholders(standInID)
	if len(all) != 1 || !slices.Equal(all[0].Hosts, []sandbox.Endpoint{endpoint("api.example.test", 443)}) {
		t.Errorf("the next wall is given %+v", all)
	}
	if h.secrets.of(standInID).stale == "" {
		t.Error("the further host waits for ever")
	}
}
