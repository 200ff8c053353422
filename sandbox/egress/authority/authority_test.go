package authority

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

func endpoints(t *testing.T, texts ...string) []sandbox.Endpoint {
	t.Helper()
	var all []sandbox.Endpoint
	for _, text := range texts {
		e, err := sandbox.ParseEndpoint(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func issuer(t *testing.T, hosts ...string) *Issuer {
	t.Helper()
	a, err := New(endpoints(t, hosts...))
	if err != nil {
		t.Fatal(err)
	}
	i, err := Open(a)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func believed(i *Issuer, host string) error {
	leaf, err := i.Leaf(host)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(i.Root()))
	_, err = leaf.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
	return err
}

func TestAnAuthoritySignsForItsHostsAlone(t *testing.T) {
	i := issuer(t, "api.github.com", "*.example.org", "192.168.1.20:8443")
	for _, host := range []string{"api.github.com", "a.example.org", "b.a.example.org", "192.168.1.20"} {
		if err := believed(i, host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	names := issuer(t, "api.github.com")
	addresses := issuer(t, "192.168.1.20:8443")
	for _, other := range []struct {
		by   *Issuer
		host string
	}{{i, "github.com"}, {i, "example.net"}, {i, "192.168.1.21"}, {names, "192.168.1.20"}, {names, "::1"}, {addresses, "api.github.com"}} {
		if believed(other.by, other.host) == nil {
			t.Errorf("%s is believed", other.host)
		}
	}
}

func TestCovers(t *testing.T) {
	i := issuer(t, "api.github.com", "*.example.org", "[2600::1]:443")
	for text, want := range map[string]bool{
		"api.github.com": true, "api.github.com:8443": true, "*.example.org": true, "x.example.org": true, "[2600::1]:443": true,
		"github.com": false, "*.github.com": false, "10.0.0.1": false,
	} {
		if got := i.Covers(endpoints(t, text)[0]); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if none, err := Open(wire.Authority{}); err != nil || none.Covers(endpoints(t, "api.github.com")[0]) {
		t.Errorf("no authority covers something, %v", err)
	}
}

func TestWhatCannotBeAnAuthority(t *testing.T) {
	if _, err := New(nil); !errdefs.IsInvalidArgument(err) {
		t.Errorf("for no host: %v", err)
	}
	a, _ := New(endpoints(t, "a.example.org"))
	b, _ := New(endpoints(t, "a.example.org"))
	for name, broken := range map[string]wire.Authority{
		"no key": {Cert: a.Cert}, "no certificate": {Key: a.Key}, "another's key": {Cert: a.Cert, Key: b.Key}, "no PEM": {Cert: "x", Key: wire.NewSecret("y")},
	} {
		if _, err := Open(broken); !errdefs.IsInvalidArgument(err) || strings.Contains(fmt.Sprint(err), "y") && !strings.Contains(errUnreadable.Error(), "y") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALeafIsKept(t *testing.T) {
	i := issuer(t, "*.example.org")
	a, _ := i.Leaf("a.example.org")
	if b, _ := i.Leaf("a.example.org"); a != b {
		t.Error("each connection would make a certificate")
	}
	for n := range maxLeaves + 1 {
		if _, err := i.Leaf(fmt.Sprintf("h%d.example.org", n)); err != nil {
			t.Fatal(err)
		}
	}
	if len(i.leaves) > maxLeaves {
		t.Errorf("%d are kept", len(i.leaves))
	}
}

// clients are programs that people's servers are written in, as they are told to trust an authority.
// Each connects to https://HOST:PORT, where HOST is at 127.0.0.1.
var clients = map[string]func(ca, host, port string) *exec.Cmd{
	"curl": func(ca, host, port string) *exec.Cmd {
		return exec.Command("curl", "-sS", "--cacert", ca, "--resolve", host+":"+port+":127.0.0.1", "https://"+host+":"+port)
	},
	"node": func(ca, host, port string) *exec.Cmd {
		c := exec.Command("node", "-e", `require("https").get({host:"127.0.0.1",servername:process.argv[1],port:process.argv[2]},r=>r.pipe(process.stdout)).on("error",e=>{console.error(e);process.exit(1)})`, host, port)
		c.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+ca)
		return c
	},
	"python3": func(ca, host, port string) *exec.Cmd {
		return exec.Command("python3", "-c", `import ssl,socket,sys
s=ssl.create_default_context(cafile=sys.argv[1]).wrap_socket(socket.create_connection(("127.0.0.1",int(sys.argv[3]))),server_hostname=sys.argv[2])
s.sendall(b"GET / HTTP/1.0\r\nHost: x\r\n\r\n")
print(s.recv(9999))`, ca, host, port)
	},
}

// Programs believe an authority that is constrained by name, and heed the constraint.
func TestProgramsBelieveIt(t *testing.T) {
	a, err := New(endpoints(t, "api.example.org"))
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte(a.Cert), 0o600); err != nil {
		t.Fatal(err)
	}
	i, err := Open(a)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "welcome") }))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return i.Leaf(h.ServerName) }}
	srv.StartTLS()
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	for program, command := range clients {
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Fatalf("%v: ./task setup test installs it", err)
			}
			if out, err := command(ca, "api.example.org", port).CombinedOutput(); !strings.Contains(string(out), "welcome") {
				t.Errorf("its host: %v: %s", err, out)
			}
			if out, _ := command(ca, "other.example.org", port).CombinedOutput(); strings.Contains(string(out), "welcome") {
				t.Errorf("another host is believed: %s", out)
			}
		})
	}
}
