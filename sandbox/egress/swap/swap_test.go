package swap

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

const (
	value    = `ghp_v41u3/"+&=7xYzK0`
	sentinel = "ghp_S3nt1neL00000abc"
	second   = "sk-SECOND-sentinel-1"
)

var (
	now    = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	github = Target{Host: "api.github.com", Port: 443}
)

// placeholder is one for api.github.com with places as "header Authorization".
func placeholder(places ...string) wire.Placeholder {
	p := wire.Placeholder{
		Secret: "github", Version: 3, Sentinel: sentinel, Value: wire.NewSecret(value),
		Hosts: []sandbox.Endpoint{{Host: "api.github.com", Port: 443}, {Host: "*.githubusercontent.com", Port: 443}, {Host: "nas.home.arpa", Port: 8080}},
	}
	for _, text := range places {
		in, name, _ := strings.Cut(text, " ")
		p.Places = append(p.Places, sandbox.SecretPlace{In: sandbox.PlaceKind(in), Name: name})
	}
	return p
}

func set(t testing.TB, all ...wire.Placeholder) *Set {
	t.Helper()
	s, err := New(all)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func request(t testing.TB, address string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, "https://api.github.com"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, text, _ := strings.Cut(h, ": ")
		r.Header[http.CanonicalHeaderKey(name)] = append(r.Header[http.CanonicalHeaderKey(name)], text)
	}
	return r
}

func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

func TestHeaders(t *testing.T) {
	for name, test := range map[string]struct {
		given, want string // of Authorization; the same where it stays
		why         string // a part of why something stays
	}{
		"whole":                     {sentinel, value, ""},
		"bearer":                    {"Bearer " + sentinel, "Bearer " + value, ""},
		"odd case and blanks":       {"bEARER   " + sentinel, "bEARER   " + value, ""},
		"token":                     {"token " + sentinel, "token " + value, ""},
		"another scheme":            {"Bot " + sentinel, "Bot " + value, ""},
		"a parameter":               {`Token token="` + sentinel + `", x=1`, `Token token="` + value + `", x=1`, ""},
		"twice":                     {"a=" + sentinel + "; b=" + sentinel, "a=" + value + "; b=" + value, ""},
		"basic, password":           {"Basic " + basic("x-access-token", sentinel), "Basic " + basic("x-access-token", value), ""},
		"basic, user":               {"basic " + basic(sentinel, ""), "basic " + basic(value, ""), ""},
		"basic, both":               {"Basic " + basic(sentinel, sentinel), "Basic " + basic(value, value), ""},
		"basic, without padding":    {"Basic " + strings.TrimRight(basic("u", sentinel), "="), "Basic " + basic("u", value), ""},
		"basic, within":             {"Basic " + basic("u", "x"+sentinel), "Basic " + basic("u", "x"+sentinel), "neither the user nor the password"},
		"basic, no colon":           {"Basic " + base64.StdEncoding.EncodeToString([]byte(sentinel)), "Basic " + base64.StdEncoding.EncodeToString([]byte(sentinel)), "cannot be read"},
		"basic, as it is":           {"Basic " + sentinel, "Basic " + sentinel, "cannot be read"},
		"within":                    {"Bearer x" + sentinel, "Bearer x" + sentinel, "of its own"},
		"before something":          {"Bearer " + sentinel + "x", "Bearer " + sentinel + "x", "of its own"},
		"percent":                   {"Bearer " + "%67" + sentinel[1:], "Bearer " + "%67" + sentinel[1:], "of its own"},
		"base64 without basic":      {"Bearer " + basic("u", sentinel), "Bearer " + basic("u", sentinel), "of its own"},
		"alone and within":          {sentinel + " x" + sentinel, value + " x" + sentinel, "of its own"},
		"nothing":                   {"Bearer other", "Bearer other", ""},
		"a part":                    {"Bearer " + sentinel[:19], "Bearer " + sentinel[:19], ""},
		"another case is no match":  {"Bearer " + strings.ToUpper(sentinel), "Bearer " + strings.ToUpper(sentinel), ""},
		"the sentinel of no secret": {"Bearer " + second, "Bearer " + second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, "/", "Authorization: "+test.given)
			p := set(t, placeholder("header authorization")).Plan(r, nil, github, now)
			if got := p.Apply(r).Header.Get("Authorization"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if (len(p.Uses) == 1) != (test.given != test.want) {
				t.Errorf("uses: %v", p.Uses)
			}
			if (test.why != "") != (len(p.Stays) == 1) || test.why != "" && !strings.Contains(p.Stays[0].Why, test.why) {
				t.Errorf("stays: %+v", p.Stays)
			}
			if r.Header.Get("Authorization") != test.given {
				t.Error("the request itself has changed")
			}
		})
	}
}

func TestDuplicatedHeaders(t *testing.T) {
	r := request(t, "/", "X-Key: a", "X-Key: "+sentinel, "X-Key: "+sentinel, "x-key: b")
	p := set(t, placeholder("header x-KEY")).Plan(r, nil, github, now)
	if diff := cmp.Diff(p.Apply(r).Header["X-Key"], []string{"a", value, value, "b"}); diff != "" {
		t.Error(diff)
	}
	if len(p.Uses) != 1 {
		t.Errorf("%d uses", len(p.Uses))
	}
}

func TestElsewhereItStays(t *testing.T) {
	for name, test := range map[string]struct {
		address string
		headers []string
		want    sandbox.PlaceKind
	}{
		"another header":        {"/", []string{"X-Other: " + sentinel}, sandbox.InHeader},
		"a header's name":       {"/", []string{sentinel + ": x"}, sandbox.InHeader},
		"Basic in another":      {"/", []string{"X-Other: Basic " + basic("u", sentinel)}, sandbox.InHeader},
		"path":                  {"/a/" + sentinel, nil, InPath},
		"path, escaped":         {"/a/%67" + sentinel[1:], nil, InPath},
		"another parameter":     {"/?x=" + sentinel, nil, sandbox.InQuery},
		"a parameter's name":    {"/?" + sentinel + "=key", nil, sandbox.InQuery},
		"within the parameter":  {"/?key=x" + sentinel, nil, sandbox.InQuery},
		"another case":          {"/?KEY=" + sentinel, nil, sandbox.InQuery},
		"behind a semicolon":    {"/?a=1;key=" + sentinel, nil, sandbox.InQuery},
		"a broken escape":       {"/?key=" + sentinel + "%zz", nil, sandbox.InQuery},
		"the cookie":            {"/", []string{"Cookie: session=" + sentinel}, sandbox.InHeader},
		"a header of the proxy": {"/", []string{"Proxy-Authorization: Bearer " + sentinel}, sandbox.InHeader},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, test.address, test.headers...)
			p := set(t, placeholder("header Authorization", "query key")).Plan(r, nil, github, now)
			after := p.Apply(r)
			if len(p.Uses) > 0 || !cmp.Equal(after.Header, r.Header) || after.URL.String() != r.URL.String() {
				t.Errorf("it was swapped: %v, %v", after.URL, after.Header)
			}
			if len(p.Stays) != 1 || p.Stays[0].Place.In != test.want || p.Stays[0].Why == "" {
				t.Errorf("stays: %+v", p.Stays)
			}
		})
	}
}

func TestQuery(t *testing.T) {
	for given, want := range map[string]string{
		"key=" + sentinel:                        "key=" + url.QueryEscape(value),
		"a=%zz&key=" + sentinel + "&b=c+d":       "a=%zz&key=" + url.QueryEscape(value) + "&b=c+d",
		"k%65y=%67" + sentinel[1:]:               "k%65y=" + url.QueryEscape(value),
		"key=" + sentinel + "&key=" + sentinel:   "key=" + url.QueryEscape(value) + "&key=" + url.QueryEscape(value),
		"key=" + sentinel + "&other=" + sentinel: "key=" + url.QueryEscape(value) + "&other=" + sentinel,
		"&&=&key":                                "&&=&key",
	} {
		r := request(t, "/p?"+given)
		if got := set(t, placeholder("query key")).Plan(r, nil, github, now).Apply(r).URL; got.RawQuery != want || got.Path != "/p" {
			t.Errorf("%s: got %s, want %s", given, got.RawQuery, want)
		}
	}
}

func TestBodies(t *testing.T) {
	const inJSON, form = "Content-Type: application/json", "Content-Type: application/x-www-form-urlencoded"
	quoted := `"ghp_v41u3/\"+&=7xYzK0"`
	for name, test := range map[string]struct{ kind, given, want string }{
		"a member":             {inJSON, `{"key":"` + sentinel + `"}`, `{"key":` + quoted + `}`},
		"at depth":             {inJSON, `[1,{"a":{"b":[{"key" : "` + sentinel + `"}]}}]`, `[1,{"a":{"b":[{"key" : ` + quoted + `}]}}]`},
		"written with escapes": {inJSON, `{"k\u0065y":"\u0067` + sentinel[1:] + `"}`, `{"k\u0065y":` + quoted + `}`},
		"everything else as it was": {
			inJSON, ` {"n":1.50e+3,"dup":1,"dup":2, "key":"` + sentinel + `" ,"u":"\u00e9\/"} `, ` {"n":1.50e+3,"dup":1,"dup":2, "key":` + quoted + ` ,"u":"\u00e9\/"} `,
		},
		"several values":     {"Content-Type: application/vnd.api+json; charset=UTF-8", `{"key":"` + sentinel + "\"}\n{\"key\":1}", `{"key":` + quoted + "}\n{\"key\":1}"},
		"another member":     {inJSON, `{"other":"` + sentinel + `"}`, ""},
		"a name":             {inJSON, `{"` + sentinel + `":"key"}`, ""},
		"within the member":  {inJSON, `{"key":"x` + sentinel + `"}`, ""},
		"in an array":        {inJSON, `{"key":["` + sentinel + `"]}`, ""},
		"a string alone":     {inJSON, `"` + sentinel + `"`, ""},
		"no JSON":            {inJSON, `{"key":"` + sentinel + `"`, ""},
		"JSON, then not":     {inJSON, `{"key":"` + sentinel + `"} {`, ""},
		"in base64":          {inJSON, `{"key":"` + basic("", sentinel) + `"}`, ""},
		"another charset":    {"Content-Type: application/json; charset=utf-16", `{"key":"` + sentinel + `"}`, ""},
		"text":               {"Content-Type: text/plain", `{"key":"` + sentinel + `"}`, ""},
		"a form":             {form, "a=b&key=" + sentinel + "&c=%zz", "a=b&key=" + url.QueryEscape(value) + "&c=%zz"},
		"a form, other name": {form, "a=" + sentinel, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, "/", test.kind)
			p := set(t, placeholder("body key")).Plan(r, []byte(test.given), github, now)
			got := string(p.Body())
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if swapped := test.want != ""; swapped != (len(p.Uses) == 1) || swapped == (len(p.Stays) == 1) {
				t.Errorf("uses %v, stays %v", p.Uses, p.Stays)
			}
		})
	}
}

func TestReads(t *testing.T) {
	s := set(t, placeholder("body key"))
	body := func(headers ...string) *http.Request {
		r := request(t, "/", headers...)
		r.Body = io.NopCloser(strings.NewReader("x"))
		return r
	}
	inJSON := body("Content-Type: application/json")
	for name, test := range map[string]struct {
		r    *http.Request
		to   Target
		want bool
	}{
		"JSON":         {inJSON, github, true},
		"another host": {inJSON, Target{Host: "example.org", Port: 443}, false},
		"compressed":   {body("Content-Type: application/json", "Content-Encoding: gzip"), github, false},
		"two types":    {body("Content-Type: application/json", "Content-Type: text/plain"), github, false},
		"no type":      {body(), github, false},
		"no body":      {request(t, "/", "Content-Type: application/json"), github, false},
	} {
		if got := s.Reads(test.r, test.to, now); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if set(t, placeholder("header Authorization")).Reads(inJSON, github, now) {
		t.Error("read for a secret that is not sent in bodies")
	}
}

func TestWhereTo(t *testing.T) {
	p := placeholder("header Authorization")
	p.Until = now.Add(time.Hour)
	for name, test := range map[string]struct {
		to   Target
		now  time.Time
		want string // a part of why not
	}{
		"its host":             {github, now, ""},
		"below a wildcard":     {Target{Host: "raw.githubusercontent.com", Port: 443}, now, ""},
		"the wildcard's base":  {Target{Host: "githubusercontent.com", Port: 443}, now, "api.github.com:443, "},
		"another host":         {Target{Host: "api.github.com.evil.example", Port: 443}, now, "only"},
		"another port":         {Target{Host: "api.github.com", Port: 8443}, now, "only"},
		"at its end":           {github, now.Add(time.Hour), "ended"},
		"in the clear":         {Target{Host: "api.github.com", Port: 443, Clear: true}, now, "not encrypted"},
		"near, in the clear":   {Target{Host: "nas.home.arpa", Port: 8080, Clear: true, Near: true}, now, ""},
		"near, by a wildcard":  {Target{Host: "x.githubusercontent.com", Port: 443, Clear: true, Near: true}, now, "this very host"},
		"no host":              {Target{}, now, "only"},
		"far, named, in clear": {Target{Host: "nas.home.arpa", Port: 8080, Clear: true}, now, "not encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := set(t, p)
			r := request(t, "/", "Authorization: Bearer "+sentinel)
			plan := s.Plan(r, nil, test.to, test.now)
			if swapped := plan.Apply(r).Header.Get("Authorization") == "Bearer "+value; swapped != (test.want == "") || swapped != s.Opens(test.to, test.now) || swapped != (s.Current(&p, test.to, test.now) != nil) {
				t.Errorf("swapped: %v", swapped)
			}
			if test.want != "" && (len(plan.Stays) != 1 || !strings.Contains(plan.Stays[0].Why, test.want)) {
				t.Errorf("stays: %+v", plan.Stays)
			}
		})
	}
}

func TestValuesThatCannotStandThere(t *testing.T) {
	for _, bad := range []string{"line\r\nX-Injected: 1", "trailing\n", "null\x00byte", " blank-before"} {
		p := placeholder("header Authorization", "query key", "body key")
		p.Value = wire.NewSecret(bad)
		r := request(t, "/?key="+sentinel, "Authorization: Bearer "+sentinel, "Content-Type: application/json")
		plan := set(t, p).Plan(r, []byte(`{"key":"`+sentinel+`"}`), github, now)
		after := plan.Apply(r)
		if after.Header.Get("Authorization") != "Bearer "+sentinel || len(plan.Stays) != 1 {
			t.Errorf("%q: %v, %+v", bad, after.Header, plan.Stays)
		}
		if strings.ContainsAny(after.URL.RawQuery, "\r\n\x00 ") || strings.ContainsAny(string(plan.Body()), "\r\n\x00") {
			t.Errorf("%q: %q, %q", bad, after.URL.RawQuery, plan.Body())
		}
	}
	p := placeholder("header Authorization")
	p.Value = wire.NewSecret("with:a-colon")
	r := request(t, "/", "Authorization: Basic "+basic(sentinel, "x"))
	if plan := set(t, p).Plan(r, nil, github, now); len(plan.Uses) > 0 || len(plan.Stays) != 1 {
		t.Errorf("a user with a colon: %+v", plan)
	}
}

func TestAValueWithItsScheme(t *testing.T) {
	p := placeholder("header Authorization")
	p.Sentinel, p.Value = "Basic c2VudGluZWw6eHh4eHh4", wire.NewSecret("Basic dXNlcjpwYXNzd29yZA==")
	r := request(t, "/", "Authorization: "+p.Sentinel)
	if got := set(t, p).Plan(r, nil, github, now).Apply(r).Header.Get("Authorization"); got != p.Value.Send() {
		t.Errorf("got %s", got)
	}
}

func TestTwoSecretsInOneHeader(t *testing.T) {
	other := placeholder("header Authorization")
	other.Secret, other.Sentinel, other.Value = "second", second, wire.NewSecret("the-other-value")
	r := request(t, "/", "Authorization: Basic "+basic(sentinel, second))
	p := set(t, placeholder("header Authorization"), other).Plan(r, nil, github, now)
	if got := p.Apply(r).Header.Get("Authorization"); got != "Basic "+basic(value, "the-other-value") || len(p.Uses) != 2 || len(p.Stays) > 0 {
		t.Errorf("%s, %+v", got, p)
	}
}

func TestUnusablePlaceholders(t *testing.T) {
	good := placeholder("header Authorization")
	for name, change := range map[string]func(*wire.Placeholder){
		"no places":         func(p *wire.Placeholder) { p.Places = nil },
		"no hosts":          func(p *wire.Placeholder) { p.Hosts = nil },
		"no value":          func(p *wire.Placeholder) { p.Value = wire.Secret{} },
		"a short sentinel":  func(p *wire.Placeholder) { p.Sentinel = "abc" },
		"its own value":     func(p *wire.Placeholder) { p.Sentinel = value },
		"an unknown place":  func(p *wire.Placeholder) { p.Places[0].In = "cookie" },
		"no name":           func(p *wire.Placeholder) { p.Places[0].Name = "" },
		"Host":              func(p *wire.Placeholder) { p.Places[0].Name = "host" },
		"Transfer-Encoding": func(p *wire.Placeholder) { p.Places[0].Name = "Transfer-encoding" },
		"no header's name":  func(p *wire.Placeholder) { p.Places[0].Name = "X:\r\nY" },
	} {
		bad := good
		bad.Places = slices.Clone(good.Places)
		change(&bad)
		other := placeholder("query key")
		other.Sentinel = second
		some, err := New([]wire.Placeholder{bad, other})
		if len(some.all) != 1 || some.all[0].Sentinel != second {
			t.Errorf("%s: it keeps another one from being used", name)
		}
		if !errdefs.IsInvalidArgument(err) || strings.Contains(fmt.Sprint(err), value) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New([]wire.Placeholder{good, good}); !errdefs.IsInvalidArgument(err) {
		t.Errorf("twice: %v", err)
	}
}

func TestNoSetSwapsNothing(t *testing.T) {
	r := request(t, "/", "Authorization: Bearer "+sentinel)
	if p := set(t).Plan(r, nil, github, now); len(p.Uses)+len(p.Stays) > 0 || p.Apply(r).Header.Get("Authorization") != "Bearer "+sentinel {
		t.Errorf("%+v", p)
	}
}

// FuzzPlan: whatever a request holds, the value is in the declared places of it only, it is there only
// where a use was told, and nothing can be injected by it.
func FuzzPlan(f *testing.F) {
	f.Add("Bearer "+sentinel, "key="+sentinel, `{"key":"`+sentinel+`"}`, "application/json", sentinel)
	f.Add("Basic "+basic(sentinel, sentinel), "a=b&k%65y="+sentinel, "key="+sentinel, "application/x-www-form-urlencoded", "x")
	f.Add("a=\""+sentinel+"\";"+sentinel, "key="+sentinel+sentinel, `[{"key":"`+sentinel+`"},"`+sentinel+`"]`, "a/b+json", "")
	f.Fuzz(func(t *testing.T, authorization, query, body, kind, other string) {
		if strings.Contains(authorization+query+body+kind+other, "v41u3") {
			t.Skip()
		}
		r := &http.Request{Method: "POST", URL: &url.URL{Path: "/" + other, RawQuery: query}, Header: http.Header{"Authorization": {authorization, other}, "Content-Type": {kind}, "X-Other": {other, authorization}}}
		p := set(t, placeholder("header Authorization", "query key", "body key")).Plan(r, []byte(body), github, now)
		after := p.Apply(r)
		if strings.ContainsAny(strings.Join(after.Header["Authorization"], ""), "\r\n") && !strings.ContainsAny(authorization+other, "\r\n") {
			t.Fatal("a line was injected")
		}
		if !cmp.Equal(after.Header["X-Other"], r.Header["X-Other"]) || after.URL.Path != r.URL.Path {
			t.Fatal("another place has changed")
		}
		changed := !cmp.Equal(after.Header, r.Header) || after.URL.RawQuery != query || p.Body() != nil
		if changed != (len(p.Uses) > 0) {
			t.Fatalf("changed: %v, uses: %v", changed, p.Uses)
		}
		elsewhere := set(t, placeholder("header Authorization", "query key", "body key")).Plan(r, []byte(body), Target{Host: "other.example", Port: 443}, now)
		if len(elsewhere.Uses) > 0 || elsewhere.Body() != nil {
			t.Fatal("it went to another host")
		}
	})
}
