package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
	"github.com/garita-dev/garita/store/seal"
	"github.com/garita-dev/garita/store/sqlite"
)

// sealing seals value as the daemon does, and notes what was sealed.
func sealing(k seal.Key, name, value string, sealed *[]byte) func(int64) ([]byte, string, error) {
	return func(version int64) (b []byte, id string, err error) {
		b, err = k.Seal(name, version, store.NewSecretValue([]byte(value)))
		if sealed != nil {
			*sealed = b
		}
		return b, k.ID(), err
	}
}

func setSecret(t *testing.T, s *sqlite.Store, k seal.Key, name, value string, sealed *[]byte) store.SecretRef {
	t.Helper()
	ref, err := s.SetSecret(t.Context(), ana, "a test", store.SecretRef{Name: name}, sealing(k, name, value, sealed))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// TestASecretIsAddedOnce: what is there is not replaced; one that was removed is not there.
func TestASecretIsAddedOnce(t *testing.T) {
	p, ctx, key := newPlace(t), t.Context(), seal.NewKey()
	s := p.open(t)
	add := func() error {
		_, err := s.AddSecret(ctx, ana, "a test", store.SecretRef{Name: "token"}, sealing(key, "token", "ghp_other", nil))
		return err
	}
	setSecret(t, s, key, "token", "ghp_one", nil)
	if err := add(); !errdefs.IsAlreadyExists(err) {
		t.Errorf("beside one that is there: %v", err)
	}
	if kept, err := s.Secret(ctx, "token"); err != nil || kept.Ref.Version != 1 {
		t.Errorf("%+v, %v", kept.Ref, err)
	}
	if err := s.ForgetSecret(ctx, ana, "a test", store.SecretRemoved, "token"); err != nil {
		t.Fatal(err)
	}
	if err := add(); err != nil {
		t.Errorf("after it was removed: %v", err)
	}
}

func TestASecretIsKeptSealedAndItsVersionsCount(t *testing.T) {
	p, ctx, key := newPlace(t), t.Context(), seal.NewKey()
	s := p.open(t)
	first := setSecret(t, s, key, "github-token", "ghp_one", nil)
	second := setSecret(t, s, key, "github-token", "ghp_two", nil)
	if first.Version != 1 || second.Version != 2 || !second.Created.Equal(first.Created) {
		t.Errorf("versions %+v, %+v", first, second)
	}
	if err := s.ForgetSecret(ctx, ana, "a test", store.SecretRemoved, "github-token"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Secret(ctx, "github-token"); !errors.Is(err, errdefs.ErrNotFound) {
		t.Errorf("a removed one: %v", err)
	}
	if err := s.ForgetSecret(ctx, ana, "a test", store.SecretRemoved, "github-token"); !errors.Is(err, errdefs.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	third := setSecret(t, s, key, "github-token", "ghp_three", nil)
	if third.Version != 3 {
		t.Errorf("after a removal: %+v", third)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = p.open(t)
	kept, err := s.Secret(ctx, "github-token")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(third, kept.Ref); d != "" {
		t.Error(d)
	}
	value, err := key.Open("github-token", kept.Ref.Version, kept.Bytes)
	if err != nil || value.Reveal() != "ghp_three" {
		t.Errorf("it does not open: %v", err)
	}
	if v := verify(t, s); !v.OK {
		t.Errorf("%+v", v)
	}
}

// holds says which files of dir hold some bytes.
func holds(t *testing.T, dir string, what []byte) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, what) {
			names = append(names, e.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// An old sealed value would open again if its key were found one day: nothing is left of it.
func TestNothingIsLeftOfAValueThatWasReplaced(t *testing.T) {
	for name, replace := range map[string]func(s *sqlite.Store, k seal.Key) error{
		"by another, longer": func(s *sqlite.Store, k seal.Key) error {
			_, err := s.SetSecret(t.Context(), ana, "", store.SecretRef{Name: "a"}, sealing(k, "a", string(make([]byte, 9000)), nil))
			return err
		},
		"by a command": func(s *sqlite.Store, _ seal.Key) error {
			_, err := s.SetSecret(t.Context(), ana, "", store.SecretRef{Name: "a", Command: []string{"pass", "show", "a"}}, nil)
			return err
		},
		"by nothing": func(s *sqlite.Store, _ seal.Key) error {
			return s.ForgetSecret(t.Context(), ana, "", store.SecretRotated, "a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, key := newPlace(t), seal.NewKey()
			s := p.open(t)
			for i := range 20 {
				setSecret(t, s, key, fmt.Sprintf("other-%d", i), fmt.Sprint("value ", i, string(make([]byte, i*40))), nil)
			}
			var sealed []byte
			const value = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
			setSecret(t, s, key, "a", value, &sealed)
			if len(holds(t, p.dir, sealed)) == 0 {
				t.Fatal("this test does not find what is there")
			}
			if err := replace(s, key); err != nil {
				t.Fatal(err)
			}
			if left := holds(t, p.dir, sealed); len(left) > 0 {
				t.Errorf("the old one is in %v", left)
			}
			if left := holds(t, p.dir, []byte(value)); len(left) > 0 {
				t.Errorf("the value is in %v", left)
			}
		})
	}
}

func aUse(name string, at time.Time) store.SecretUse {
	return store.SecretUse{
		Secret: name, Version: 1, At: at.Truncate(time.Microsecond).UTC(), Server: "github", Session: "s1", Principal: ana,
		Calls: []approvals.CallID{"c1"}, Mode: sandbox.SecretPlaceholder, Host: "api.github.com:443",
	}
}

func TestUsesAreListedTheLatestFirst(t *testing.T) {
	p, ctx := newPlace(t), t.Context()
	s := p.open(t)
	setSecret(t, s, seal.NewKey(), "a", "v", nil)
	now := time.Now()
	old, late := aUse("a", now.Add(-time.Hour)), aUse("a", now)
	for _, u := range []store.SecretUse{old, late, aUse("b", now)} {
		if err := s.RecordSecretUse(ctx, u); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.SecretUses(ctx, "a", time.Time{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]store.SecretUse{late, old}, got); d != "" {
		t.Error(d)
	}
	if got, err := s.SecretUses(ctx, "a", now.Add(-time.Minute), 10); err != nil || len(got) != 1 {
		t.Errorf("since a minute: %+v, %v", got, err)
	}
	all, err := s.Secrets(ctx)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	if d := cmp.Diff(late, all[0].LastUse); d != "" {
		t.Error(d)
	}
	if v := verify(t, s); !v.OK {
		t.Errorf("%+v", v)
	}
}

func TestVerifyComparesSecretsWithTheRecord(t *testing.T) {
	for name, tamper := range map[string]string{
		"an older version is put back": `UPDATE secrets SET version = 1 WHERE name = 'a'`,
		"another command":              `UPDATE secrets SET command = '["evil"]' WHERE name = 'by-command'`,
		"a removed one is put back":    `UPDATE secrets SET removed = 0 WHERE name = 'gone'`,
		"one is deleted":               `DELETE FROM secrets WHERE name = 'a'`,
		"a use is hidden":              `DELETE FROM secret_uses`,
		"a use of another":             `UPDATE secret_uses SET secret = 'gone'`,
	} {
		t.Run(name, func(t *testing.T) {
			p, ctx, key := newPlace(t), context.Background(), seal.NewKey()
			s := p.open(t)
			setSecret(t, s, key, "a", "1", nil)
			setSecret(t, s, key, "a", "2", nil)
			setSecret(t, s, key, "gone", "3", nil)
			if _, err := s.SetSecret(ctx, ana, "", store.SecretRef{Name: "by-command", Command: []string{"pass", "a"}}, nil); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.ForgetSecret(ctx, ana, "", store.SecretRemoved, "gone"), s.RecordSecretUse(ctx, aUse("a", time.Now())), s.Close()); err != nil {
				t.Fatal(err)
			}
			p.tamper(t, tamper)
			if v := verify(t, p.open(t)); v.OK {
				t.Error("it is taken to be in order")
			}
		})
	}
}

func TestTheKeysOfSecretsAreKnown(t *testing.T) {
	s, ctx := newPlace(t).open(t), t.Context()
	one, two := seal.NewKey(), seal.NewKey()
	setSecret(t, s, one, "a", "1", nil)
	setSecret(t, s, two, "b", "1", nil)
	setSecret(t, s, one, "c", "1", nil)
	if ids, err := s.SealedWith(ctx); err != nil || len(ids) != 2 {
		t.Errorf("%v, %v", ids, err)
	}
	if names, err := s.SealedBy(ctx, one.ID()); err != nil || !cmp.Equal(names, []string{"a", "c"}) {
		t.Errorf("%v, %v", names, err)
	}
}
