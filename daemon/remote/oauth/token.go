package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// token is leave to use one server. It is not changed once made.
type token struct {
	issuer   string
	endpoint string // where it is renewed
	resource string // what it is for
	client   client
	access   Secret
	refresh  Secret   // empty: it cannot be renewed
	scopes   []string // what was asked for and granted
	got      time.Time
	expires  time.Time // zero when it is not known
}

// runsOut tells whether the token is near its end: a tenth of its life, or early.
func (t *token) runsOut() bool {
	return !t.expires.IsZero() && time.Until(t.expires) < min(early, t.expires.Sub(t.got)/10)
}

// refreshed is a new token for an old one.
func (t *token) refreshed(ctx context.Context, c *http.Client) (*token, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {t.refresh.open()}, "resource": {t.resource}}
	next := *t
	return &next, next.request(ctx, c, form)
}

// request asks the token endpoint, and takes what it answers.
func (t *token) request(ctx context.Context, c *http.Client, form url.Values) error {
	ctx, cancel := context.WithTimeout(ctx, machineTime)
	defer cancel()
	form.Set("client_id", t.client.id)
	if t.client.method == methodPost {
		form.Set("client_secret", t.client.secret.open())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return errors.New("the token endpoint is no address")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if t.client.method == methodBasic {
		req.SetBasicAuth(url.QueryEscape(t.client.id), url.QueryEscape(t.client.secret.open()))
	}
	res, err := c.Do(req)
	if err != nil {
		return fmt.Errorf("ask for a token: %w", withoutURL(err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument))
	if err != nil {
		return fmt.Errorf("ask for a token: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return readRefusal(res.StatusCode, body)
	}
	return t.take(body)
}

// take reads a token endpoint's answer. The errors repeat nothing of it.
func (t *token) take(body []byte) error {
	var a struct {
		Access  string         `json:"access_token"`
		Type    string         `json:"token_type"`
		Refresh string         `json:"refresh_token"`
		Expires jsontext.Value `json:"expires_in"`
		Scope   string         `json:"scope"`
	}
	switch err := json.Unmarshal(body, &a); {
	case err != nil:
		return errors.New("ask for a token: the answer is not JSON that can be read")
	case a.Access == "" || !NewSecret(a.Access).FitsHeader():
		return errors.New("ask for a token: the answer holds none that can be sent")
	case a.Type != "" && !strings.EqualFold(a.Type, "bearer"):
		return fmt.Errorf("ask for a token: it is of the unknown type %.40q", a.Type)
	}
	t.access, t.got, t.expires = NewSecret(a.Access), time.Now(), time.Time{}
	if a.Refresh != "" {
		t.refresh = NewSecret(a.Refresh)
	}
	if s, err := strconv.ParseFloat(strings.Trim(string(a.Expires), `"`), 64); err == nil && s > 0 && s < 1e9 {
		t.expires = t.got.Add(time.Duration(s) * time.Second)
	}
	t.scopes = union(t.scopes, scopesIn(a.Scope))
	return nil
}

// refusal is an error answer of the token endpoint.
type refusal struct {
	status int
	code   string // of RFC 6749, or ""
}

func (r *refusal) Error() string {
	return fmt.Sprintf("ask for a token: answered %d %s", r.status, r.code)
}

// final tells whether the token, or the client, is over for good.
func (r *refusal) final() bool { return r.code == "invalid_grant" || r.code == "invalid_client" }

func readRefusal(status int, body []byte) error {
	var a struct {
		Code string `json:"error"`
	}
	_ = json.Unmarshal(body, &a) // without a code it is a refusal all the same
	return &refusal{status, word(a.Code)}
}

// word is a foreign error code as it may be shown, "" when it is none.
func word(s string) string {
	if len(s) > 60 || strings.ContainsFunc(s, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		return ""
	}
	return s
}

func union(a, b []string) []string {
	out := a[:len(a):len(a)]
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
