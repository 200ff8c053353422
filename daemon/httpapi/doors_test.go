package httpapi_test

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/httpapi"
)

// TestEveryRouteRefusesEveryStranger is the matrix: each route, each way of not being the page.
func TestEveryRouteRefusesEveryStranger(t *testing.T) {
	d := serve(t)
	b := d.visit(t)
	port := b.page[strings.LastIndexByte(b.page, ':'):]
	strangers := []struct {
		name   string
		header map[string]string
		status int
	}{
		{"no session", map[string]string{"X-Garita-Token": "", "Cookie": "none"}, 401},
		{"cookie only", map[string]string{"X-Garita-Token": ""}, 401},
		{"cookie and wrong token", map[string]string{"X-Garita-Token": "wrong"}, 401},
		{"token only", map[string]string{"Cookie": "none"}, 401},
		{"foreign host", map[string]string{"Host": "evil.example" + port}, 403},
		{"our name, another port", map[string]string{"Host": "127.0.0.1:1"}, 403},
		{"our name without a port", map[string]string{"Host": "localhost"}, 403},
		{"foreign origin", map[string]string{"Origin": "https://evil.example"}, 403},
		{"another port's origin", map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		{"null origin", map[string]string{"Origin": "null"}, 403},
		{"same-site fetch", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"cross-site fetch", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"address bar", map[string]string{"Sec-Fetch-Site": "none"}, 403},
	}
	for _, r := range httpapi.RoutesForTest() {
		for _, s := range strangers {
			as := b
			if _, ok := s.header["Cookie"]; ok {
				as = d.stranger(t)
				as.token = b.token
			}
			status, body := as.do(t, r.Method, r.Path, "", s.header)
			if status != s.status || !strings.Contains(body, `"code":"denied"`) {
				t.Errorf("%s %s, %s: got %d %s, want %d", r.Method, r.Path, s.name, status, body, s.status)
			}
		}
	}
	if d.refusedCount() == 0 {
		t.Error("nothing was recorded")
	}
	if len(d.peers) != 0 {
		t.Errorf("the backend was asked by %v", d.peers)
	}
}

func TestThePageReachesItsRoutesAndNoOthers(t *testing.T) {
	d := serve(t)
	b := d.visit(t)
	for _, r := range httpapi.RoutesForTest() {
		status, body := b.do(t, r.Method, r.Path, "", map[string]string{"Origin": b.page})
		refused := status == 403 || status == 401
		if refused == r.Page {
			t.Errorf("%s %s: got %d %s, for the page: %v", r.Method, r.Path, status, body, r.Page)
		}
	}
	b = d.visit(t) // the last route signed it out
	if status, _ := b.do(t, "GET", "/api/v1/nowhere", "", nil); status != 404 {
		t.Errorf("unknown route: got %d", status)
	}
	if status, _ := d.stranger(t).do(t, "GET", "/api/v1/nowhere", "", nil); status != 401 {
		t.Errorf("unknown route for a stranger: got %d", status)
	}
}

func TestALinkWorksOnce(t *testing.T) {
	d := serve(t)
	link, err := d.client.BrowserSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(link.Expires); left > time.Minute || left < 50*time.Second {
		t.Errorf("it lives %v", left)
	}
	_, secret, _ := strings.Cut(link.URL, "#token=")
	body := `{"token":"` + secret + `"}`
	b := d.stranger(t)
	if status, _ := b.do(t, "POST", "/api/v1/browser-sessions/claim", body, map[string]string{"Content-Type": "text/plain"}); status != 401 {
		t.Errorf("claim as a form could send it: got %d", status)
	}
	if status, _ := b.do(t, "POST", "/api/v1/browser-sessions/claim", body, map[string]string{"Origin": "null"}); status != 403 {
		t.Errorf("claim from elsewhere: got %d", status)
	}
	resp := b.send(t, "POST", "/api/v1/browser-sessions/claim", body, nil)
	resp.Body.Close()
	cookies := resp.Cookies()
	if resp.StatusCode != 200 || len(cookies) != 1 {
		t.Fatalf("got %d, %v", resp.StatusCode, cookies)
	}
	if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 12*3600 {
		t.Errorf("got cookie %v", c)
	}
	if status, _ := d.stranger(t).do(t, "POST", "/api/v1/browser-sessions/claim", body, nil); status != 401 {
		t.Errorf("second claim: got %d", status)
	}
}

func TestTheSocketRefusesBrowsers(t *testing.T) {
	d := serve(t)
	tr := d.client.Transport()
	for name, set := range map[string]func(*http.Request){
		"origin":       func(r *http.Request) { r.Header.Set("Origin", "http://garita") },
		"referer":      func(r *http.Request) { r.Header.Set("Referer", "http://garita/") },
		"cookie":       func(r *http.Request) { r.Header.Set("Cookie", "a=b") },
		"fetch":        func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") },
		"foreign host": func(r *http.Request) { r.Host = "evil.example" },
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://garita/api/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		set(req)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 403 {
			t.Errorf("%s: got %d", name, resp.StatusCode)
		}
	}
}

func TestFilesAndWhatGoesWithThem(t *testing.T) {
	d := serve(t)
	b := d.stranger(t)
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/":                  {200, "the page"},
		"/calls/c1":          {200, "the page"},
		"/index.html":        {200, "the page"},
		"/assets/app-1.js":   {200, "js"},
		"/assets":            {200, "the page"},
		"/assets/":           {200, "the page"},
		"/assets/gone.js":    {404, "no such route"},
		"/../../etc/passwd":  {200, "the page"},
		"//api/v1/status":    {200, "the page"},
		"/.git/config":       {200, "the page"},
		"/apiary":            {200, "the page"},
		"/api":               {401, "denied"},
		"/api/":              {401, "denied"},
		"/api/../api/v1/x":   {401, "denied"},
		"/assets/%2e%2e/x.a": {404, "no such route"},
	} {
		status, body := b.do(t, "GET", path, "", nil)
		if status != want.status || !strings.Contains(body, want.body) {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
	if status, _ := b.do(t, "POST", "/", "x", nil); status != 405 {
		t.Errorf("POST /: got %d", status)
	}
	embed := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
	if status, _ := b.do(t, "GET", "/assets/app-1.js", "", embed); status != 403 {
		t.Errorf("script of another site: got %d", status)
	}
	follow := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
	if status, _ := b.do(t, "GET", "/", "", follow); status != 200 {
		t.Errorf("followed link: got %d", status)
	}
}

func TestThePagePolicyIsStrictAndItsNonceNew(t *testing.T) {
	d := serve(t)
	b := d.stranger(t)
	first, second := b.send(t, "GET", "/", "", nil), b.send(t, "GET", "/", "", nil)
	first.Body.Close()
	second.Body.Close()
	policy := first.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("%q lacks %q", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") || policy == second.Header.Get("Content-Security-Policy") {
		t.Errorf("got %q", policy)
	}
	api := b.send(t, "GET", "/api/v1/status", "", nil)
	api.Body.Close()
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"} {
		if got := api.Header.Get(name); got != want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestTheEventStreamOfThePage(t *testing.T) {
	d := serve(t)
	b := d.visit(t)
	dial := func(header http.Header, protocols ...string) (*websocket.Conn, *http.Response, error) {
		dialer := websocket.Dialer{Jar: b.Jar, Subprotocols: protocols}
		return dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(b.page, "http")+"/api/v1/events", header)
	}
	own := http.Header{"Origin": {b.page}}
	for name, try := range map[string]struct {
		header    http.Header
		protocols []string
	}{
		"no origin":      {nil, []string{"garita.v1", "garita.token." + b.token}},
		"null origin":    {http.Header{"Origin": {"null"}}, []string{"garita.token." + b.token}},
		"foreign origin": {http.Header{"Origin": {"http://evil.example"}}, []string{"garita.token." + b.token}},
		"no token":       {own, []string{"garita.v1"}},
		"wrong token":    {own, []string{"garita.v1", "garita.token.x"}},
	} {
		conn, resp, err := dial(try.header, try.protocols...)
		if err == nil {
			conn.Close()
			t.Errorf("%s: let in", name)
			continue
		}
		resp.Body.Close()
	}
	conn, resp, err := dial(own, "garita.v1", "garita.token."+b.token)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	resp.Body.Close()
	if conn.Subprotocol() != "garita.v1" {
		t.Errorf("got %q", conn.Subprotocol())
	}
	var e api.Event
	if err := conn.ReadJSON(&e); err != nil || e.Kind != "reset" {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestThePageIsServedOnLoopbackOnly(t *testing.T) {
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	s := httpapi.New(newFake(), httpapi.Options{})
	if err := s.ServePage(t.Context(), ln); err == nil {
		t.Fatal("served to the whole network")
	}
}
