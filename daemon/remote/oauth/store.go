package oauth

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// vaultKey names a secret without saying whose it is: the Vault may show its keys.
func vaultKey(kind, of string) string {
	sum := sha256.Sum256([]byte(of))
	return "oauth-" + kind + "-" + hex.EncodeToString(sum[:16])
}

// formatVersion is of what lies in the Vault. What a newer version wrote is not read.
const formatVersion = 1

// savedToken is a token in the Vault.
type savedToken struct {
	Version  int      `json:"version"`
	Issuer   string   `json:"issuer"`
	Endpoint string   `json:"token_endpoint"`
	Resource string   `json:"resource"`
	Client   saved    `json:"client"`
	Access   string   `json:"access_token"`
	Refresh  string   `json:"refresh_token,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
	Got      int64    `json:"got"`               // Unix seconds
	Expires  int64    `json:"expires,omitempty"` // Unix seconds; 0 when it is not known
}

// saved is a client in the Vault.
type saved struct {
	Version  int    `json:"version"`
	Issuer   string `json:"issuer"`
	ID       string `json:"client_id"`
	Secret   string `json:"client_secret,omitempty"`
	Method   string `json:"token_endpoint_auth_method"`
	Redirect string `json:"redirect_uri"`
	Expires  int64  `json:"expires,omitempty"` // Unix seconds; 0 for never
}

func (c client) saved() saved {
	return saved{formatVersion, c.issuer, c.id, c.secret.open(), c.method, c.redirect, unix(c.expires)}
}

func (s saved) client() client {
	return client{issuer: s.Issuer, id: s.ID, secret: NewSecret(s.Secret), method: s.Method, redirect: s.Redirect, expires: fromUnix(s.Expires)}
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func fromUnix(s int64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(s, 0)
}

// load reads from the Vault; false when there is nothing, or nothing this version understands.
func load[T any](v Vault, key string, into *T, version func(T) int) (bool, error) {
	raw, err := v.Load(key)
	if err != nil {
		return false, fmt.Errorf("read the vault: %w", err)
	}
	if raw == nil || json.Unmarshal(raw, into) != nil {
		return false, nil
	}
	return version(*into) == formatVersion, nil
}

func save(v Vault, key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode for the vault: %w", err)
	}
	if err := v.Save(key, raw); err != nil {
		return fmt.Errorf("write the vault: %w", err)
	}
	return nil
}

// current is the token there is, and its mark; nil when there is none.
func (l *Login) current() (*token, int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.loaded {
		var s savedToken
		ok, err := load(l.all.cfg.Vault, l.key, &s, func(s savedToken) int { return s.Version })
		if err != nil {
			return nil, 0, fmt.Errorf("log in to server %s: %w", l.server.Name, err)
		}
		if ok {
			l.token = &token{
				issuer: s.Issuer, endpoint: s.Endpoint, resource: s.Resource, client: s.Client.client(),
				access: NewSecret(s.Access), refresh: NewSecret(s.Refresh), scopes: s.Scopes,
				got: fromUnix(s.Got), expires: fromUnix(s.Expires),
			}
			l.mark++
		}
		l.loaded = true
	}
	return l.token, l.mark, nil
}

// keep makes t the server's token. A Vault that cannot keep it does not undo a login: the token
// lasts as long as the daemon.
func (l *Login) keep(t *token) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token, l.loaded = t, true
	l.mark++
	err := save(l.all.cfg.Vault, l.key, savedToken{
		Version: formatVersion, Issuer: t.issuer, Endpoint: t.endpoint, Resource: t.resource, Client: t.client.saved(),
		Access: t.access.open(), Refresh: t.refresh.open(), Scopes: t.scopes, Got: unix(t.got), Expires: unix(t.expires),
	})
	if err != nil {
		l.all.cfg.Log.Error("a login is not kept beyond the daemon", "server", l.server.Name, "err", err)
	}
	return nil
}

// drop forgets a token that is over, and its client where that is what is over.
func (l *Login) drop(t *token, why *refusal) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == t {
		l.token = nil
		l.mark++
	}
	if why.code == "invalid_client" {
		_ = l.all.cfg.Vault.Delete(vaultKey("client", t.issuer)) // the next login finds out if it is still there
	}
	return l.all.cfg.Vault.Delete(l.key)
}
