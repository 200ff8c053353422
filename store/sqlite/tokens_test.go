package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

var ana = approvals.Principal{UID: 1000, Client: "cli"}

func newToken() store.Token {
	return store.Token{Name: "inspector", Servers: []sandbox.ServerName{"files", "search"}, Tools: []string{"read_*"}}
}

func TestATokenIsCreatedFoundAndRevoked(t *testing.T) {
	p, ctx := newPlace(t), context.Background()
	s := p.open(t)
	made, secret, err := s.CreateToken(ctx, ana, newToken())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(secret, "garita_") || len(secret) != len("garita_")+52 {
		t.Errorf("secret %q", secret)
	}
	found, err := s.FindToken(ctx, secret)
	if err != nil || found.ID != made.ID || !found.Opens("files") || found.Opens("other") || !found.Sees("read_file") || found.Sees("write_file") {
		t.Errorf("found %+v, %v", found, err)
	}
	for name, wrong := range map[string]string{"nothing": "", "another": secret[:len(secret)-1] + "_", "its id": string(made.ID), "in capitals": strings.ToUpper(secret)} {
		if _, err := s.FindToken(ctx, wrong); !errors.Is(err, errdefs.ErrUnauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.RevokeToken(ctx, ana, made.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.RevokeToken(ctx, ana, made.ID); err != nil {
		t.Errorf("twice: %v", err)
	}
	if err := s.RevokeToken(ctx, ana, "t0"); !errors.Is(err, errdefs.ErrNotFound) {
		t.Errorf("an unknown one: %v", err)
	}
	if _, err := s.FindToken(ctx, secret); !errors.Is(err, errdefs.ErrUnauthenticated) {
		t.Errorf("a revoked one: %v", err)
	}
	events, err := s.Events(ctx, 0, 10, "")
	if err != nil || len(events) != 2 || events[0].Kind != store.TokenCreated || events[1].Kind != store.TokenRevoked || events[1].Principal != ana {
		t.Errorf("events %+v, %v", events, err)
	}
}

func TestTokensOutliveTheDaemonAndTheirSecretIsNowhere(t *testing.T) {
	p, ctx := newPlace(t), context.Background()
	s := p.open(t)
	made, secret, err := s.CreateToken(ctx, ana, newToken())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.FindToken(ctx, secret); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(p.dir, f.Name()))
		if err != nil || strings.Contains(string(b), secret[len("garita_"):]) {
			t.Errorf("%s holds the secret (%v)", f.Name(), err)
		}
	}
	s = p.open(t)
	found, err := s.FindToken(ctx, secret)
	if err != nil {
		t.Fatal(err)
	}
	if found.LastUsed.IsZero() {
		t.Error("the use was not noted")
	}
	made.LastUsed, found.LastUsed = time.Time{}, time.Time{}
	if d := cmp.Diff(made, found); d != "" {
		t.Error(d)
	}
	if v, err := s.Verify(ctx); err != nil || !v.OK {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestTokensExpireAndAreListed(t *testing.T) {
	s, ctx := newPlace(t).open(t), context.Background()
	late := newToken()
	late.Expires = time.Now().Add(time.Hour)
	first, _, err := s.CreateToken(ctx, ana, late)
	if err != nil {
		t.Fatal(err)
	}
	if !first.Valid(time.Now()) || first.Valid(time.Now().Add(time.Hour)) {
		t.Error("it does not expire in an hour")
	}
	second, _, err := s.CreateToken(ctx, ana, newToken())
	if err != nil {
		t.Fatal(err)
	}
	if all := s.Tokens(); len(all) != 2 || all[0].ID != second.ID {
		t.Errorf("%+v", all)
	}
	if one, err := s.Token(first.ID); err != nil || one.Name != first.Name {
		t.Errorf("%+v, %v", one, err)
	}
	for name, bad := range map[string]store.Token{
		"no name":         {Servers: []sandbox.ServerName{"a"}},
		"no server":       {Name: "x"},
		"a bad pattern":   {Name: "x", Servers: []sandbox.ServerName{"a"}, Tools: []string{"["}},
		"already expired": {Name: "x", Servers: []sandbox.ServerName{"a"}, Expires: time.Unix(1, 0)},
	} {
		if _, _, err := s.CreateToken(ctx, ana, bad); !errors.Is(err, errdefs.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErasAreRemembered(t *testing.T) {
	p, ctx := newPlace(t), context.Background()
	s := p.open(t)
	if era, err := s.Era(ctx, "k"); err != nil || era != "" {
		t.Errorf("%q, %v", era, err)
	}
	for _, era := range []string{"legacy", "modern"} {
		if err := s.SaveEra(ctx, "k", era); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SaveEra(ctx, "k", "future"); !errors.Is(err, errdefs.ErrInvalidArgument) {
		t.Errorf("another era: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = p.open(t)
	if era, err := s.Era(ctx, "k"); err != nil || era != "modern" {
		t.Errorf("%q, %v", era, err)
	}
	if err := s.ForgetEra(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if era, err := s.Era(ctx, "k"); err != nil || era != "" {
		t.Errorf("%q, %v", era, err)
	}
}

// The record of version 1 was written by the garita of that time: ten events and one workspace.
func TestARecordOfVersion1(t *testing.T) {
	p, ctx := newPlace(t), context.Background()
	for _, name := range []string{"garita.db", "audit.key", "audit.head"} {
		b, err := os.ReadFile(filepath.Join("testdata", "v1", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := p.open(t)
	if v, err := s.Verify(ctx); err != nil || !v.OK || v.Records != 10 {
		t.Errorf("%+v, %v", v, err)
	}
	w, err := s.Workspace(ctx, "w0123456789abcdef")
	if err != nil || w.Principal.Client != "claude-desktop" || w.Principal.Token != "" {
		t.Errorf("%+v, %v", w, err)
	}
	byToken := approvals.Principal{UID: 1000, Token: "t1"}
	e, err := s.Append(ctx, store.Event{Kind: store.SessionOpened, Principal: byToken, Body: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Events(ctx, e.Seq-1, 1, ""); err != nil || len(got) != 1 || got[0].Principal != byToken {
		t.Errorf("%+v, %v", got, err)
	}
	if v, err := s.Verify(ctx); err != nil || !v.OK || v.Records != 11 {
		t.Errorf("%+v, %v", v, err)
	}
	theirs := store.Workspace{ID: "w1", Server: "files", Principal: approvals.Principal{UID: 1000, Client: "claude-desktop", Token: "t1"}, Folders: []string{"/home/ana/shop"}}
	if kept, err := s.KeepWorkspace(ctx, theirs); err != nil || kept.ID != "w1" {
		t.Errorf("a token's workspace is another's: %+v, %v", kept, err)
	}
}

func TestATokenInAnEventIsCovered(t *testing.T) {
	p, ctx := newPlace(t), context.Background()
	s := p.open(t)
	e, err := s.Append(ctx, store.Event{Kind: store.SessionOpened, Principal: approvals.Principal{UID: 1, Token: "t1"}, Body: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p.tamper(t, `UPDATE events SET token = '' WHERE seq = 1`)
	if v, err := p.open(t).Verify(ctx); err != nil || v.OK || v.Bad != e.Seq {
		t.Errorf("%+v, %v", v, err)
	}
}
