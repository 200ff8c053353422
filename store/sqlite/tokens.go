package sqlite

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/store"
)

const (
	// maxTokens bounds how many tokens may be in use.
	maxTokens = 256
	// noteUse is how old a token's last use may be on disk while it is used on.
	noteUse = 5 * time.Minute
	// maxTokenName bounds a token's name, in bytes.
	maxTokenName = 100
)

// tokens are all tokens, by the hash of their secret: a request is let in without asking the disk.
type tokens struct {
	mu     sync.RWMutex // guards the fields below
	byHash map[hash]*store.Token
	noted  time.Time // when uses were last written
	used   map[store.TokenID]time.Time
}

// hashSecret is what is kept of a token's secret. It has 256 random bits: a slow hash adds nothing.
func hashSecret(secret string) hash { return sha256.Sum256([]byte(secret)) }

// newSecret is "garita_" and 256 random bits in base32.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return store.TokenPrefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// CreateToken makes a token of t's name, servers, tools and expiry, and records who made it. The
// secret is returned once and kept nowhere. Kinds: InvalidArgument; FailedPrecondition when there are
// too many; Unavailable.
func (s *Store) CreateToken(ctx context.Context, by approvals.Principal, t store.Token) (store.Token, string, error) {
	now := time.Now().Truncate(time.Microsecond).UTC()
	if err := checkToken(t, now); err != nil {
		return store.Token{}, "", fmt.Errorf("create token: %w", err)
	}
	var id [8]byte
	_, _ = rand.Read(id[:])
	t.ID, t.Created, t.LastUsed, t.Revoked = store.TokenID("t"+hex.EncodeToString(id[:])), now, time.Time{}, time.Time{}
	if !t.Expires.IsZero() {
		t.Expires = t.Expires.Truncate(time.Microsecond).UTC()
	}
	secret := newSecret()
	if err := s.addToken(ctx, by, t, hashSecret(secret)); err != nil {
		return store.Token{}, "", fmt.Errorf("create token: %w", err)
	}
	return t, secret, nil
}

func checkToken(t store.Token, now time.Time) error {
	switch {
	case strings.TrimSpace(t.Name) == "" || len(t.Name) > maxTokenName:
		return fmt.Errorf("want a name of 1 to %d bytes: %w", maxTokenName, errdefs.ErrInvalidArgument)
	case len(t.Servers) == 0:
		return fmt.Errorf("want at least one server: %w", errdefs.ErrInvalidArgument)
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return fmt.Errorf("it would have expired already: %w", errdefs.ErrInvalidArgument)
	}
	for _, p := range t.Tools {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return fmt.Errorf("%q is not a pattern: %w", p, errdefs.ErrInvalidArgument)
		}
	}
	return nil
}

func (s *Store) addToken(ctx context.Context, by approvals.Principal, t store.Token, h hash) error {
	servers, tools, err := tokenLists(t)
	if err != nil {
		return err
	}
	events, err := tokenEvent(store.TokenCreated, by, t)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens.valid() >= maxTokens {
		return fmt.Errorf("there are %d already; revoke some: %w", maxTokens, errdefs.ErrFailedPrecondition)
	}
	err = s.commit(ctx, true, events, func(ctx context.Context) error {
		_, err := s.w.conn.ExecContext(ctx,
			`INSERT INTO tokens (id, hash, name, servers, tools, created, expires, used, revoked) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0)`,
			string(t.ID), h[:], t.Name, servers, tools, t.Created.UnixMicro(), unixMicro(t.Expires))
		return err
	})
	if err == nil {
		s.tokens.put(h, t)
	}
	return err
}

func tokenLists(t store.Token) (servers, tools string, err error) {
	a, err := json.Marshal(append(t.Servers[:0:0], t.Servers...))
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", errdefs.ErrInvalidArgument, err)
	}
	b, err := json.Marshal(append([]string{}, t.Tools...))
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", errdefs.ErrInvalidArgument, err)
	}
	return string(a), string(b), nil
}

// wireToken is the body of token.created and token.revoked.
type wireToken struct {
	Token   store.TokenID `json:"token"`
	Name    string        `json:"name"`
	Servers []string      `json:"servers,omitempty"`
	Tools   []string      `json:"tools,omitempty"`
	Expires time.Time     `json:"expires,omitzero"`
}

func tokenEvent(kind store.Kind, by approvals.Principal, t store.Token) ([]placed, error) {
	w := wireToken{Token: t.ID, Name: t.Name, Tools: most(t.Tools, maxChanges), Expires: t.Expires}
	for _, name := range most(t.Servers, maxChanges) {
		w.Servers = append(w.Servers, string(name))
	}
	body, err := encode(w)
	return []placed{{Event: store.Event{Kind: kind, Principal: by, Body: body}}}, err
}

// RevokeToken ends a token for good, and records who did. One that is revoked stays as it is. NotFound.
func (s *Store) RevokeToken(ctx context.Context, by approvals.Principal, id store.TokenID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, t, ok := s.tokens.byID(id)
	if !ok {
		return fmt.Errorf("revoke token %s: %w", id, errdefs.ErrNotFound)
	}
	if !t.Revoked.IsZero() {
		return nil
	}
	t.Revoked = time.Now().Truncate(time.Microsecond).UTC()
	events, err := tokenEvent(store.TokenRevoked, by, store.Token{ID: t.ID, Name: t.Name})
	if err != nil {
		return err
	}
	err = s.commit(ctx, true, events, func(ctx context.Context) error {
		_, err := s.w.conn.ExecContext(ctx, "UPDATE tokens SET revoked = ? WHERE id = ?", t.Revoked.UnixMicro(), string(id))
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke token %s: %w", id, err)
	}
	s.tokens.put(h, t)
	return nil
}

// Tokens lists all tokens, newest first, those that are over too.
func (s *Store) Tokens() []store.Token {
	s.tokens.mu.RLock()
	defer s.tokens.mu.RUnlock()
	all := make([]store.Token, 0, len(s.tokens.byHash))
	for _, t := range s.tokens.byHash {
		all = append(all, s.tokens.now(t))
	}
	slices.SortFunc(all, func(a, b store.Token) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return all
}

// Token is the token of that id, valid or not. NotFound.
func (s *Store) Token(id store.TokenID) (store.Token, error) {
	s.tokens.mu.RLock()
	defer s.tokens.mu.RUnlock()
	for _, t := range s.tokens.byHash {
		if t.ID == id {
			return s.tokens.now(t), nil
		}
	}
	return store.Token{}, fmt.Errorf("find token %s: %w", id, errdefs.ErrNotFound)
}

// FindToken is the valid token with that secret, and notes its use. Unauthenticated when there is
// none: never issued, revoked or expired, which a stranger is not told apart.
func (s *Store) FindToken(ctx context.Context, secret string) (store.Token, error) {
	h, now := hashSecret(secret), time.Now()
	t, ok := s.tokens.find(h, now)
	if !ok {
		return store.Token{}, fmt.Errorf("this token is not valid (any more): %w", errdefs.ErrUnauthenticated)
	}
	if s.tokens.use(t.ID, now) {
		s.noteUses(ctx)
	}
	return t, nil
}

// noteUses writes when tokens were last used. It is no matter if it fails: the next use tries again.
func (s *Store) noteUses(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		_ = s.writeUses(ctx)
	}
}

// writeUses is noteUses with s.mu held.
func (s *Store) writeUses(ctx context.Context) error {
	for id, at := range s.tokens.uses() {
		if _, err := s.w.conn.ExecContext(ctx, "UPDATE tokens SET used = ? WHERE id = ? AND used < ?", at.UnixMicro(), string(id), at.UnixMicro()); err != nil {
			return unavailable("note the use of tokens", err)
		}
	}
	return nil
}

func (s *Store) loadTokens(ctx context.Context) error {
	type row struct {
		hash  hash
		token store.Token
	}
	all, err := collect(ctx, s.w, func(r scanner) (row, error) {
		h, t, err := scanToken(r)
		return row{h, t}, err
	}, "SELECT id, hash, name, servers, tools, created, expires, used, revoked FROM tokens")
	if err != nil {
		return fmt.Errorf("read tokens: %w", err)
	}
	s.tokens.byHash = map[hash]*store.Token{}
	s.tokens.used = map[store.TokenID]time.Time{}
	for _, r := range all {
		s.tokens.byHash[r.hash] = &r.token
	}
	return nil
}

func scanToken(r scanner) (h hash, t store.Token, err error) {
	var b, servers, tools []byte
	var created, expires, used, revoked int64
	if err = r.Scan(&t.ID, &b, &t.Name, &servers, &tools, &created, &expires, &used, &revoked); err != nil {
		return h, t, err
	}
	t.Created, t.Expires, t.LastUsed, t.Revoked = micros(created), orZero(expires), orZero(used), orZero(revoked)
	if h, err = toHash(b); err != nil {
		return h, t, err
	}
	if err = json.Unmarshal(servers, &t.Servers); err != nil {
		return h, t, err
	}
	return h, t, json.Unmarshal(tools, &t.Tools)
}

// unixMicro is a time for a column; 0 for the zero time.
func unixMicro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// orZero is a time from a column in which 0 stands for none.
func orZero(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return micros(n)
}

// now is a copy of t with its latest use. mu is held.
func (x *tokens) now(t *store.Token) store.Token {
	c := *t
	c.Servers, c.Tools = slices.Clone(t.Servers), slices.Clone(t.Tools)
	if at := x.used[t.ID]; at.After(c.LastUsed) {
		c.LastUsed = at
	}
	return c
}

func (x *tokens) put(h hash, t store.Token) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byHash[h] = &t
}

// find finds a valid token by its secret's hash, which is compared in constant time at the end.
func (x *tokens) find(h hash, now time.Time) (store.Token, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for known, t := range x.byHash {
		if subtle.ConstantTimeCompare(known[:], h[:]) == 1 {
			return x.now(t), t.Valid(now)
		}
	}
	return store.Token{}, false
}

func (x *tokens) byID(id store.TokenID) (hash, store.Token, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for h, t := range x.byHash {
		if t.ID == id {
			return h, x.now(t), true
		}
	}
	return hash{}, store.Token{}, false
}

func (x *tokens) valid() (n int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	now := time.Now()
	for _, t := range x.byHash {
		if t.Valid(now) {
			n++
		}
	}
	return n
}

// use notes that a token was used, and says whether it is time to write it down.
func (x *tokens) use(id store.TokenID, now time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.used[id] = now
	if now.Sub(x.noted) < noteUse {
		return false
	}
	x.noted = now
	return true
}

func (x *tokens) uses() map[store.TokenID]time.Time {
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := make(map[store.TokenID]time.Time, len(x.used))
	for id, at := range x.used {
		out[id] = at
	}
	return out
}
