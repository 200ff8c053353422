package pyproject

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/garita-dev/garita/sandbox"
)

// uvLock is what is read of a uv.lock.
type uvLock struct {
	Version  int       `toml:"version"`
	Packages []*locked `toml:"package"`
}

type locked struct {
	Name         string                  `toml:"name"`
	Version      string                  `toml:"version"`
	Source       source                  `toml:"source"`
	Dependencies []dependency            `toml:"dependencies"`
	Optional     map[string][]dependency `toml:"optional-dependencies"`
	Groups       map[string][]dependency `toml:"dev-dependencies"`
	Sdist        *lockedFile             `toml:"sdist"`
	Wheels       []lockedFile            `toml:"wheels"`
}

type source struct {
	Registry  string `toml:"registry"`
	Editable  string `toml:"editable"`
	Virtual   string `toml:"virtual"`
	Directory string `toml:"directory"`
	Git       string `toml:"git"`
	URL       string `toml:"url"`
	Path      string `toml:"path"`
}

// local is the folder of a package that lies on this machine, relative to the lock.
func (s source) local() (string, bool) {
	for _, folder := range []string{s.Editable, s.Virtual, s.Directory} {
		if folder != "" {
			return path.Clean(folder), true
		}
	}
	return "", false
}

type dependency struct {
	Name    string   `toml:"name"`
	Version string   `toml:"version"`
	Extra   []string `toml:"extra"`
	Marker  string   `toml:"marker"`
}

type lockedFile struct {
	URL  string `toml:"url"`
	Path string `toml:"path"`
	Hash string `toml:"hash"`
}

// walk goes through a lock, from what is local to what comes from an index.
type walk struct {
	lock         uvLock
	root         fs.FS
	at           string
	needs        *Needs
	seen         map[*locked]map[string]bool // which extras were followed; "" is the package itself
	requirements []string
}

func parseLock(text []byte) (uvLock, error) {
	var l uvLock
	if err := toml.Unmarshal(text, &l); err != nil {
		return l, refused("%s cannot be read: %v", lockFile, err)
	}
	if l.Version != 1 {
		return l, refused("%s is of version %d, which is not known here", lockFile, l.Version)
	}
	return l, nil
}

// byLock fills n with what a uv.lock says.
func (n *Needs) byLock(text []byte, root fs.FS, at string, f file, wish Wish) error {
	l, err := parseLock(text)
	if err != nil {
		return err
	}
	w := &walk{lock: l, root: root, at: at, needs: n, seen: map[*locked]map[string]bool{}}
	n.Pinned = map[string][]string{}
	top := slices.IndexFunc(l.Packages, func(p *locked) bool {
		folder, local := p.Source.local()
		return local && folder == "." && sandbox.PythonName(p.Name) == n.Name
	})
	if top < 0 {
		return refused("%s is not this project's; make it anew (uv lock)", lockFile)
	}
	if err := current(f, l.Packages[top]); err != nil {
		return err
	}
	if err := w.local(l.Packages[top], wish, ""); err != nil {
		return err
	}
	n.Requirements = w.requirements
	for name, digests := range n.Pinned {
		n.Pinned[name] = sorted(digests)
	}
	return nil
}

// current refuses a lock that does not know what the project needs by now.
func current(f file, top *locked) error {
	for _, one := range f.Project.Dependencies {
		name, _, found := strings.Cut(one, "@")
		if !found {
			var err error
			if name, _, err = Requirement(one); err != nil {
				return err
			}
		}
		name, _, _ = strings.Cut(strings.TrimSpace(name), "[")
		name = sandbox.PythonName(name)
		if !slices.ContainsFunc(top.Dependencies, func(d dependency) bool { return sandbox.PythonName(d.Name) == name }) {
			return refused("%s is older than %s, which needs %s; make it anew (uv lock)", lockFile, projectFile, name)
		}
	}
	return nil
}

// local follows a package that lies in the project's folder: its modules are imported from there. marker
// is when it is needed at all.
func (w *walk) local(p *locked, wish Wish, marker string) error {
	lists := [][]dependency{p.Dependencies}
	for _, extra := range selected(wish.Extras, p.Optional) {
		list, is := p.Optional[extra]
		if !is {
			return refused("%s has no extra %q", p.Name, extra)
		}
		lists = append(lists, list)
	}
	for _, group := range selected(wish.Groups, p.Groups) {
		list, is := p.Groups[group]
		if !is {
			return refused("%s has no group %q", p.Name, group)
		}
		lists = append(lists, list)
	}
	if !w.once(p, "local "+strings.Join(wish.Extras, ",")) {
		return nil
	}
	for _, d := range slices.Concat(lists...) {
		if err := w.direct(d, marker); err != nil {
			return err
		}
	}
	return nil
}

// direct follows what a local package needs itself.
func (w *walk) direct(d dependency, marker string) error {
	p, err := w.find(d)
	if err != nil {
		return err
	}
	if both := strings.TrimSpace(d.Marker); marker != "" && both != "" {
		marker = "(" + marker + ") and (" + both + ")"
	} else {
		marker += both
	}
	if folder, local := p.Source.local(); local {
		if err := w.member(folder); err != nil {
			return err
		}
		return w.local(p, Wish{Extras: d.Extra}, marker)
	}
	text := p.Name
	if len(d.Extra) > 0 {
		text += "[" + strings.Join(d.Extra, ",") + "]"
	}
	text += "==" + p.Version
	if marker != "" {
		text += " ; " + marker
	}
	_, clean, err := Requirement(text)
	if err != nil {
		return err
	}
	w.requirements = append(w.requirements, clean)
	return w.indexed(p, d.Extra)
}

// member makes the modules of another package in the project's folder importable.
func (w *walk) member(folder string) error {
	if _, ok := inside(w.at, folder); !ok {
		return refused("it needs a package from %s, outside its own folder; name the folder that holds both with --directory, and keep one uv.lock there", folder)
	}
	f, err := readFile(w.root, folder)
	if err != nil {
		return err
	}
	for _, p := range f.paths(w.root, w.at, folder) {
		if !slices.Contains(w.needs.Paths, p) {
			w.needs.Paths = append(w.needs.Paths, p)
		}
	}
	return nil
}

// indexed pins the files of a package of an index, and of all that it may need.
func (w *walk) indexed(p *locked, extras []string) error {
	if _, local := p.Source.local(); local {
		return refused("%s, which a package of an index needs, comes from a folder; only packages of an index can be installed", p.Name)
	}
	if p.Source.Registry == "" {
		return refused("%s comes from a repository or a URL; only packages of an index can be installed for a project", p.Name)
	}
	if !nameForm.MatchString(p.Name) || !versionForm.MatchString(p.Version) {
		return refused("%s has a package without a name or a version", lockFile)
	}
	var follow []dependency
	if w.once(p, "") {
		if err := w.pin(p); err != nil {
			return err
		}
		follow = p.Dependencies
	}
	for _, extra := range extras {
		if w.once(p, extra) {
			follow = append(slices.Clone(follow), p.Optional[extra]...)
		}
	}
	for _, d := range follow {
		next, err := w.find(d)
		if err != nil {
			return err
		}
		if err := w.indexed(next, d.Extra); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) once(p *locked, what string) bool {
	if w.seen[p] == nil {
		w.seen[p] = map[string]bool{}
	}
	if w.seen[p][what] {
		return false
	}
	w.seen[p][what] = true
	return true
}

func (w *walk) find(d dependency) (*locked, error) {
	for _, p := range w.lock.Packages {
		if p.Name == d.Name && (d.Version == "" || d.Version == p.Version) {
			return p, nil
		}
	}
	return nil, refused("%s does not have the package %q that it names", lockFile, d.Name)
}

// pin notes the digests of a package's files.
func (w *walk) pin(p *locked) error {
	name := sandbox.PythonName(p.Name)
	files := slices.Clone(p.Wheels)
	if p.Sdist != nil {
		files = append(files, *p.Sdist)
	}
	for _, f := range files {
		m := digestForm.FindStringSubmatch(f.Hash)
		if m == nil {
			return refused("%s has no sha256 for a file of %s", lockFile, name)
		}
		w.needs.Pinned[name] = append(w.needs.Pinned[name], m[1])
	}
	return nil
}
