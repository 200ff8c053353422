package packages

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// Folders below a package's root: what git works in, and a repository's files.
const (
	repositoryDir = ".repository"
	sourceDir     = "source"
)

// SourceRoot is where a repository's files are, inside.
const SourceRoot = packageRoot + "/" + sourceDir

// gitScript fetches one commit and writes its files and its hash. The user's and the machine's settings of
// git do not count, no program of the repository's is run, and nothing but http reaches out.
const gitScript = `root=$1 url=$2 ref=$3
git init -q "$root/.repository"
cd "$root/.repository"
git fetch -q --depth=1 --no-tags --no-recurse-submodules --no-write-fetch-head "$url" "$ref:refs/garita" 2>"$root/said" || { sed 's/^/git: /' "$root/said" >&2; exit 1; }
git rev-parse --verify 'refs/garita^{commit}' >"$root/commit"
git read-tree 'refs/garita^{commit}'
mkdir "$root/source"
git -c core.symlinks=true checkout-index -a -q --prefix="$root/source/"`

// NewClonePlan is how git fetches ref ("" is HEAD) of the repository that is answered for at address
// (HOST:PORT). Kind: FailedPrecondition where this machine has no git.
func NewClonePlan(ref, address string) (Plan, error) {
	if !isProgram("/usr/bin/git") {
		return Plan{}, fmt.Errorf("there is no git in /usr/bin, and packages that come from repositories need it; install it from your distribution: %w", errdefs.ErrFailedPrecondition)
	}
	if ref == "" {
		ref = "HEAD"
	}
	return Plan{
		Argv: []string{"/bin/sh", "-ec", gitScript, "garita", packageRoot, "http://" + address + "/repository", ref},
		Env: map[string]string{
			"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0",
			"GIT_ALLOW_PROTOCOL": "http", "GIT_LFS_SKIP_SMUDGE": "1", "GIT_TEMPLATE_DIR": "", "LC_ALL": "C",
		},
	}, nil
}

// Bounds of a repository's files.
const (
	maxTreeFiles = 200_000
	maxTreeBytes = 2 << 30
)

// lfsPointer is how a file begins whose content is kept elsewhere.
var lfsPointer = []byte("version https://git-lfs.github.com/spec/v1\n")

// TakeTree copies the files of a repository that was fetched below from to below to, as the data they are,
// and returns the commit and the digest over names, kinds and contents of all of them. What is not in the
// commit itself is refused (FailedPrecondition): submodules, and files of Git LFS.
func TakeTree(from, to string) (commit string, digest sandbox.Digest, err error) {
	source, err := os.OpenRoot(from)
	if err != nil {
		return "", "", fmt.Errorf("look at a repository: %w", err)
	}
	defer source.Close()
	raw, err := readFile(source, "commit", maxFirstLine)
	if err != nil {
		return "", "", fmt.Errorf("look at a repository: %w", err)
	}
	if commit = strings.TrimSpace(string(raw)); !sandbox.IsCommit(commit) {
		return "", "", fmt.Errorf("look at a repository: git does not say which commit it has fetched (repositories with other hashes than sha1 are not supported): %w", errdefs.ErrFailedPrecondition)
	}
	target, err := os.OpenRoot(to)
	if err != nil {
		return "", "", err
	}
	defer target.Close()
	t := &taking{from: source, to: target, sum: sha256.New()}
	if err := fs.WalkDir(source.FS(), sourceDir, t.entry); err != nil {
		return "", "", fmt.Errorf("look at a repository: %w", err)
	}
	return commit, sandbox.Digest("sha256:" + hex.EncodeToString(t.sum.Sum(nil))), nil
}

// taking is a tree on its way.
type taking struct {
	from, to *os.Root
	sum      hash.Hash
	files    int
	bytes    int64
}

func (t *taking) entry(name string, e fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if t.files++; t.files > maxTreeFiles {
		return fmt.Errorf("it has more than %d files: %w", maxTreeFiles, errdefs.ErrFailedPrecondition)
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(name, sourceDir), "/")
	if path.Base(name) == ".gitmodules" && path.Dir(rel) == "." {
		return fmt.Errorf("it has submodules, which are other repositories; only what is in the commit itself can be installed: %w", errdefs.ErrFailedPrecondition)
	}
	info, err := e.Info()
	if err != nil {
		return err
	}
	switch {
	case e.IsDir():
		return t.to.Mkdir(name, 0o755) // git knows no folders: they are in the names of files
	case info.Mode()&fs.ModeSymlink != 0:
		return t.link(name, rel)
	case info.Mode().IsRegular():
		return t.file(name, rel, info.Mode()&0o100 != 0)
	}
	return fmt.Errorf("%q is neither a file nor a link: %w", rel, errdefs.ErrFailedPrecondition)
}

func (t *taking) link(name, rel string) error {
	where, err := t.from.Readlink(name)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.sum, "link %q %q\n", rel, where)
	return t.to.Symlink(where, name)
}

func (t *taking) file(name, rel string, executable bool) error {
	in, err := t.from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	mode := fs.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	out, err := t.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	sum, first := sha256.New(), &beginning{}
	n, err := io.Copy(io.MultiWriter(out, sum, first), io.LimitReader(in, maxTreeBytes-t.bytes+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if t.bytes += n; t.bytes > maxTreeBytes {
		return fmt.Errorf("it is larger than %d bytes: %w", int64(maxTreeBytes), errdefs.ErrFailedPrecondition)
	}
	if bytes.HasPrefix(first.text, lfsPointer) {
		return fmt.Errorf("%q is kept by Git LFS, outside of the commit; only what is in the commit itself can be installed: %w", rel, errdefs.ErrFailedPrecondition)
	}
	fmt.Fprintf(t.sum, "file %q %t %x\n", rel, executable, sum.Sum(nil))
	return nil
}

// beginning keeps the first bytes.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	if room := len(lfsPointer) - len(b.text); room > 0 {
		b.text = append(b.text, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// Built says whether b is the build of s.
func (s Source) Built(b sandbox.InstallScript) bool {
	return b.Name == s.Name && b.Version == s.Commit && b.Integrity == string(s.Digest)
}

// SourceScript is what building the project in a folder of a repository would run, as far as its own words
// say: setup.py and the settings of its build.
func SourceScript(folder fs.FS) (string, error) {
	var all []string
	for _, name := range []string{"setup.py", "pyproject.toml", "setup.cfg"} {
		f, err := folder.Open(name)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(f, maxScriptText+1))
		_ = f.Close()
		if err != nil {
			return "", err
		}
		all = append(all, name+":\n"+strings.TrimRight(string(text), "\n"))
	}
	text := strings.Join(all, "\n\n")
	switch {
	case len(all) == 0:
		return "", fmt.Errorf("it has neither setup.py nor pyproject.toml: no Python package is there (for one in a folder: #subdirectory=FOLDER): %w", errdefs.ErrFailedPrecondition)
	case len(text) > maxScriptText:
		return "", fmt.Errorf("what building it would run is %d bytes long; %d can be shown: %w", len(text), maxScriptText, errdefs.ErrFailedPrecondition)
	}
	return text, nil
}

// sourceVersions are what the usual tools that read a version from git's history take instead of it.
func sourceVersions(env map[string]string, commit string) map[string]string {
	version := "0+g" + commit[:12]
	for _, name := range []string{"SETUPTOOLS_SCM_PRETEND_VERSION", "PBR_VERSION", "UV_DYNAMIC_VERSIONING_BYPASS", "POETRY_DYNAMIC_VERSIONING_BYPASS", "PDM_BUILD_SCM_VERSION"} {
		env[name] = version
	}
	return env
}

// Versioned is p with what the build of that commit is called.
func (p Plan) Versioned(commit string) Plan {
	p.Env = sourceVersions(p.Env, commit)
	return p
}
