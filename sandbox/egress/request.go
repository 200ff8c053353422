package egress

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// asked is what one request from a sandbox asks a registry for.
type asked struct {
	kind    wire.Kind
	name    string // of the package
	file    string // of a tarball
	version string // of a tarball
}

// refusal is an answer of the wall's own.
type refusal struct {
	status int
	why    string // one sentence, for npm's output and the record
}

var tarballFile = regexp.MustCompile(`^[A-Za-z0-9~][A-Za-z0-9._~+-]*\.tgz$`)

// maxURI bounds a request's target, in bytes; the longest that npm sends is below 500.
const maxURI = 1024

// parseRequest says what a request asks for, or why it is refused. It looks at the target as sent,
// before anything decodes it: one spelling of each path passes and nothing else.
func parseRequest(method, host, uri string) (asked, *refusal) {
	switch {
	case method != http.MethodGet && method != http.MethodHead:
		return asked{}, &refusal{http.StatusMethodNotAllowed, "only reading from a registry is allowed"}
	case host != wire.RegistryAddress:
		return asked{}, &refusal{http.StatusForbidden, "the Host is not this registry's"}
	case len(uri) > maxURI:
		return asked{}, &refusal{http.StatusForbidden, "the request is too long"}
	case !strings.HasPrefix(uri, "/"):
		return asked{}, &refusal{http.StatusForbidden, "this is a registry, not a proxy for other addresses"}
	}
	if a, ok := parsePath(uri[1:]); ok {
		return a, nil
	}
	return asked{}, &refusal{http.StatusForbidden, "only descriptions and tarballs of packages can be fetched"}
}

// parsePath reads a path without its first slash.
func parsePath(path string) (asked, bool) {
	parts := strings.Split(plainScope(path), "/")
	if len(parts) > 3 && parts[0] == "-" && parts[1] == "package" && parts[len(parts)-1] == "dist-tags" {
		name, rest, ok := takeName(parts[2 : len(parts)-1])
		return asked{kind: wire.DistTags, name: name}, ok && len(rest) == 0
	}
	name, rest, ok := takeName(parts)
	switch {
	case !ok:
		return asked{}, false
	case len(rest) == 0:
		return asked{kind: wire.Packument, name: name}, true
	case len(rest) == 2 && rest[0] == "-":
		version, ok := tarballVersion(name, rest[1])
		return asked{kind: wire.Tarball, name: name, file: rest[1], version: version}, ok
	}
	return asked{}, false
}

// plainScope turns the one escape that registries use, "@scope%2fname", into a slash. Other
// escapes stay, and are refused as parts of a name.
func plainScope(path string) string {
	at := strings.Index(path, "@")
	if at < 0 {
		return path
	}
	end := strings.IndexAny(path[at:], "%/")
	if end < 0 || len(path) < at+end+3 || !strings.EqualFold(path[at+end:at+end+3], "%2f") {
		return path
	}
	return path[:at+end] + "/" + path[at+end+3:]
}

// takeName takes a package's name, of one or two parts, from the front.
func takeName(parts []string) (name string, rest []string, ok bool) {
	n := 1
	if strings.HasPrefix(parts[0], "@") {
		n = 2
	}
	if len(parts) < n {
		return "", nil, false
	}
	name = strings.Join(parts[:n], "/")
	return name, parts[n:], validName(name)
}

func validName(name string) bool {
	ref, err := sandbox.ParsePackageSpec(name)
	return err == nil && ref.Name == name
}

// tarballVersion reads the version from a tarball's file name, "base-1.2.3.tgz".
func tarballVersion(name, file string) (string, bool) {
	prefix := baseName(name) + "-"
	if !tarballFile.MatchString(file) || !strings.HasPrefix(file, prefix) {
		return "", false
	}
	version := strings.TrimSuffix(file[len(prefix):], ".tgz")
	return version, version != ""
}

// baseName is a package's name without its scope.
func baseName(name string) string { return name[strings.Index(name, "/")+1:] }

// tarballName is how the wall names the tarball of one version, whatever the registry calls it.
func tarballName(name, version string) string { return baseName(name) + "-" + version + ".tgz" }
