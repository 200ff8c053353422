package engine

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/authority"
	"github.com/garita-dev/garita/sandbox/ocispec"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

const visitor = `import java.net.*; import java.net.http.*;
public class V { public static void main(String[] a) throws Exception {
	var r = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(a[0])).build(), HttpResponse.BodyHandlers.ofString());
	System.out.println(r.body()); } }
`

// TestJavaBelievesTheAuthority: a Java program that knows nothing of it but the variable reaches a host that
// shows a certificate of the sandbox's authority; without the variable it does not.
func TestJavaBelievesTheAuthority(t *testing.T) {
	sandboxtest.Program(t, "javac") // which compiles the one file
	java := sandboxtest.Program(t, "java")
	ca, err := authority.New([]sandbox.Endpoint{{Host: "localhost", Port: 443}})
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := authority.Open(ca)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) { _, _ = to.Write([]byte("reached")) }))
	server.TLS = &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return issuer.Leaf("localhost") }} //nolint:gosec // a test's
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	host, _ := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	store, err := (&javaStores{}).store(host, []byte(ca.Cert))
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "cacerts.p12")
	program := filepath.Join(dir, "V.java")
	for name, text := range map[string][]byte{at: store, program: []byte(visitor)} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	run := func(env ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, java, program, address) //nolint:gosec // a test's
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...)
		out, err := cmd.Output() // what it says of the variable is on standard error
		return strings.TrimSpace(string(out)), err
	}
	if out, err := run("JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=" + at + " -Djavax.net.ssl.trustStorePassword=" + ocispec.JavaPassword); err != nil || out != "reached" {
		t.Errorf("got %q, %v", out, err)
	}
	if out, err := run(); err == nil {
		t.Errorf("without the store: %q", out)
	}
}

// TestAllOfTheHostsCertificatesAreThere, also where two have one name.
func TestAllOfTheHostsCertificatesAreThere(t *testing.T) {
	one, err := authority.New([]sandbox.Endpoint{{Host: "a.example.com", Port: 443}})
	if err != nil {
		t.Fatal(err)
	}
	two, err := authority.New([]sandbox.Endpoint{{Host: "b.example.com", Port: 443}})
	if err != nil {
		t.Fatal(err)
	}
	host := "# a host's\n" + one.Cert + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" + one.Cert
	var stores javaStores
	for range 2 { // the second time the host's are known
		store, err := stores.store([]byte(host), []byte(two.Cert))
		if err != nil {
			t.Fatal(err)
		}
		if all, err := pkcs12.DecodeTrustStore(store, ocispec.JavaPassword); err != nil || len(all) != 3 {
			t.Errorf("%d certificates, %v", len(all), err)
		}
	}
}

func BenchmarkJavaStore(b *testing.B) {
	host, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	if err != nil {
		b.Skip(err)
	}
	var stores javaStores
	for b.Loop() {
		if _, err := stores.store(host, nil); err != nil {
			b.Fatal(err)
		}
	}
}
