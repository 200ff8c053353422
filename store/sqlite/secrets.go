package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// Sealed is a secret's value as it is kept: it opens only with the key of that id, and as this version.
type Sealed struct {
	Ref   store.SecretRef
	Key   string // id; "" where a command gives the value
	Bytes []byte
}

// wireSecret is the body of secret.set, secret.removed and secret.rotated.
type wireSecret struct {
	Name    string         `json:"name"`
	Version int64          `json:"version"`
	Command jsontext.Value `json:"command,omitempty"` // without what looks like a secret in it
	Expires time.Time      `json:"expires,omitzero"`
	By      string         `json:"by"`
}

// SetSecret keeps a secret of ref's name, command and expiry, or its next version, and records it in the
// same transaction, durably. seal is given the version and returns the sealed value and its key's id;
// it is not called where a command gives the value. What the value was before is overwritten.
func (s *Store) SetSecret(ctx context.Context, by approvals.Principal, who string, ref store.SecretRef, seal func(version int64) ([]byte, string, error)) (store.SecretRef, error) {
	return s.keepSecret(ctx, by, who, ref, seal, false)
}

// AddSecret is SetSecret for a secret that is not there yet. AlreadyExists, and nothing is changed, where it is.
func (s *Store) AddSecret(ctx context.Context, by approvals.Principal, who string, ref store.SecretRef, seal func(version int64) ([]byte, string, error)) (store.SecretRef, error) {
	return s.keepSecret(ctx, by, who, ref, seal, true)
}

func (s *Store) keepSecret(ctx context.Context, by approvals.Principal, who string, ref store.SecretRef, seal func(version int64) ([]byte, string, error), first bool) (store.SecretRef, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return ref, fmt.Errorf("set secret %s: %w", ref.Name, err)
	}
	ref, err := s.w.succeeds(ctx, ref, time.Now().Truncate(time.Microsecond).UTC())
	if err == nil && first && !ref.Created.Equal(ref.Changed) {
		err = fmt.Errorf("there is one already: %w", errdefs.ErrAlreadyExists)
	}
	if err != nil {
		return ref, fmt.Errorf("set secret %s: %w", ref.Name, err)
	}
	kept := Sealed{Ref: ref}
	if len(ref.Command) == 0 {
		if kept.Bytes, kept.Key, err = seal(ref.Version); err != nil {
			return ref, fmt.Errorf("set secret %s: %w", ref.Name, err)
		}
	}
	command, err := json.Marshal(append([]string{}, ref.Command...))
	if err != nil {
		return ref, fmt.Errorf("set secret %s: %w: %w", ref.Name, err, errdefs.ErrInvalidArgument)
	}
	w := wireSecret{Name: ref.Name, Version: ref.Version, Expires: ref.Expires, By: who}
	if len(ref.Command) > 0 {
		w.Command = s.arguments(command, maxText)
	}
	err = s.changeSecret(ctx, store.SecretSet, by, w, func(ctx context.Context) error { return s.w.putSecret(ctx, kept, string(command)) })
	if err != nil {
		return ref, fmt.Errorf("set secret %s: %w", ref.Name, err)
	}
	return ref, nil
}

// succeeds is ref with its version and times, as the next after what is there.
func (w *writer) succeeds(ctx context.Context, ref store.SecretRef, now time.Time) (store.SecretRef, error) {
	var created, removed int64
	err := w.conn.QueryRowContext(ctx, "SELECT version, created, removed FROM secrets WHERE name = ?", ref.Name).Scan(&ref.Version, &created, &removed)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return ref, unavailable("look for the version before", err)
	}
	ref.Version++
	ref.Created, ref.Changed = now, now
	if created != 0 && removed == 0 {
		ref.Created = micros(created)
	}
	if !ref.Expires.IsZero() {
		ref.Expires = ref.Expires.Truncate(time.Microsecond).UTC()
	}
	return ref, nil
}

func (w *writer) putSecret(ctx context.Context, s Sealed, command string) error {
	_, err := w.conn.ExecContext(ctx,
		`INSERT INTO secrets (name, version, sealed, key, command, created, changed, expires, removed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)
		 ON CONFLICT (name) DO UPDATE SET version = ?2, sealed = ?3, key = ?4, command = ?5, created = ?6, changed = ?7, expires = ?8, removed = 0`,
		s.Ref.Name, s.Ref.Version, s.Bytes, s.Key, command, s.Ref.Created.UnixMicro(), s.Ref.Changed.UnixMicro(), unixMicro(s.Ref.Expires))
	return err
}

// ForgetSecret forgets a secret's value and records why: kind is store.SecretRemoved or
// store.SecretRotated. NotFound.
func (s *Store) ForgetSecret(ctx context.Context, by approvals.Principal, who string, kind store.Kind, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return fmt.Errorf("forget secret %s: %w", name, err)
	}
	ref, err := scanSecret(s.w.conn.QueryRowContext(ctx, selectSecret+"WHERE s.name = ? AND s.removed = 0", name))
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("forget secret %s: %w", name, errdefs.ErrNotFound)
	}
	if err != nil {
		return unavailable("forget secret "+name, err)
	}
	w := wireSecret{Name: name, Version: ref.Ref.Version, By: who}
	err = s.changeSecret(ctx, kind, by, w, func(ctx context.Context) error {
		_, err := s.w.conn.ExecContext(ctx, "UPDATE secrets SET sealed = NULL, key = '', command = '[]', expires = 0, removed = ? WHERE name = ?", time.Now().UnixMicro(), name)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget secret %s: %w", name, err)
	}
	return nil
}

// changeSecret records an event about a secret and does what it tells of. Of what was there before
// nothing is left in the file. s.mu is held.
func (s *Store) changeSecret(ctx context.Context, kind store.Kind, by approvals.Principal, w wireSecret, also func(context.Context) error) error {
	body, err := encode(w)
	if err != nil {
		return err
	}
	if _, err := s.w.conn.ExecContext(ctx, "PRAGMA secure_delete = ON"); err != nil {
		return unavailable("have what is replaced overwritten", err)
	}
	err = s.commit(ctx, true, []placed{{Event: store.Event{Kind: kind, Principal: by, Body: body}}}, also)
	_, off := s.w.conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA secure_delete = OFF") // for the record it would only cost
	if err != nil || off != nil {
		return errors.Join(err, unavailable("write record", off))
	}
	s.scrub = true
	s.scrubLog()
	return nil
}

// scrubLog empties the write-ahead log, in which pages are as they were before. Readers may be in the
// way: then the next checkpoint does it. s.mu is held.
func (s *Store) scrubLog() {
	if !s.scrub || s.w.release() != nil {
		return
	}
	defer func() { _ = s.w.hold() }() // if it fails, writes are merely slower
	ctx := context.Background()
	if _, err := s.w.conn.ExecContext(ctx, "PRAGMA busy_timeout = 50"); err != nil {
		return
	}
	defer func() { _, _ = s.w.conn.ExecContext(ctx, "PRAGMA busy_timeout = 5000") }()
	var busy, log, folded int
	err := s.w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &folded)
	s.scrub = err != nil || busy != 0
}

const selectSecret = `SELECT s.name, s.version, s.sealed, s.key, s.command, s.created, s.changed, s.expires,
	(SELECT max(seq) FROM secret_uses u WHERE u.secret = s.name) FROM secrets s `

// secretRow is a secret, and the event of its last use.
type secretRow struct {
	Sealed
	use int64 // 0 for never
}

func scanSecret(row scanner) (out secretRow, err error) {
	var command []byte
	var created, changed, expires int64
	var use sql.NullInt64
	err = row.Scan(&out.Ref.Name, &out.Ref.Version, &out.Bytes, &out.Key, &command, &created, &changed, &expires, &use)
	if err != nil {
		return out, err
	}
	out.Ref.Created, out.Ref.Changed, out.Ref.Expires, out.use = micros(created), micros(changed), orZero(expires), use.Int64
	if err := json.Unmarshal(command, &out.Ref.Command); err != nil {
		return out, err
	}
	if len(out.Ref.Command) == 0 {
		out.Ref.Command = nil
	}
	return out, nil
}

// Secrets lists what is kept, by name, each with its last use as far as the record goes back.
func (s *Store) Secrets(ctx context.Context) ([]store.SecretRef, error) {
	rows, err := s.readers.QueryContext(ctx, selectSecret+"WHERE s.removed = 0 ORDER BY s.name")
	if err != nil {
		return nil, unavailable("list secrets", err)
	}
	defer rows.Close()
	var all []store.SecretRef
	var uses []int64
	for rows.Next() {
		one, err := scanSecret(rows)
		if err != nil {
			return nil, unavailable("list secrets", err)
		}
		all, uses = append(all, one.Ref), append(uses, one.use)
	}
	if err := rows.Err(); err != nil {
		return nil, unavailable("list secrets", err)
	}
	for i := range all {
		if all[i].LastUse, err = s.useAt(ctx, uses[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Secret is one that is kept, with its value sealed. NotFound.
func (s *Store) Secret(ctx context.Context, name string) (Sealed, error) {
	one, err := scanSecret(s.readers.QueryRowContext(ctx, selectSecret+"WHERE s.name = ? AND s.removed = 0", name))
	if errors.Is(err, sql.ErrNoRows) {
		return Sealed{}, fmt.Errorf("find secret %s: %w", name, errdefs.ErrNotFound)
	}
	if err != nil {
		return Sealed{}, unavailable("find secret "+name, err)
	}
	one.Ref.LastUse, err = s.useAt(ctx, one.use)
	return one.Sealed, err
}

// SealedWith are the ids of the keys that values are sealed with.
func (s *Store) SealedWith(ctx context.Context) ([]string, error) {
	ids, err := texts(ctx, s.readers, "SELECT DISTINCT key FROM secrets WHERE sealed IS NOT NULL ORDER BY key")
	return ids, unavailable("list the keys of secrets", err)
}

// SealedBy are the names of the secrets whose values the key of that id has sealed.
func (s *Store) SealedBy(ctx context.Context, key string) ([]string, error) {
	rows, err := s.readers.QueryContext(ctx, "SELECT name FROM secrets WHERE sealed IS NOT NULL AND key = ? ORDER BY name", key)
	if err != nil {
		return nil, unavailable("list secrets", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, unavailable("list secrets", err)
		}
		names = append(names, name)
	}
	return names, unavailable("list secrets", rows.Err())
}

// wireUse is the body of secret.used.
type wireUse struct {
	Name    string             `json:"name"`
	Version int64              `json:"version"`
	Mode    sandbox.SecretMode `json:"mode"`
	Host    string             `json:"host,omitempty"`
	Calls   []approvals.CallID `json:"calls,omitempty"`
}

// RecordSecretUse adds a use to the record. u.At is now where it is zero.
func (s *Store) RecordSecretUse(ctx context.Context, u store.SecretUse) error {
	body, err := encode(wireUse{Name: u.Secret, Version: u.Version, Mode: u.Mode, Host: clip(u.Host), Calls: most(u.Calls, maxChanges)})
	if err != nil {
		return err
	}
	e := store.Event{Kind: store.SecretUsed, At: u.At, Principal: u.Principal, Session: u.Session, Server: u.Server, Body: body}
	if len(u.Calls) == 1 {
		e.Call = u.Calls[0]
	}
	events := []placed{{Event: e}}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.commit(ctx, false, events, func(ctx context.Context) error {
		_, err := s.w.conn.ExecContext(ctx, "INSERT INTO secret_uses (secret, seq) VALUES (?, ?)", u.Secret, events[0].Seq)
		return err
	})
	if err != nil {
		return fmt.Errorf("record the use of secret %s: %w", u.Secret, err)
	}
	return nil
}

// SecretUses lists the uses of a secret since a time, the latest first, at most limit; as far as the
// record goes back.
func (s *Store) SecretUses(ctx context.Context, name string, since time.Time, limit int) ([]store.SecretUse, error) {
	return s.uses(ctx, "WHERE seq IN (SELECT seq FROM secret_uses WHERE secret = ?) AND at >= ? ORDER BY seq DESC LIMIT ?", name, unixMicro(since), limit)
}

// useAt is the use that an event tells of; none for 0.
func (s *Store) useAt(ctx context.Context, seq int64) (store.SecretUse, error) {
	if seq == 0 {
		return store.SecretUse{}, nil
	}
	found, err := s.uses(ctx, "WHERE seq = ?", seq)
	if err != nil || len(found) == 0 {
		return store.SecretUse{}, err
	}
	return found[0], nil
}

func (s *Store) uses(ctx context.Context, where string, args ...any) ([]store.SecretUse, error) {
	rows, err := s.readers.QueryContext(ctx, selectEvent+where, args...)
	if err != nil {
		return nil, unavailable("list uses of secrets", err)
	}
	defer rows.Close()
	all := []store.SecretUse{}
	for rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return nil, unavailable("list uses of secrets", err)
		}
		var w wireUse
		if err := decode(e.Body, &w); err != nil {
			continue // Verify's to name
		}
		all = append(all, store.SecretUse{
			Secret: w.Name, Version: w.Version, At: e.At, Server: e.Server, Session: e.Session, Principal: e.Principal,
			Calls: w.Calls, Mode: w.Mode, Host: w.Host,
		})
	}
	return all, unavailable("list uses of secrets", rows.Err())
}
