package ocispec

import (
	"maps"
	"strings"
)

// Trust is the files by which programs inside trust one more authority.
type Trust struct {
	Certificate string // alone
	Bundle      string // after the host's
	// Bundles are further places at which the bundle is looked for.
	Bundles []string
	// Java is the same in PKCS#12, by JavaPassword. "" for none.
	Java string
}

// JavaPassword opens Java's store of certificates, in which nothing is secret. Java does not look into one
// without a password.
const JavaPassword = "changeit"

// trusting are the variables by which programs and libraries are told whom to trust. Node is given the
// one certificate besides its own list: the whole bundle would cost it 50 ms at each start.
var trusting = map[string]string{
	"NODE_EXTRA_CA_CERTS": TrustPath,
	"SSL_CERT_FILE":       BundlePath, "REQUESTS_CA_BUNDLE": BundlePath, "PIP_CERT": BundlePath, "CURL_CA_BUNDLE": BundlePath,
	"GIT_SSL_CAINFO": BundlePath, "AWS_CA_BUNDLE": BundlePath, "CARGO_HTTP_CAINFO": BundlePath,
	"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": BundlePath, "HTTPLIB2_CA_CERTS": BundlePath,
	"DENO_TLS_CA_STORE": "system", "DENO_CERT": TrustPath,
}

// javaOptions have every Java program trust the store. It says on standard error that it was told so.
const javaOptions = "-Djavax.net.ssl.trustStore=" + JavaPath + " -Djavax.net.ssl.trustStorePassword=" + JavaPassword

// trust sets them in env. The server's own variables are set after it.
func trust(env map[string]string, t Trust) {
	if t.Certificate == "" {
		return
	}
	maps.Copy(env, trusting)
	if t.Java != "" {
		env["JAVA_TOOL_OPTIONS"] = strings.TrimSpace(env["JAVA_TOOL_OPTIONS"] + " " + javaOptions) // an image may have its own
	}
}

// trustBinds show the files.
func trustBinds(t Trust) []Bind {
	if t.Certificate == "" {
		return nil
	}
	binds := []Bind{{Source: t.Certificate, At: TrustPath}, {Source: t.Bundle, At: BundlePath}}
	if t.Java != "" {
		binds = append(binds, Bind{Source: t.Java, At: JavaPath})
	}
	for _, at := range t.Bundles {
		binds = append(binds, Bind{Source: t.Bundle, At: at})
	}
	for i := range binds {
		binds[i].Options = []string{"noexec"}
	}
	return binds
}
