package sandbox

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// Repository is a git repository that a package comes from.
type Repository struct {
	URL    string // "https://host/org/repo": no user, no query; http only to this machine's own loopback
	Ref    string // branch, tag or commit; "" is what the repository itself shows first
	Folder string // of the package in it, relative; "" is the whole
}

var (
	repositoryPath = regexp.MustCompile(`^(/[A-Za-z0-9_~+-][A-Za-z0-9._~+-]*)+/?$`)
	repositoryRef  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+-]{0,200}$`)
	commitForm     = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// ParseRepository reads "https://host/path@ref#folder". Errors are InvalidArgument and quote nothing of it:
// a URL may hold a password.
func ParseRepository(text string) (Repository, error) {
	text, folder, _ := strings.Cut(text, "#")
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.RawQuery != "" || u.RawPath != "":
		return Repository{}, invalid("the address of its repository cannot be read; write git+https://HOST/PATH@REF")
	case u.User != nil:
		return Repository{}, invalid("the address of its repository holds a user or a token; put them into ~/.netrc (machine %s login USER password TOKEN), from where they are used outside of the sandbox", u.Hostname())
	case u.Scheme == "http" && !ownLoopback(u.Hostname()), u.Scheme != "http" && u.Scheme != "https":
		return Repository{}, invalid("repositories are fetched by https alone; write git+https://%s/…; for a private one put a token into ~/.netrc (machine %s login USER password TOKEN), from where it is used outside of the sandbox", u.Hostname(), u.Hostname())
	}
	r := Repository{Folder: strings.Trim(folder, "/")}
	where := u.Path
	if at := strings.Index(where, "@"); at >= 0 {
		where, r.Ref = where[:at], where[at+1:]
		if r.Ref == "" {
			return Repository{}, invalid("there is nothing behind the @ of its repository")
		}
	}
	if !repositoryPath.MatchString(where) || climbs(where) {
		return Repository{}, invalid("the path of its repository cannot be read")
	}
	if r.Ref != "" && (!repositoryRef.MatchString(r.Ref) || strings.Contains(r.Ref, "..") || strings.Contains(r.Ref, "//")) {
		return Repository{}, invalid("what stands behind the @ of its repository is no branch, tag or commit")
	}
	if r.Folder != "" && (!repositoryPath.MatchString("/"+r.Folder) || climbs(r.Folder)) {
		return Repository{}, invalid("the folder in its repository cannot be read")
	}
	r.URL = u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimRight(where, "/")
	return r, nil
}

func climbs(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if part == ".." || part == "." {
			return true
		}
	}
	return false
}

func ownLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Exact says whether r names one commit.
func (r Repository) Exact() bool { return IsCommit(r.Ref) }

// IsCommit says whether text is a commit's whole hash.
func IsCommit(text string) bool { return commitForm.MatchString(text) }

// String is r in the form that ParseRepository reads.
func (r Repository) String() string {
	out := r.URL
	if r.Ref != "" {
		out += "@" + r.Ref
	}
	if r.Folder != "" {
		out += "#" + r.Folder
	}
	return out
}

var gitSpec = regexp.MustCompile(`^(?:([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([A-Za-z0-9._, -]*)\])?\s*@\s*)?(git|hg|svn|bzr)\+(.+)$`)

// parseGitSpec reads "git+https://…" and "name[extra] @ git+https://…#subdirectory=folder".
func parseGitSpec(spec string) (PackageRef, error) {
	m := gitSpec.FindStringSubmatch(strings.TrimSpace(spec))
	if m == nil || m[3] != "git" {
		return PackageRef{}, invalid("it would come from a repository that is none of git's by https (git+https://HOST/PATH@REF)")
	}
	where, fragment, _ := strings.Cut(m[4], "#")
	if strings.HasPrefix(where, "git@") || strings.HasPrefix(where, "ssh://git@") {
		where = "ssh://" + strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(where, "ssh://"), "git@"), ":", "/")
	}
	folder := ""
	for _, part := range strings.Split(fragment, "&") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "subdirectory":
			folder = value
		case "egg", "":
		default:
			return PackageRef{}, invalid("%q behind the # of its repository is not known here; subdirectory=FOLDER is", key)
		}
	}
	at, err := ParseRepository(where + "#" + folder)
	if err != nil {
		return PackageRef{}, err
	}
	ref := PackageRef{Ecosystem: PyPI, Extras: extras(m[2]), Repository: at.String()}
	if m[1] != "" {
		ref.Name = PythonName(m[1])
	}
	return ref, nil
}
