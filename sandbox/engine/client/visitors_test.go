package client_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
	"github.com/garita-dev/garita/sandbox/sandboxtest/visitors"
)

// which tells what of the two is in a text.
func which(text string) string {
	return (&visitors.Host{Value: tokenValue, Sentinel: tokenSentinel}).Which(text)
}

// hostVisitors starts a sandbox with all visitors in it, which believes the world's hosts and the wall, and
// has a sentinel in TOKEN for granted.example.test.
func (w *world) hostVisitors(e *client.Engine, kit string) *inhabitant {
	w.t.Helper()
	token := githubToken()
	token.Hosts = []sandbox.Endpoint{{Host: "granted.example.test", Port: 443}}
	a, err := client.NewAuthority(token.Hosts)
	if err != nil {
		w.t.Fatal(err)
	}
	programs := realDir(w.t)
	if err := os.Chmod(programs, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := visitors.Install(programs); err != nil {
		w.t.Fatal(err)
	}
	launch := sandboxtest.Shell(`while read -r line; do eval "$line" 2>&1 | tr '\n' ' '; echo; done`)
	launch.Mounts = []sandbox.Mount{{Host: programs, At: "/srv/visitors"}}
	if kit != "" {
		launch.Mounts = append(launch.Mounts, sandbox.Mount{Host: kit, At: "/srv/kit"})
	}
	launch.Trust = a.Cert + w.host.CA
	launch.Env = map[string]string{"TOKEN": tokenSentinel, "KIT": "/srv/kit", "NODE_NO_WARNINGS": "1"}
	launch.Network = rules(w.t, "api.example.test", "api.example.test:80", "granted.example.test")
	in := &inhabitant{t: w.t, launch: launch, more: make(chan struct{})}
	s := client.Sandbox{ID: launch.ID, Host: w.host, Rules: launch.Network, Authority: a, Placeholders: []client.Placeholder{token}, WaitMS: 20000}
	if in.out, err = w.wall.OpenWayOut(w.t.Context(), s, in.see); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = in.out.Close() })
	in.instance, in.pipes = sandboxtest.Start(w.t, networked{e, in.out}, launch)
	return in
}

// visit runs a visitor. Only one that waits for the wall takes nearly a minute.
func (in *inhabitant) visit(v visitors.Visitor, url string) (said string, passed bool) {
	in.t.Helper()
	said = in.run("timeout 50 sh /srv/visitors/run.sh " + v.Name + " " + url + "; s=$?; echo; echo STATUS $s")
	said, status, _ := strings.Cut(said, "STATUS ")
	if status == "124" {
		in.t.Errorf("%s waits and waits for %s: %s%s", v.Name, url, said, in.story())
	}
	return said, status == "0"
}

// TestVisitors: nothing inside is told of the wall, and every client meets it; where it is let through it
// works as ever, what is refused is an error inside and a record outside, and where a secret may be sent it
// is sent by each.
func TestVisitors(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	host := (&visitors.Host{Value: tokenValue, Sentinel: tokenSentinel, Private: "granted."}).Open()
	w.believable("127.77.0.1", host)
	w.clear("127.77.0.1", host)
	w.name("api.example.test", "127.77.0.1")
	w.name("granted.example.test", "127.77.0.1")
	kit := sandboxtest.Kit(t)
	in := w.hostVisitors(e, kit)
	for i, v := range visitors.All() {
		t.Run("report_N01 "+v.Name, func(t *testing.T) {
			if missing := v.Missing(kit); missing != "" {
				t.Skipf("no %s here", missing)
			}
			c := &call{t, in, v}
			t.Run("allowed", c.allowed)
			t.Run("no such name", func(t *testing.T) {
				c.refused(t, fmt.Sprintf("https://%s.evil.example.test", v.Name), sandbox.DeniedName, v.Name+".evil.example.test", 0)
			})
			t.Run("an address", func(t *testing.T) {
				ip := fmt.Sprintf("192.0.2.%d", 10+i)
				c.refused(t, "https://"+ip, sandbox.DeniedAddress, ip, 443)
			})
			t.Run("another port", func(t *testing.T) {
				port := uint16(8500 + i) //nolint:gosec // few
				c.refused(t, fmt.Sprintf("https://api.example.test:%d", port), sandbox.DeniedPort, "api.example.test", port)
			})
			if v.Bearing {
				t.Run("opened by a placeholder", c.opened)
			}
		})
	}
	for _, name := range w.lookedUp() {
		if name != "api.example.test" && name != "granted.example.test" {
			t.Errorf("looked up: %s", name)
		}
	}
}

// call is a visitor in a sandbox.
type call struct {
	*testing.T
	in *inhabitant
	v  visitors.Visitor
}

func (c *call) allowed(t *testing.T) {
	scheme := "https"
	if !c.v.Trusting {
		scheme = "http"
	}
	said, passed := c.in.visit(c.v, scheme+"://api.example.test")
	if !passed || !strings.Contains(said, "hello from") || strings.Contains(said, "value:true") {
		t.Errorf("got %s%s", said, c.in.story())
	}
}

func (c *call) refused(t *testing.T, url string, kind sandbox.DenialKind, host string, port uint16) {
	said, passed := c.in.visit(c.v, url)
	if passed {
		t.Errorf("got %s%s", said, c.in.story())
	}
	t.Logf("%.300s", said)
	c.in.denied(kind, host, port)
}

// opened: the host got the value, and inside it is the sentinel, whatever the host says.
func (c *call) opened(t *testing.T) {
	said, passed := c.in.visit(c.v, "https://granted.example.test")
	if !passed || strings.Contains(said, tokenValue) {
		t.Fatalf("got %s%s", said, c.in.story())
	}
	if c.v.Name == "git" {
		return // it shows no more than that it was let in
	}
	if !strings.Contains(said, "header[value:true sentinel:false]") || strings.Contains(said, "echo[") && !strings.Contains(said, tokenSentinel+"]") {
		t.Errorf("got %s", said)
	}
	if strings.Contains(said, "message[") && !strings.Contains(said, "message[value:false sentinel:true]") {
		t.Errorf("what is said in a message: %s", said)
	}
}
