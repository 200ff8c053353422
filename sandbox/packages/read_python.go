package packages

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/packages/pyproject"
)

// manifestFile is what a snapshot was installed from, as we wrote it once pip was done.
const manifestFile = "garita-files.json"

// manifest is that file.
type manifest struct {
	Python string                  `json:"python"` // "3.11"
	Files  []sandbox.PackageFile   `json:"files"`  // sorted by File
	Built  []sandbox.InstallScript `json:"built,omitempty"`
	Of
}

// Of is what an installation is of besides the files of an index; the zero Of is nothing.
type Of struct {
	// Needs is of a project or a script, whose own modules are imported from where they lie; of a file of
	// requirements where it has no name.
	Needs *pyproject.Needs `json:"needs,omitempty"`
	// Source is the repository that it came from.
	Source *Source `json:"source,omitempty"`
}

// Source is a repository's files at one commit.
type Source struct {
	Name   string         `json:"name"`   // of the project in it, in normal form
	Commit string         `json:"commit"` // 40 hex digits
	Digest sandbox.Digest `json:"digest"` // over names, kinds and contents of all files
}

// maxFetched bounds the files of one installation.
const maxFetched = 2000

// TakeFetched moves what was fetched below from to below to, where nothing else is yet, and returns it
// with the digests of its bytes. What has the name of no file of an index is refused, and so is a source
// that is none of builds.
func TakeFetched(from, to string, builds []sandbox.InstallScript, py Python) ([]sandbox.PackageFile, error) {
	source, err := os.OpenRoot(from)
	if err != nil {
		return nil, fmt.Errorf("look at what was fetched: %w", err)
	}
	defer source.Close()
	names, err := fetchedNames(source)
	if err != nil {
		return nil, fmt.Errorf("look at what was fetched: %w", err)
	}
	for _, dir := range []string{wheelsDir, pipDir} {
		if err := os.Mkdir(path.Join(to, dir), 0o755); err != nil {
			return nil, err
		}
	}
	var files []sandbox.PackageFile
	for _, name := range names {
		f, err := take(source, to, name, builds)
		if err != nil {
			return nil, fmt.Errorf("look at what was fetched: %w", err)
		}
		files = append(files, f)
	}
	return files, takePip(source, to, py)
}

func fetchedNames(source *os.Root) ([]string, error) {
	entries, err := fs.ReadDir(source.FS(), wheelsDir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, errdefs.ErrFailedPrecondition)
	}
	if len(entries) > maxFetched {
		return nil, fmt.Errorf("%d files were fetched; %d can be installed: %w", len(entries), maxFetched, errdefs.ErrFailedPrecondition)
	}
	var names []string
	for _, e := range entries { // sorted
		names = append(names, e.Name())
	}
	return names, nil
}

// take moves one file and takes its digest where nobody can change it any more.
func take(source *os.Root, to, name string, builds []sandbox.InstallScript) (sandbox.PackageFile, error) {
	project, version, wheel, ok := sandbox.ParsePythonFile(name)
	if !ok {
		return sandbox.PackageFile{}, fmt.Errorf("%q is no file of an index: %w", name, errdefs.ErrFailedPrecondition)
	}
	digest, err := move(source, wheelsDir+"/"+name, path.Join(to, wheelsDir, name))
	if err != nil {
		return sandbox.PackageFile{}, err
	}
	f := sandbox.PackageFile{Name: project, Version: version, File: name, Digest: digest}
	if !wheel && !slices.ContainsFunc(builds, func(s sandbox.InstallScript) bool { return builtFrom(s, f) }) {
		return f, &sandbox.NeedsBuild{Script: sandbox.InstallScript{Name: project, Version: version}}
	}
	return f, nil
}

func builtFrom(s sandbox.InstallScript, f sandbox.PackageFile) bool {
	return s.Name == f.Name && s.Version == f.Version && s.Integrity == string(f.Digest)
}

// move copies a regular file and returns the digest of what is there now.
func move(source *os.Root, name, to string) (sandbox.Digest, error) {
	if info, err := source.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file: %w", name, errdefs.ErrFailedPrecondition)
	}
	from, err := source.Open(name)
	if err != nil {
		return "", err
	}
	defer from.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), from)
	if err = errors.Join(err, out.Close()); err != nil {
		return "", err
	}
	return sandbox.Digest("sha256:" + hex.EncodeToString(sum.Sum(nil))), source.Remove(name)
}

// takePip moves pip, where it had to be fetched: what ran since may have changed it.
func takePip(source *os.Root, to string, py Python) error {
	if py.Pip != "" {
		return nil
	}
	digest, err := move(source, pipDir+"/"+fetchedPip.file, path.Join(to, pipDir, fetchedPip.file))
	if err == nil && digest != sandbox.Digest("sha256:"+fetchedPip.digest) {
		err = fmt.Errorf("pip is not what it was any more: %w", errdefs.ErrFailedPrecondition)
	}
	return err
}

// FinishPython writes down what dir was installed from, makes the modules of a project importable, and removes
// what only the installation needed.
func FinishPython(dir string, files []sandbox.PackageFile, builds []sandbox.InstallScript, of Of, py Python) error {
	for _, name := range []string{wheelsDir, tempDir, pipDir, manifestFile, repositoryDir} {
		if err := os.RemoveAll(path.Join(dir, name)); err != nil {
			return fmt.Errorf("clear what only the installation needed: %w", err)
		}
	}
	m := manifest{Python: py.Version, Files: files, Of: of}
	for _, b := range builds {
		if slices.ContainsFunc(files, func(f sandbox.PackageFile) bool { return builtFrom(b, f) }) || of.Source != nil && of.Source.Built(b) {
			m.Built = append(m.Built, b)
		}
	}
	if err := of.finish(dir, m.Built, py); err != nil {
		return err
	}
	text, err := json.Marshal(m, json.Deterministic(true), jsontext.Multiline(true))
	if err != nil {
		return err
	}
	return os.WriteFile(path.Join(dir, manifestFile), text, 0o444)
}

// ReadPython is Read, for a package of Python's.
func ReadPython(dir string, ref sandbox.PackageRef, py Python) (sandbox.Package, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return sandbox.Package{}, fmt.Errorf("read the package %s: %w", ref.Name, err)
	}
	defer root.Close()
	p, err := readPython(root, ref, py)
	if err != nil {
		return sandbox.Package{}, fmt.Errorf("read the package %s: %w", ref.Name, err)
	}
	return p, nil
}

func readPython(root *os.Root, ref sandbox.PackageRef, py Python) (sandbox.Package, error) {
	m, err := readManifest(root)
	if err != nil {
		return sandbox.Package{}, err
	}
	p, err := m.identity(ref)
	if err != nil {
		return sandbox.Package{}, err
	}
	ref.Name = p.Name
	entry, err := pythonEntry(root, ref, m.Python)
	if err != nil {
		return sandbox.Package{}, err
	}
	for i := range m.Built {
		m.Built[i].Ran = true
	}
	p.Ecosystem, p.Tree, p.Runtime, p.Entry = sandbox.PyPI, m.tree(), "python "+pythonVersion(root, m.Python), entry
	p.Scripts, p.Besides, p.Files, p.Interpreter = m.Built, ref.Besides(), m.Files, py.Path
	return p, nil
}

// identity is what the installation is called.
func (m manifest) identity(ref sandbox.PackageRef) (sandbox.Package, error) {
	switch {
	case m.Source != nil:
		return sandbox.Package{Name: m.Source.Name, Version: m.Source.Commit, Integrity: string(m.Source.Digest)}, nil
	case m.Needs != nil && m.Needs.Name != "":
		return sandbox.Package{Name: m.Needs.Name, Version: m.Needs.Version, Integrity: string(m.Needs.Digest()), Shown: m.Needs.Shown}, nil
	}
	at := slices.IndexFunc(m.Files, func(f sandbox.PackageFile) bool { return f.Name == ref.Name })
	if at < 0 {
		return sandbox.Package{}, fmt.Errorf("pip did not install it: %w", errdefs.ErrFailedPrecondition)
	}
	top := m.Files[at]
	return sandbox.Package{Name: top.Name, Version: top.Version, Integrity: string(top.Digest)}, nil
}

func readManifest(root *os.Root) (manifest, error) {
	raw, err := readFile(root, manifestFile, maxLock)
	if err != nil {
		return manifest{}, err
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("%s cannot be read: %v: %w", manifestFile, err, errdefs.ErrFailedPrecondition)
	}
	return m, nil
}

// PythonContents is Contents, for a package of Python's.
func PythonContents(dir string) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("list what is installed: %w", err)
	}
	defer root.Close()
	m, err := readManifest(root)
	if err != nil {
		return nil, fmt.Errorf("list what is installed: %w", err)
	}
	all := []string{"python@" + m.Python}
	for _, f := range m.Files {
		all = append(all, f.Name+"@"+f.Version)
	}
	if m.Source != nil {
		all = append(all, m.Source.Name+"@"+m.Source.Commit)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// tree is the digest over the interpreter's version and the name and digest of every file.
func (m manifest) tree() sandbox.Digest {
	lines := []string{"python " + m.Python + "\n"}
	if m.Needs != nil {
		lines = append(lines, "needs "+string(m.Needs.Digest())+"\n")
	}
	if m.Source != nil {
		lines = append(lines, "source "+m.Source.Commit+" "+string(m.Source.Digest)+"\n")
	}
	for _, f := range m.Files {
		lines = append(lines, f.File+" "+string(f.Digest)+"\n")
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return sandbox.Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// pythonVersion is the interpreter's whole version, as the environment says it: "3.11.2".
func pythonVersion(root *os.Root, short string) string {
	raw, err := readFile(root, venvDir+"/pyvenv.cfg", maxFirstLine*16)
	if err != nil {
		return short
	}
	for line := range strings.Lines(string(raw)) {
		key, value, _ := strings.Cut(line, "=")
		if value = strings.TrimSpace(value); strings.TrimSpace(key) == "version" && strings.HasPrefix(value, short+".") && len(value) < 16 {
			return value
		}
	}
	return short
}

// pythonEntry is the argv that starts the program, inside.
func pythonEntry(root *os.Root, ref sandbox.PackageRef, version string) ([]string, error) {
	const bin = sandbox.PackageRoot + "/" + venvDir + "/bin/"
	if ref.Bin == sandbox.PythonBin {
		return []string{bin + "python"}, nil
	}
	name, err := pythonScript(root, ref, version)
	if err != nil {
		return nil, err
	}
	first, err := firstLine(root, venvDir+"/bin/"+name)
	if err != nil {
		return nil, fmt.Errorf("it has no program %q: %w: %w", name, err, errdefs.ErrNotFound)
	}
	words, ok := shebang(first)
	switch {
	case !ok && strings.HasPrefix(first, "\x7fELF"):
		return []string{bin + name}, nil
	case ok && strings.HasPrefix(path.Base(words[0]), "python"):
		return slices.Concat([]string{bin + "python"}, words[1:], []string{bin + name}), nil
	case ok && (path.Base(words[0]) == "sh" || path.Base(words[0]) == "bash"):
		return slices.Concat([]string{"/bin/" + path.Base(words[0])}, words[1:], []string{bin + name}), nil
	}
	return nil, fmt.Errorf("its program %q is written for something that is not supported: %w", name, errdefs.ErrFailedPrecondition)
}

// pythonScript chooses a program: the one asked for, the one named like the package, or its only one.
func pythonScript(root *os.Root, ref sandbox.PackageRef, version string) (string, error) {
	if ref.Bin != "" {
		return ref.Bin, nil
	}
	entries, err := fs.ReadDir(root.FS(), venvDir+"/bin")
	if err != nil {
		return "", fmt.Errorf("list its programs: %w: %w", err, errdefs.ErrFailedPrecondition)
	}
	for _, e := range entries {
		if sandbox.PythonName(e.Name()) == ref.Name {
			return e.Name(), nil
		}
	}
	own := consoleScripts(root, ref.Name, version)
	switch len(own) {
	case 0:
		return "", fmt.Errorf("it has no program to start: %w", errdefs.ErrNotFound)
	case 1:
		return own[0], nil
	}
	return "", fmt.Errorf("it has no program %q; it has %s: name one with --from %s: %w", ref.Name, strings.Join(own, ", "), ref.Name, errdefs.ErrNotFound)
}

// consoleScripts are the programs that a package itself brings, sorted.
func consoleScripts(root *os.Root, name, version string) []string {
	site := venvDir + "/lib/python" + version + "/site-packages"
	entries, err := fs.ReadDir(root.FS(), site)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		stem, is := strings.CutSuffix(e.Name(), ".dist-info")
		if own, _, _ := strings.Cut(stem, "-"); !is || sandbox.PythonName(own) != name {
			continue
		}
		raw, err := readFile(root, site+"/"+e.Name()+"/entry_points.txt", maxDescription)
		if err != nil {
			return nil
		}
		return parseEntryPoints(raw)
	}
	return nil
}

// parseEntryPoints reads the names below [console_scripts].
func parseEntryPoints(raw []byte) []string {
	var out []string
	inside := false
	for line := range bytes.Lines(raw) {
		word := strings.TrimSpace(string(line))
		if strings.HasPrefix(word, "[") {
			inside = word == "[console_scripts]"
			continue
		}
		name, _, ok := strings.Cut(word, "=")
		if name = strings.TrimSpace(name); inside && ok && scriptName(name) && len(out) < maxScripts {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func scriptName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\\x00") && !strings.HasPrefix(name, "-") && len(name) < maxFirstLine
}
