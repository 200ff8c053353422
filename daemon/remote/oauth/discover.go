package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/garita-dev/garita/daemon/remote/dial"
)

// maxDocument bounds a metadata document and an answer about tokens, in bytes.
const maxDocument = 1 << 20

// challenge is what a refusal says in WWW-Authenticate.
type challenge struct {
	metadata string   // where the server's metadata are, "" when it does not say
	scopes   []string // what the request needs
	fault    string   // the error's code
}

// readChallenge reads the header as far as it can be read; nothing in it is trusted.
func readChallenge(h http.Header) challenge {
	var c challenge
	all, err := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate"))
	if err != nil {
		return c
	}
	for _, one := range all {
		if one.Scheme != "bearer" {
			continue
		}
		c.metadata, c.fault = one.Params["resource_metadata"], one.Params["error"]
		c.scopes = scopesIn(one.Params["scope"])
		break
	}
	return c
}

// scopesIn is a scope list, of words that RFC 6749 lets be scopes.
func scopesIn(s string) []string {
	return slices.DeleteFunc(strings.Fields(s), func(word string) bool {
		return len(word) > 256 || strings.ContainsFunc(word, func(r rune) bool {
			return r < 0x21 || r > 0x7e || r == '"' || r == '\\'
		})
	})
}

// found is where a login takes place.
type found struct {
	resource string // what tokens are for
	scopes   []string
	meta     *oauthex.AuthServerMeta
}

// discover asks the server, then the authorization server it names, for their metadata.
func (l *Login) discover(ctx context.Context, c challenge) (found, error) {
	ctx, cancel := context.WithTimeout(ctx, machineTime)
	defer cancel()
	s := l.config()
	resource, err := l.resource(ctx, s, c)
	if err != nil {
		return found{}, err
	}
	f := found{resource: l.identifier()}
	issuer := l.origin()
	if resource != nil {
		f.resource, f.scopes = resource.Resource, resource.ScopesSupported
		issuer = l.issuerAmong(resource.AuthorizationServers)
	}
	f.meta, err = authorizationServer(ctx, s.Client, issuer, resource == nil)
	return f, err
}

// issuerAmong is the authorization server to use: the one we have a token of, or the first.
func (l *Login) issuerAmong(issuers []string) string {
	if t, _, err := l.current(); err == nil && t != nil && slices.Contains(issuers, t.issuer) {
		return t.issuer
	}
	return issuers[0]
}

// identifier is the server's URL as its resource identifier: without the query, which may hold a
// key and is nobody else's business.
func (l *Login) identifier() string {
	u := *l.url
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

func (l *Login) origin() string { return l.url.Scheme + "://" + l.url.Host }

const wellKnown = "/.well-known/oauth-protected-resource"

// resource is the server's own metadata (RFC 9728); nil when it has none, as before 2025-06-18.
func (l *Login) resource(ctx context.Context, s Server, c challenge) (*oauthex.ProtectedResourceMetadata, error) {
	for _, at := range l.places(c) {
		m, err := getResource(ctx, s.Client, at)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		switch {
		case !l.isOurs(m.Resource, at):
			return nil, fmt.Errorf("%w: they are of %.200q", ErrResource, m.Resource)
		case len(m.AuthorizationServers) == 0:
			return nil, errors.New("the server's metadata name no authorization server")
		}
		return m, nil
	}
	return nil, nil
}

// places is where the metadata may be, in order.
func (l *Login) places(c challenge) []string {
	var all []string
	if c.metadata != "" {
		all = append(all, c.metadata)
	}
	if path := strings.Trim(l.url.EscapedPath(), "/"); path != "" {
		all = append(all, l.origin()+wellKnown+"/"+path)
	}
	return append(all, l.origin()+wellKnown)
}

// isOurs tells whether metadata found there speak of our server. Only those at the root of its
// origin, which nobody but the origin's owner writes, may speak of the origin as a whole.
func (l *Login) isOurs(resource, at string) bool {
	same := func(a, b string) bool { return canonical(a) == canonical(b) }
	return same(resource, l.identifier()) || at == l.origin()+wellKnown && same(resource, l.origin())
}

// canonical is a resource identifier for comparison: scheme and host without regard to case, one
// slash at the end more or less.
func canonical(resource string) string {
	u, err := url.Parse(resource)
	if err != nil {
		return resource
	}
	u.Host = strings.ToLower(u.Host)
	return strings.TrimSuffix(u.String(), "/")
}

// getResource fetches one document; nil when there is none at that place.
func getResource(ctx context.Context, client *http.Client, at string) (*oauthex.ProtectedResourceMetadata, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil || req.URL.Scheme != "https" && kindOf(req.URL.Hostname()) != dial.Loopback {
		return nil, errors.New("the server's metadata are not at an https address")
	}
	req.Header.Set("Accept", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("get the server's metadata: %w", withoutURL(err))
	}
	defer res.Body.Close()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode >= 500:
		return nil, fmt.Errorf("get the server's metadata: answered %d", res.StatusCode)
	case res.StatusCode != http.StatusOK || kind != "application/json":
		return nil, nil
	}
	var m oauthex.ProtectedResourceMetadata
	if err := json.UnmarshalRead(io.LimitReader(res.Body, maxDocument), &m); err != nil {
		return nil, errors.New("the server's metadata are not JSON that can be read")
	}
	return &m, nil
}

// authorizationServer is the metadata of an issuer (RFC 8414, OpenID Connect). Where the server
// itself has none it is of a time when addresses were fixed.
func authorizationServer(ctx context.Context, client *http.Client, issuer string, oldest bool) (*oauthex.AuthServerMeta, error) {
	m, err := auth.GetAuthServerMetadata(ctx, issuer, client)
	switch {
	case err != nil:
		return nil, fmt.Errorf("get the authorization server's metadata: %.300s", withoutURL(err)) // its words are in it
	case m == nil && oldest:
		return &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize",
			TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register",
		}, nil
	case m == nil:
		return nil, fmt.Errorf("the authorization server %.200q has no metadata", issuer)
	case !slices.Contains(m.CodeChallengeMethodsSupported, "S256"):
		return nil, errors.New("the authorization server does not know PKCE with S256")
	case m.TokenEndpoint == "" || m.AuthorizationEndpoint == "":
		return nil, errors.New("the authorization server's metadata name no endpoints")
	}
	return m, nil
}

// withoutURL is an error without the URL that net/http puts before it.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
