package sandboxtest

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Repository is a repository of git's, served on the loopback by git's own program (git http-backend).
type Repository struct {
	*httptest.Server
	// User and Password are wanted where they are set; Moved is where every request is sent on to.
	User, Password, Moved string

	dir string
	cgi http.Handler
	mu  sync.Mutex // guards paths
	got []string
}

// gitBackend is where distributions have it.
const gitBackend = "/usr/lib/git-core/git-http-backend"

// NewRepository makes one without a commit. It ends with the test.
func NewRepository(t testing.TB) *Repository {
	t.Helper()
	if _, err := os.Stat(gitBackend); err != nil {
		t.Fatalf("%v: ./task setup test installs git", err)
	}
	r := &Repository{dir: filepath.Join(t.TempDir(), "work")}
	r.git(t, "", "init", "-q", "-b", "main", r.dir)
	r.cgi = &cgi.Handler{Path: gitBackend, Env: []string{
		"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}, InheritEnv: []string{"PATH"}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// Address is what a command names, without "git+".
func (r *Repository) Address() string { return r.URL + "/org/tools" }

// Commit replaces all files by these, and returns the commit's hash. A file named in links is a link to what
// its text says.
func (r *Repository) Commit(t testing.TB, files map[string]string, links ...string) string {
	t.Helper()
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			_ = os.RemoveAll(filepath.Join(r.dir, e.Name()))
		}
	}
	for name, text := range files {
		file := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(links, name) {
			err = os.Symlink(text, file)
		} else {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.git(t, r.dir, "add", "-A", "-f")
	r.git(t, r.dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "x")
	return r.git(t, r.dir, "rev-parse", "HEAD")
}

// Tag names the newest commit.
func (r *Repository) Tag(t testing.TB, name string) {
	t.Helper()
	r.git(t, r.dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "tag", "-f", "-a", "-m", "x", name)
}

func (r *Repository) git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Paths is what was asked for until now.
func (r *Repository) Paths() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// ServeHTTP answers git.
func (r *Repository) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.got = append(r.got, q.Method+" "+q.RequestURI)
	r.mu.Unlock()
	rest, ok := strings.CutPrefix(q.URL.Path, "/org/tools")
	user, password, _ := q.BasicAuth()
	switch {
	case !ok:
		http.NotFound(w, q)
	case r.Moved != "" && !strings.HasPrefix(rest, ".git"):
		http.Redirect(w, q, r.Moved+rest+"?"+q.URL.RawQuery, http.StatusMovedPermanently)
	case user != r.User || password != r.Password:
		w.WriteHeader(http.StatusUnauthorized)
	default:
		q = q.Clone(q.Context())
		q.URL.Path = "/work" + strings.TrimPrefix(rest, ".git")
		r.cgi.ServeHTTP(w, q)
	}
}
