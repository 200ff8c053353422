package oauth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// client is what we are to one authorization server.
type client struct {
	issuer   string
	id       string
	secret   Secret
	method   string // how it shows itself at the token endpoint
	redirect string
	expires  time.Time // of the secret; zero for never
}

// The ways a client shows itself at the token endpoint.
const (
	methodNone  = "none"
	methodPost  = "client_secret_post"
	methodBasic = "client_secret_basic"
)

// client is who we are at an issuer whose answers come back to redirect: a client the person
// registered, else a metadata document, else one registered there and then, once for each issuer.
func (l *Login) client(ctx context.Context, f found, redirect string) (client, error) {
	s := l.config()
	c := client{issuer: f.meta.Issuer, method: methodNone, redirect: redirect}
	switch {
	case s.Registered != nil:
		if want := s.Registered.Issuer; want != "" && strings.TrimSuffix(want, "/") != strings.TrimSuffix(c.issuer, "/") {
			return client{}, fmt.Errorf("%w: the client is registered with %.200q, the server trusts %.200q", ErrIssuer, want, c.issuer)
		}
		c.id, c.secret = s.Registered.ID, s.Registered.Secret
		if !c.secret.empty() {
			c.method = secretMethod(f.meta.TokenEndpointAuthMethodsSupported)
		}
		return c, nil
	case l.all.cfg.ClientID != "" && f.meta.ClientIDMetadataDocumentSupported:
		c.id = l.all.cfg.ClientID
		return c, nil
	case f.meta.RegistrationEndpoint == "":
		return client{}, errors.New("the authorization server registers nobody: declare a client registered with it")
	}
	if known, ok := l.known(f.meta.Issuer); ok && known.redirect == redirect {
		return known, nil
	}
	return l.register(ctx, f, redirect)
}

// secretMethod is how a secret is shown: as the server says, in a header when it says nothing.
func secretMethod(supported []string) string {
	if len(supported) == 0 || slices.Contains(supported, methodBasic) {
		return methodBasic
	}
	return methodPost
}

// known is the client we registered with an issuer before.
func (l *Login) known(issuer string) (client, bool) {
	var s saved
	ok, err := load(l.all.cfg.Vault, vaultKey("client", issuer), &s, func(s saved) int { return s.Version })
	if err != nil || !ok || s.Issuer != issuer {
		return client{}, false
	}
	c := s.client()
	return c, c.expires.IsZero() || time.Now().Before(c.expires)
}

// register registers a client (RFC 7591) and keeps it.
func (l *Login) register(ctx context.Context, f found, redirect string) (client, error) {
	ctx, cancel := context.WithTimeout(ctx, machineTime)
	defer cancel()
	got, err := oauthex.RegisterClient(ctx, f.meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs:            []string{redirect},
		TokenEndpointAuthMethod: wantedMethod(f.meta.TokenEndpointAuthMethodsSupported),
		GrantTypes:              []string{"authorization_code", "refresh_token"},
		ResponseTypes:           []string{"code"},
		ClientName:              "Garita",
		ApplicationType:         "native",
	}, l.config().Client)
	if err != nil {
		return client{}, fmt.Errorf("register with the authorization server: %w", registrationError(err))
	}
	c := client{
		issuer: f.meta.Issuer, id: got.ClientID, secret: NewSecret(got.ClientSecret),
		method: got.TokenEndpointAuthMethod, redirect: redirect, expires: got.ClientSecretExpiresAt,
	}
	switch {
	case c.secret.empty():
		c.method = methodNone
	case c.method != methodNone && c.method != methodPost && c.method != methodBasic:
		c.method = secretMethod(f.meta.TokenEndpointAuthMethodsSupported)
	}
	return c, save(l.all.cfg.Vault, vaultKey("client", c.issuer), c.saved())
}

// wantedMethod is none, which is what a program on a person's machine is, if that is to be had.
func wantedMethod(supported []string) string {
	if len(supported) == 0 || slices.Contains(supported, methodNone) {
		return methodNone
	}
	return secretMethod(supported)
}

// registrationError is what went wrong without the body of the answer, which may hold a secret.
func registrationError(err error) error {
	var refused *oauthex.ClientRegistrationError
	if errors.As(err, &refused) {
		return fmt.Errorf("it answered %.60q", refused.ErrorCode)
	}
	if cause := withoutURL(err); cause != err { //nolint:errorlint // Whether there was a URL to take off.
		return cause
	}
	return errors.New("its answer is no registration")
}
