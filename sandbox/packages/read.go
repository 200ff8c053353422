package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/sandbox"
)

// Bounds of what is read of an installed package, in bytes. The lock of a thousand packages is
// about half a megabyte.
const (
	maxLock        = 64 << 20
	maxDescription = 4 << 20
	maxFirstLine   = 256
)

// Read says what is installed below dir: exact version, integrity, the digest over everything that
// came along, and how its program is started. ref names the package and, where it has several, the
// program. Runtime stays empty.
//
// Kinds: FailedPrecondition for what was not installed as asked or cannot be started; NotFound when
// the package has no such program.
func Read(dir string, ref sandbox.PackageRef, tools Tools) (sandbox.Package, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return sandbox.Package{}, fmt.Errorf("read the package %s: %w", ref.Name, err)
	}
	defer root.Close()
	p, err := read(root, ref, tools)
	if err != nil {
		return sandbox.Package{}, fmt.Errorf("read the package %s: %w", ref.Name, err)
	}
	return p, nil
}

// Contents is everything installed below dir, "name@version" each, sorted.
func Contents(dir string) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("list what is installed: %w", err)
	}
	defer root.Close()
	l, err := readLock(root)
	if err != nil {
		return nil, fmt.Errorf("list what is installed: %w", err)
	}
	var all []string
	for where, p := range l.Packages {
		all = append(all, p.nameAt(where)+"@"+p.Version)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func read(root *os.Root, ref sandbox.PackageRef, tools Tools) (sandbox.Package, error) {
	lock, err := readLock(root)
	if err != nil {
		return sandbox.Package{}, err
	}
	tree, err := lock.tree()
	if err != nil {
		return sandbox.Package{}, err
	}
	top, ok := lock.Packages["node_modules/"+ref.Name]
	if !ok {
		return sandbox.Package{}, fmt.Errorf("npm did not install it: %w", errdefs.ErrFailedPrecondition)
	}
	entry, err := findEntry(root, ref, tools)
	if err != nil {
		return sandbox.Package{}, err
	}
	scripts, err := lock.scripts(root)
	if err != nil {
		return sandbox.Package{}, err
	}
	return sandbox.Package{
		Ecosystem: ref.Ecosystem, Name: ref.Name, Version: top.Version, Integrity: top.Integrity, Tree: tree, Entry: entry, Scripts: scripts,
	}, nil
}

// lock is npm's hidden lock file: what it really installed.
type lock struct {
	Packages map[string]locked `json:"packages"`
}

type locked struct {
	Name      string `json:"name"` // only where it differs from the folder's
	Version   string `json:"version"`
	Integrity string `json:"integrity"`
	Resolved  string `json:"resolved"`
	Link      bool   `json:"link"`
	InBundle  bool   `json:"inBundle"` // came inside another one's tarball
	Scripts   bool   `json:"hasInstallScript"`
}

func readLock(root *os.Root) (lock, error) {
	raw, err := readFile(root, "node_modules/.package-lock.json", maxLock)
	if err != nil {
		return lock{}, err
	}
	var l lock
	if err := json.Unmarshal(raw, &l); err != nil {
		return lock{}, fmt.Errorf("npm's lock cannot be read: %v: %w", err, errdefs.ErrFailedPrecondition)
	}
	return l, nil
}

// tree is the digest over name, version and integrity of everything installed, sorted. What came
// from elsewhere than the registry is refused: it has no integrity.
func (l lock) tree() (sandbox.Digest, error) {
	var lines []string
	for where, p := range l.Packages {
		name := p.nameAt(where)
		if p.Link || p.Version == "" || p.Integrity == "" && !p.InBundle {
			return "", fmt.Errorf("%s does not come from the registry: %w", name, errdefs.ErrFailedPrecondition)
		}
		lines = append(lines, name+"@"+p.Version+" "+p.Integrity+"\n")
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return sandbox.Digest("sha256:" + hex.EncodeToString(sum[:])), nil
}

func (p locked) nameAt(where string) string {
	if p.Name != "" {
		return p.Name
	}
	return where[strings.LastIndex(where, "node_modules/")+len("node_modules/"):]
}

// findEntry is the argv that starts the package's program, inside.
func findEntry(root *os.Root, ref sandbox.PackageRef, tools Tools) ([]string, error) {
	folder := "node_modules/" + ref.Name
	pkg, err := root.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open its folder: %w: %w", err, errdefs.ErrFailedPrecondition)
	}
	defer pkg.Close()
	raw, err := readFile(pkg, "package.json", maxDescription)
	if err != nil {
		return nil, err
	}
	script, err := findBin(raw, ref)
	if err != nil {
		return nil, err
	}
	first, err := firstLine(pkg, script)
	if err != nil {
		return nil, fmt.Errorf("open its program %q: %w: %w", script, err, errdefs.ErrFailedPrecondition)
	}
	return command(first, path.Join(sandbox.PackageRoot, folder, script), tools)
}

// findBin chooses a program of package.json: the one asked for, the only one, or the one named
// like the package.
func findBin(raw []byte, ref sandbox.PackageRef) (string, error) {
	bins, err := parseBins(raw, ref)
	if err != nil {
		return "", err
	}
	base := ref.Name[strings.Index(ref.Name, "/")+1:]
	script, ok := bins[base]
	switch {
	case ref.Bin != "":
		script, ok = bins[ref.Bin]
	case len(bins) == 1:
		for _, script = range bins {
			ok = true
		}
	}
	if !ok {
		return "", noSuchBin(bins, ref)
	}
	script = path.Clean(script)
	if path.IsAbs(script) || script == "." || script == ".." || strings.HasPrefix(script, "../") || strings.ContainsRune(script, 0) {
		return "", fmt.Errorf("its program %q is outside of it: %w", script, errdefs.ErrFailedPrecondition)
	}
	return script, nil
}

func noSuchBin(bins map[string]string, ref sandbox.PackageRef) error {
	if len(bins) == 0 {
		return fmt.Errorf("it has no program to start: %w", errdefs.ErrNotFound)
	}
	var names []string
	for name := range bins {
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Errorf("it has no program %q; it has %s: %w", ref.Bin, strings.Join(names, ", "), errdefs.ErrNotFound)
}

// tolerant reads what node reads: the last of equal names, and broken letters.
var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// parseBins reads "bin", which is a path or a table of them.
func parseBins(raw []byte, ref sandbox.PackageRef) (map[string]string, error) {
	var one struct {
		Bin string `json:"bin"`
	}
	if json.Unmarshal(raw, &one, tolerant) == nil && one.Bin != "" {
		return map[string]string{ref.Name[strings.Index(ref.Name, "/")+1:]: one.Bin}, nil
	}
	var many struct {
		Bin map[string]string `json:"bin"`
	}
	if err := json.Unmarshal(raw, &many, tolerant); err != nil {
		return nil, fmt.Errorf("its package.json cannot be read: %v: %w", err, errdefs.ErrFailedPrecondition)
	}
	return many.Bin, nil
}

// command starts a script by what its first line says; node scripts directly by node.
func command(first, script string, tools Tools) ([]string, error) {
	words, ok := shebang(first)
	if !ok {
		if strings.HasPrefix(first, "\x7fELF") {
			return []string{script}, nil
		}
		return []string{tools.Node, script}, nil
	}
	switch interpreter := path.Base(words[0]); interpreter {
	case "node", "nodejs":
		return slices.Concat([]string{tools.Node}, words[1:], []string{script}), nil
	case "sh", "bash":
		return slices.Concat([]string{"/bin/" + interpreter}, words[1:], []string{script}), nil
	default:
		return nil, fmt.Errorf("its program is written for %s, which is not supported: %w", interpreter, errdefs.ErrFailedPrecondition)
	}
}

// shebang is the interpreter a first line names, with its arguments; env is looked through.
func shebang(first string) ([]string, bool) {
	rest, ok := strings.CutPrefix(first, "#!")
	if !ok {
		return nil, false
	}
	words := strings.Fields(rest)
	if len(words) > 1 && path.Base(words[0]) == "env" {
		words = words[1:]
		if words[0] == "-S" || words[0] == "--split-string" {
			words = words[1:]
		}
	}
	return words, len(words) > 0
}

func firstLine(root *os.Root, name string) (string, error) {
	f, err := openRegular(root, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, maxFirstLine))
	line, _, _ := strings.Cut(string(head), "\n")
	return strings.TrimSuffix(strings.TrimPrefix(line, "\ufeff"), "\r"), err
}

func readFile(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := openRegular(root, name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w: %w", name, err, errdefs.ErrFailedPrecondition)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		err = fmt.Errorf("%s is too large: %w", name, errdefs.ErrFailedPrecondition)
	}
	return raw, err
}

// openRegular opens a regular file. root refuses links out of it; a FIFO or a device would make
// reading wait or act.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return root.Open(name)
}
