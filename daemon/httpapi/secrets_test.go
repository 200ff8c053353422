package httpapi_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

func TestSecretsPassTheirRoutes(t *testing.T) {
	d := serve(t)
	ctx := t.Context()
	if s, err := d.client.SetSecret(ctx, api.SecretSet{Name: "a", Value: "v"}); err != nil || s.Name != "a" {
		t.Errorf("set: %+v, %v", s, err)
	}
	if s, err := d.client.GrantSecret(ctx, "a", api.SecretGrant{Server: "files", Mode: "env", Env: "A"}); err != nil || s.Name != "a" || s.Grants[0].Env != "A" {
		t.Errorf("grant: %+v, %v", s, err)
	}
	if s, err := d.client.RevokeSecret(ctx, "a", "fi/les"); err != nil || s.Name != "a" || s.Grants[0].Server != "fi/les" {
		t.Errorf("revoke: %+v, %v", s, err)
	}
	since := time.Now().UTC().Truncate(time.Second)
	if u, err := d.client.SecretUses(ctx, "a", since); err != nil || u[0].Server != "a" || !u[0].At.Equal(since) {
		t.Errorf("uses: %+v, %v", u, err)
	}
	if g, err := d.client.ProposeGrant(ctx, "a", api.SecretGrant{Server: "files"}); err != nil || g.Words != "proposed a" || g.Server != "files" {
		t.Errorf("propose: %+v, %v", g, err)
	}
	for _, forget := range []bool{false, true} {
		if r, err := d.client.RotateSecret(ctx, "a", since, forget); err != nil || r.Revoked[0] != "a" || (r.Ended > 0) != forget {
			t.Errorf("rotate: %+v, %v", r, err)
		}
	}
	if k, err := d.client.OpenKeeper(ctx, api.KeeperOpen{Cancel: true}); err != nil || k.State != "ready" {
		t.Errorf("keeper: %+v, %v", k, err)
	}
	if err := d.client.RemoveSecret(ctx, "keeper"); err != nil {
		t.Errorf("remove one of the name of a route: %v", err)
	}
}

// What is wrong with a request is said without what was in it.
func TestARefusedValueIsNotRepeated(t *testing.T) {
	d := serve(t)
	b := d.visit(t)
	for name, body := range map[string]string{
		"a number":             `{"name":"a","value":["s3cr3t"]}`,
		"no JSON":              `{"name":"a","value":"s3cr3t"`,
		"no JSON either":       `{"name":"a","value":s3cr3t}`,
		"a name that is no":    `{"name":"a","s3cr3t":1}`,
		"twice":                `{"name":"a","value":"s3cr3t","value":"s3cr3t"}`,
		"without a name":       `{"value":"s3cr3t"}`,
		"a bad escape":         `{"name":"a","value":"\s3cr3t"}`,
		"an expiry that is no": `{"name":"a","value":"s3cr3t","expires":"s3cr3t"}`,
	} {
		status, got := b.do(t, http.MethodPost, "/api/v1/secrets", body, nil)
		if status < 400 || strings.Contains(got, "s3cr3t") && name != "a name that is no" && !strings.Contains(name, "expiry") {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
	for name, body := range map[string]string{
		"half a pair":       `{"name":"a","value":"\ud800ZQZQZQ"}`,
		"a pair of no pair": `{"name":"a","value":"\ud800\uZQZQ"}`,
		"a bad escape":      `{"name":"a","value":"\uZQZQ"}`,
		"no such escape":    `{"name":"a","value":"\Z"}`,
		"no string":         `{"name":"a","value":ZQ}`,
		"a quote in it":     "{\"name\":\"a\",\"value\":\"\\ud800`'ZQZ\"}",
	} {
		status, got := b.do(t, http.MethodPost, "/api/v1/secrets", body, nil)
		if status < 400 || strings.ContainsAny(got, "ZQ") || !strings.Contains(got, "offset") || !strings.Contains(got, "/value") {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
	_, err := d.client.SetSecret(t.Context(), api.SecretSet{Name: "a", Value: "s3cr3t\xff"})
	if err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("what is not UTF-8: %v", err)
	}
	var p *api.Problem
	if errors.As(err, &p) {
		t.Errorf("it was sent: %v", p)
	}
}
