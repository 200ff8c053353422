package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/garita-dev/garita/daemon/remote/oauth/oauthtest"
)

func TestLogin(t *testing.T) {
	for name, test := range map[string]struct {
		opts      oauthtest.Options
		cfg       Config
		change    func(*Server)
		registers int
		clientID  string
	}{
		"registered there and then": {registers: 1, clientID: "client-1"},
		"by a metadata document":    {opts: oauthtest.Options{CIMD: true}, cfg: Config{ClientID: "https://garita.example/client.json"}, clientID: "https://garita.example/client.json"},
		"no document to show":       {opts: oauthtest.Options{CIMD: true}, registers: 1, clientID: "client-1"},
		"by hand":                   {change: func(s *Server) { s.Registered = &Registered{ID: "mine"} }, clientID: "mine"},
		"iss as advertised":         {opts: oauthtest.Options{Iss: "right", Advertise: true}, registers: 1, clientID: "client-1"},
		"iss unadvertised":          {opts: oauthtest.Options{Iss: "right"}, registers: 1, clientID: "client-1"},
		"an issuer with a path":     {opts: oauthtest.Options{Path: "/tenant"}, registers: 1, clientID: "client-1"},
		"a secret in the form":      {opts: oauthtest.Options{Secret: "zzz", Methods: []string{"client_secret_post"}}, registers: 1, clientID: "client-1"},
		"a secret in the header":    {opts: oauthtest.Options{Secret: "zzz", Methods: []string{"client_secret_basic"}}, registers: 1, clientID: "client-1"},
		"no way to renew":           {opts: oauthtest.Options{NoRefresh: true}, registers: 1, clientID: "client-1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.opts)
			l := w.login(w.logins(test.cfg), test.change)
			status, err := visit(t.Context(), l, w.URL())
			if status != 200 || err != nil {
				t.Fatalf("visit: %d, %v", status, err)
			}
			if w.Registers != test.registers || len(w.Opened) != 1 {
				t.Errorf("%d registered, %d pages", w.Registers, len(w.Opened))
			}
			page, _ := url.Parse(w.Opened[0])
			if got := page.Query().Get("client_id"); got != test.clientID {
				t.Errorf("client_id %q, want %q", got, test.clientID)
			}
			if s := test.opts.Secret; s != "" {
				form := w.Asked[0]
				if (form.Get("client_secret") == s) != (test.opts.Methods[0] == methodPost) || (form.Get("basic") == "client-1:"+s) != (test.opts.Methods[0] == methodBasic) {
					t.Errorf("the secret was shown in another way than %s", test.opts.Methods[0])
				}
			}
		})
	}
}

func TestScopesBeginSmallAndGrow(t *testing.T) {
	w := newWorld(t, oauthtest.Options{Scope: "read"})
	l := w.login(w.logins(Config{}), nil)
	for _, at := range []string{w.URL(), w.URL() + "?need=write", w.URL() + "?need=write"} {
		if status, err := visit(t.Context(), l, at); status != 200 || err != nil {
			t.Fatalf("visit %s: %d, %v", at, status, err)
		}
	}
	var scopes []string
	for _, page := range w.Opened {
		u, _ := url.Parse(page)
		scopes = append(scopes, u.Query().Get("scope"))
	}
	if got, want := fmt.Sprint(scopes), "[read offline_access read offline_access write]"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
}

func TestAskingForWhatWasGivenEnds(t *testing.T) {
	w := newWorld(t, oauthtest.Options{Useless: true})
	l := w.login(w.logins(Config{}), nil)
	if _, err := visit(t.Context(), l, w.URL()); !errors.Is(err, ErrUseless) {
		t.Errorf("visit: %v, want ErrUseless", err)
	}
	if n := len(w.Opened); n != 1 {
		t.Errorf("%d pages, want one", n)
	}
}

// report_T06: four agents within a second, one page; the others wait and go on with its token.
func TestOneLoginForAll(t *testing.T) {
	t.Run("report_T06", func(t *testing.T) {
		w := newWorld(t, oauthtest.Options{})
		logins := w.logins(Config{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if status, err := visit(t.Context(), w.login(logins, nil), w.URL()); status != 200 || err != nil {
					t.Errorf("visit: %d, %v", status, err)
				}
			})
		}
		wg.Wait()
		if len(w.Opened) != 1 || w.Registers != 1 || len(w.Asked) != 1 {
			t.Errorf("%d pages, %d registered, %d tokens; want one of each", len(w.Opened), w.Registers, len(w.Asked))
		}
	})
}

func TestALoginOutlivesThoseWhoWaitForIt(t *testing.T) {
	w := newWorld(t, oauthtest.Options{Never: true})
	logins := w.logins(Config{})
	l := w.login(logins, nil)
	for range 2 { // a client that gives up, and comes back
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := visit(ctx, l, w.URL())
			left <- err
		}()
		eventually(t, "the page", func() bool { return w.Pages() == 1 })
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("visit: %v", err)
		}
	}
	page := w.Opened[0]
	w.Options.Never = false
	if err := w.Open(t.Context(), page); err != nil { // the person, at last
		t.Fatal(err)
	}
	if status, err := visit(t.Context(), l, w.URL()); status != 200 || err != nil {
		t.Errorf("visit: %d, %v", status, err)
	}
	if got, want := len(w.Opened), 2; got != want { // ours just now is the second
		t.Errorf("%d pages, want %d", got, want)
	}
}

func TestALoginIsGivenUp(t *testing.T) {
	w := newWorld(t, oauthtest.Options{Never: true})
	l := w.login(w.logins(Config{}), nil)
	result := make(chan error, 1)
	go func() {
		_, err := visit(t.Context(), l, w.URL())
		result <- err
	}()
	eventually(t, "the page", func() bool { return w.Pages() == 1 })
	page, _ := url.Parse(w.Opened[0])
	l.Cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("visit: %v", err)
	}
	if res, err := http.Get(page.Query().Get("redirect_uri")); err == nil {
		res.Body.Close()
		t.Error("the browser is still waited for")
	}
}

func TestAFailedLoginIsNotRepeatedAtOnce(t *testing.T) {
	w := newWorld(t, oauthtest.Options{Deny: true})
	l := w.login(w.logins(Config{}), nil)
	for range 3 {
		_, err := visit(t.Context(), l, w.URL())
		if !errors.Is(err, ErrDenied) || strings.Contains(err.Error(), "zzz") {
			t.Errorf("visit: %v, want ErrDenied without the server's own words", err)
		}
	}
	if n := len(w.Opened); n != 1 {
		t.Errorf("%d pages, want one", n)
	}
	w.Options.Deny = false
	if err := l.Begin(t.Context()); err != nil {
		t.Errorf("Begin: %v", err)
	}
}

func TestNobodyFinishesALogin(t *testing.T) {
	w := newWorld(t, oauthtest.Options{Never: true})
	l := w.login(w.logins(Config{Patience: 50 * time.Millisecond}), nil)
	if _, err := visit(t.Context(), l, w.URL()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("visit: %v", err)
	}
}

// age makes l's token run out.
func age(l *Login) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := *l.token
	old.got, old.expires = old.got.Add(-time.Hour), old.expires.Add(-time.Hour)
	l.token = &old
}

func TestTokensAreRenewed(t *testing.T) {
	w := newWorld(t, oauthtest.Options{})
	vault := &oauthtest.Vault{}
	l := w.login(w.logins(Config{Vault: vault}), nil)
	look := func(l *Login, pages, tokens int) {
		t.Helper()
		if status, err := visit(t.Context(), l, w.URL()); status != 200 || err != nil {
			t.Fatalf("visit: %d, %v", status, err)
		}
		if len(w.Opened) != pages || len(w.Asked) != tokens {
			t.Fatalf("%d pages, %d tokens; want %d, %d", len(w.Opened), len(w.Asked), pages, tokens)
		}
	}
	look(l, 1, 1)
	look(l, 1, 1)
	age(l)
	look(l, 1, 2) // it ran out
	again := w.login(w.logins(Config{Vault: vault}), nil)
	look(again, 1, 2) // another daemon with the same vault
	w.Valid = map[string][]string{}
	age(again)
	again.token.expires = time.Time{}
	look(again, 1, 3) // refused, without a word on when it runs out
	w.Options.BadRefresh = true
	age(l)
	look(l, 2, 5) // it cannot be renewed any more
	for _, form := range w.Asked {
		if form.Get("resource") != w.URL() {
			t.Errorf("a token was asked for %q", form.Get("resource"))
		}
	}
}

func TestHostileAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		opts oauthtest.Options
		want error // nil: any
	}{
		"attack_H59 another issuer answers":     {oauthtest.Options{Iss: "https://evil.example", Advertise: true}, ErrIssuer},
		"attack_H59 another one, unadvertised":  {oauthtest.Options{Iss: "https://evil.example"}, ErrIssuer},
		"attack_H59 no iss where it must be":    {oauthtest.Options{Advertise: true}, ErrIssuer},
		"attack_H59 an error from another":      {oauthtest.Options{Iss: "https://evil.example", Deny: true}, ErrIssuer},
		"attack_H56 a page for a shell":         {oauthtest.Options{Page: "http://a$(calc).x/"}, nil},
		"attack_H56 a page for a shell, https":  {oauthtest.Options{Page: "https://a$(calc).x/"}, nil},
		"attack_H56 a script":                   {oauthtest.Options{Page: "javascript:alert(1)"}, nil},
		"attack_H56 a file":                     {oauthtest.Options{Page: "file:///etc/passwd"}, nil},
		"attack_H56 a flag":                     {oauthtest.Options{Page: "--flag"}, nil},
		"metadata inside":                       {oauthtest.Options{MetadataAt: "http://localhost:1/x"}, nil},
		"metadata at a cloud's own address":     {oauthtest.Options{MetadataAt: "https://169.254.169.254/x"}, nil},
		"metadata in the clear":                 {oauthtest.Options{MetadataAt: "http://evil.example/x"}, nil},
		"metadata of another server":            {oauthtest.Options{Resource: "https://bank.example/mcp"}, ErrResource},
		"an answer that is no token":            {oauthtest.Options{TokenBody: `{"access_token":"zzz\r\nX: y","token_type":"Bearer"}`}, nil},
		"another type of token":                 {oauthtest.Options{TokenBody: `{"access_token":"zzz","token_type":"mac"}`}, nil},
		"two tokens":                            {oauthtest.Options{TokenBody: `{"access_token":"zzz","access_token":"zzz"}`}, nil},
		"a token endpoint that sends elsewhere": {oauthtest.Options{RedirectsTo: "http://127.0.0.1:1/zzz"}, nil},
		"nobody can register":                   {oauthtest.Options{NoRegister: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.opts)
			l := w.login(w.logins(Config{}), nil)
			_, err := visit(t.Context(), l, w.URL())
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Fatalf("visit: %v, want %v", err, test.want)
			}
			if strings.Contains(err.Error(), "zzz") || strings.Contains(err.Error(), "evil") {
				t.Errorf("the error repeats what a server says: %v", err)
			}
			if errors.Is(err, ErrIssuer) && len(w.Asked) > 0 {
				t.Error("the code was sent on")
			}
			if test.opts.Page != "" && len(w.Opened) > 0 {
				t.Errorf("opened %q", w.Opened)
			}
		})
	}
}

// attack_H59: with another authorization server nothing of the first is used.
func TestAnotherIssuer(t *testing.T) {
	t.Run("attack_H59", func(t *testing.T) {
		w := newWorld(t, oauthtest.Options{})
		l := w.login(w.logins(Config{}), nil)
		if status, err := visit(t.Context(), l, w.URL()); status != 200 {
			t.Fatalf("visit: %d, %v", status, err)
		}
		other := httptest.NewServer(w.Authorization())
		defer other.Close()
		first := w.AS
		w.AS, w.Valid, w.Asked = other, map[string][]string{}, nil
		if status, err := visit(t.Context(), l, w.URL()); status != 200 {
			t.Fatalf("visit: %d, %v", status, err)
		}
		if w.Registers != 2 {
			t.Errorf("%d registered, want anew", w.Registers)
		}
		if len(w.Asked) != 1 || w.Asked[0].Get("grant_type") != "authorization_code" || w.Asked[0].Get("client_id") != "client-2" {
			t.Errorf("asked the new server for %v", w.Asked)
		}
		w.AS = first // its own Cleanup
	})
	t.Run("a client registered by hand", func(t *testing.T) {
		w := newWorld(t, oauthtest.Options{})
		l := w.login(w.logins(Config{}), func(s *Server) { s.Registered = &Registered{ID: "mine", Issuer: "https://other.example"} })
		if _, err := visit(t.Context(), l, w.URL()); !errors.Is(err, ErrIssuer) {
			t.Errorf("visit: %v, want ErrIssuer", err)
		}
	})
}

// attack_H58: a token is for the server it was given for.
func TestATokenGoesToItsServerOnly(t *testing.T) {
	t.Run("attack_H58", func(t *testing.T) {
		a, b := newWorld(t, oauthtest.Options{}), newWorld(t, oauthtest.Options{})
		vault := &oauthtest.Vault{}
		logins := a.logins(Config{Vault: vault, Open: func(ctx context.Context, page string) error {
			if strings.HasPrefix(page, a.AS.URL) {
				return a.Open(ctx, page)
			}
			return b.Open(ctx, page)
		}})
		la, lb := a.login(logins, nil), b.login(logins, func(s *Server) { s.Name = "near" })
		for _, one := range []struct {
			l  *Login
			at string
		}{{la, a.URL()}, {lb, b.URL()}} {
			if status, err := visit(t.Context(), one.l, one.at); status != 200 {
				t.Fatalf("visit: %d, %v", status, err)
			}
		}
		if _, err := visit(t.Context(), la, b.URL()); err == nil {
			t.Error("the login of one server was used for another")
		}
		for _, got := range b.Seen {
			if _, ok := a.Valid[strings.TrimPrefix(got, "Bearer ")]; ok {
				t.Errorf("the other server's token arrived: %s", got)
			}
		}
		for _, form := range b.Asked {
			if form.Get("resource") != b.URL() {
				t.Errorf("a token was asked for %q", form.Get("resource"))
			}
		}
	})
}

func TestTheBrowsersReturn(t *testing.T) {
	w := newWorld(t, oauthtest.Options{Never: true})
	l := w.login(w.logins(Config{}), nil)
	result := make(chan error, 1)
	go func() {
		_, err := visit(t.Context(), l, w.URL())
		result <- err
	}()
	eventually(t, "the page", func() bool { return w.Pages() == 1 })
	page, _ := url.Parse(w.Opened[0])
	back, state := page.Query().Get("redirect_uri"), page.Query().Get("state")
	get := func(at, host string) int {
		req, _ := http.NewRequest("GET", at, nil)
		req.Host = host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if !strings.Contains(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Error("the page has no policy")
		}
		return res.StatusCode
	}
	for name, at := range map[string]string{
		"no state":        back + "?code=x",
		"another's state": back + "?code=x&state=y",
		"two states":      back + "?code=x&state=" + state + "&state=y",
		"another path":    strings.Replace(back, "/callback", "/", 1) + "?code=x&state=" + state,
	} {
		if got := get(at, ""); got != 400 {
			t.Errorf("%s: %d", name, got)
		}
	}
	if got := get(back+"?code=x&state="+state, "evil.example"); got != 400 {
		t.Errorf("another host: %d", got)
	}
	select {
	case err := <-result:
		t.Fatalf("a stranger ended the login: %v", err)
	default:
	}
	if got := get(back+"?error=access_denied&state="+state, ""); got != 200 {
		t.Errorf("the true answer: %d", got)
	}
	if err := <-result; !errors.Is(err, ErrDenied) {
		t.Errorf("visit: %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestCheckURL(t *testing.T) {
	for _, test := range []struct {
		raw      string
		loopback bool
		want     string
	}{
		{"https://as.example/authorize?a=b c&d=$(calc)", false, "https://as.example/authorize?a=b+c&d=%24%28calc%29"},
		{"http://127.0.0.1:9/authorize", true, "http://127.0.0.1:9/authorize"},
		{"https://[::1]:9/", true, "https://[::1]:9/"},
		{"http://localhost:9/", false, ""},
		{"http://as.example/", true, ""},
		{"http://a$(calc).x/", true, ""},
		{"https://a$(calc).x/", false, ""},
		{"https://as.example/$(calc)", false, ""},
		{"https://as.example/;calc", false, ""},
		{"https://as.example/`calc`", false, "https://as.example/%60calc%60"},
		{"https://-flag.example/", false, ""},
		{"https://as.example/#x", false, ""},
		{"https://me:pw@as.example/", false, ""},
		{"https://192.168.1.1/", false, ""},
		{"https://169.254.169.254/", true, ""},
		{"javascript:alert(1)", true, ""},
		{"file:///etc/passwd", true, ""},
		{"data:text/html,x", true, ""},
		{"--flag", true, ""},
		{"", true, ""},
		{"https://as.example/\n", false, ""},
		{"//as.example/", false, ""},
	} {
		got, err := CheckURL(test.raw, test.loopback)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("CheckURL(%q, %v) = %q, %v; want %q", test.raw, test.loopback, got, err, test.want)
		}
	}
}

func TestBrowser(t *testing.T) {
	t.Run("attack_H56", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "argv")
		program := filepath.Join(t.TempDir(), "browser")
		script := "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" > " + out + ".tmp\nmv " + out + ".tmp " + out + "\n"
		if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		open := Browser(program, "--new-window")
		for _, bad := range []string{"http://a$(calc).x/", "javascript:alert(1)", "file:///etc/passwd", "--flag"} {
			if err := open(t.Context(), bad); !errors.Is(err, ErrPage) {
				t.Errorf("%s: %v, want ErrPage", bad, err)
			}
		}
		if err := open(t.Context(), "https://as.example/authorize?x=$(calc)&y=z"); err != nil {
			t.Fatal(err)
		}
		var got []byte
		eventually(t, "the browser", func() bool {
			var err error
			got, err = os.ReadFile(out)
			return err == nil
		})
		if want := "2\n--new-window\nhttps://as.example/authorize?x=%24%28calc%29&y=z\n"; string(got) != want {
			t.Errorf("argv %q, want %q", got, want)
		}
	})
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(long); !f(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

func TestASecretIsNotShown(t *testing.T) {
	s := NewSecret("zzz")
	holder := struct {
		Shown  Secret
		hidden Secret
		token  *token
	}{s, s, &token{access: s, refresh: s, client: client{secret: s}}}
	var text strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%p", "%o", "%e", "%c", "%U"} {
		fmt.Fprintf(&text, verb+"\n"+verb+"\n"+verb+"\n"+verb+"\n", s, &s, holder, *holder.token)
	}
	for _, h := range []slog.Handler{slog.NewJSONHandler(&text, nil), slog.NewTextHandler(&text, nil)} {
		slog.New(h).Info("x", "secret", s, "holder", holder, "token", *holder.token, "headers", []any{s, &s})
	}
	for _, form := range []string{"zzz", "7a7a7a", "7A7A7A", "122 122 122"} {
		if strings.Contains(text.String(), form) {
			t.Errorf("shown as %s in:\n%s", form, text.String())
		}
	}
	if (Secret{}).open() != "" || !(Secret{}).empty() {
		t.Error("the zero Secret is not empty")
	}
}

// brokenVault keeps nothing.
type brokenVault struct{ loads atomic.Int32 }

func (v *brokenVault) Load(string) ([]byte, error) { v.loads.Add(1); return nil, nil }
func (*brokenVault) Save(string, []byte) error     { return errors.New("full") }
func (*brokenVault) Delete(string) error           { return nil }

func TestAVaultThatKeepsNothing(t *testing.T) {
	w := newWorld(t, oauthtest.Options{})
	l := w.login(w.logins(Config{Vault: &brokenVault{}}), func(s *Server) { s.Registered = &Registered{ID: "mine"} })
	for range 2 {
		if status, err := visit(t.Context(), l, w.URL()); status != 200 || err != nil {
			t.Fatalf("visit: %d, %v", status, err)
		}
	}
	if len(w.Opened) != 1 {
		t.Errorf("%d pages, want one for the daemon's life", len(w.Opened))
	}
}

func TestForget(t *testing.T) {
	w := newWorld(t, oauthtest.Options{})
	vault := &oauthtest.Vault{}
	l := w.login(w.logins(Config{Vault: vault}), nil)
	if status, _ := visit(t.Context(), l, w.URL()); status != 200 {
		t.Fatal(status)
	}
	if err := l.Forget(); err != nil {
		t.Fatal(err)
	}
	if kept, _ := vault.Load(l.key); kept != nil {
		t.Error("the token is still there")
	}
	if status, _ := visit(t.Context(), l, w.URL()); status != 200 || len(w.Opened) != 2 {
		t.Errorf("after Forget: %d, %d pages", status, len(w.Opened))
	}
}
