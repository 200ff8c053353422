package sandboxtest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Index is an index of Python packages on the loopback, for tests. Fields may be changed before what
// they are about is asked for.
type Index struct {
	*httptest.Server
	// HTML makes it speak the older form alone (PEP 503), which tells no times.
	HTML bool
	// User and Password are wanted where they are set.
	User, Password string

	mu    sync.Mutex // guards the fields below
	files map[string]*IndexFile
	paths []string // what was asked for
}

// IndexFile is one file of an Index. Every field may be changed, to tell lies.
type IndexFile struct {
	Project string
	Name    string
	Body    []byte
	Digest  string // in hex, as the page tells it; "" tells none
	URL     string // "" is where it is
	Yanked  bool
	At      time.Time // zero tells none
	// Metadata is a wheel's by itself, and MetadataDigest what the page tells of it; "" tells of none.
	Metadata       []byte
	MetadataDigest string
}

// NewIndex starts one, without any file. It ends with the test.
func NewIndex(t testing.TB) *Index {
	t.Helper()
	x := &Index{files: map[string]*IndexFile{}}
	x.Server = httptest.NewServer(x)
	t.Cleanup(x.Close)
	return x
}

// Simple is the URL to configure.
func (x *Index) Simple() string { return x.URL + "/simple" }

// Paths is what was asked for until now.
func (x *Index) Paths() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.paths)
}

// Wheel is a wheel to publish.
type Wheel struct {
	Name, Version string
	Requires      []string          // "dep>=1"
	Scripts       map[string]string // "demo": "demo:main"
	Files         map[string]string // "demo.py" to its text
	Tag           string            // "" means "py3-none-any"
	Extra         string            // further lines of its METADATA
}

// Publish adds a wheel, published long ago.
func (x *Index) Publish(t testing.TB, w Wheel) *IndexFile {
	t.Helper()
	if w.Tag == "" {
		w.Tag = "py3-none-any"
	}
	stem := strings.ReplaceAll(w.Name, "-", "_") + "-" + w.Version
	info := stem + ".dist-info/"
	files := maps.Clone(w.Files)
	if files == nil {
		files = map[string]string{}
	}
	metadata := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n%s", w.Name, w.Version, w.Extra)
	for _, r := range w.Requires {
		metadata += "Requires-Dist: " + r + "\n"
	}
	entries := "[console_scripts]\n"
	for _, name := range slices.Sorted(maps.Keys(w.Scripts)) {
		entries += name + " = " + w.Scripts[name] + "\n"
	}
	files[info+"METADATA"], files[info+"entry_points.txt"] = metadata, entries
	files[info+"WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: " + w.Tag + "\n"
	record := ""
	for _, name := range slices.Sorted(maps.Keys(files)) {
		record += name + ",,\n"
	}
	files[info+"RECORD"] = record + info + "RECORD,,\n"
	return x.add(w.Name, stem+"-"+w.Tag+".whl", zipped(t, files), []byte(metadata))
}

// Source adds a source distribution, published long ago.
func (x *Index) Source(t testing.TB, name, version string, files map[string]string) *IndexFile {
	t.Helper()
	stem := name + "-" + version
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: stem + "/" + file, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[file]))}); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(files[file]))
	}
	_, _ = w.Close(), z.Close()
	return x.add(name, stem+".tar.gz", out.Bytes(), nil)
}

func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(files[name]))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// add serves a file, with its metadata by itself where that is not nil.
func (x *Index) add(project, name string, body, metadata []byte) *IndexFile {
	f := &IndexFile{Project: project, Name: name, Body: body, Digest: hexDigest(body), At: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	if metadata != nil {
		f.Metadata, f.MetadataDigest = metadata, hexDigest(metadata)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files[name] = f
	return f
}

func hexDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ServeHTTP answers for pages and files.
func (x *Index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.paths = append(x.paths, r.RequestURI)
	if user, password, _ := r.BasicAuth(); user != x.User || password != x.Password {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if project, ok := strings.CutPrefix(r.URL.Path, "/simple/"); ok {
		x.page(w, strings.TrimSuffix(project, "/"))
		return
	}
	name, metadata := strings.CutSuffix(path.Base(r.URL.Path), ".metadata")
	f := x.files[name]
	switch {
	case f == nil || metadata && f.Metadata == nil:
		http.NotFound(w, r)
		return
	case metadata:
		_, _ = w.Write(f.Metadata)
		return
	}
	_, _ = w.Write(f.Body)
}

func (x *Index) page(w http.ResponseWriter, project string) {
	var files []*IndexFile
	for _, name := range slices.Sorted(maps.Keys(x.files)) {
		if f := x.files[name]; f.Project == project {
			files = append(files, f)
		}
	}
	switch {
	case len(files) == 0:
		w.WriteHeader(http.StatusNotFound)
	case x.HTML:
		w.Header().Set("Content-Type", "text/html")
		for _, f := range files {
			yanked := ""
			if f.Yanked {
				yanked = ` data-yanked=""`
			}
			if f.MetadataDigest != "" {
				yanked += ` data-core-metadata="sha256=` + f.MetadataDigest + `" data-dist-info-metadata="sha256=` + f.MetadataDigest + `"`
			}
			fmt.Fprintf(w, "<a href=\"%s#sha256=%s\"%s>%s</a>\n", html.EscapeString(x.place(f)), f.Digest, yanked, html.EscapeString(f.Name))
		}
	default:
		w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
		_ = json.NewEncoder(w).Encode(map[string]any{"meta": map[string]string{"api-version": "1.1"}, "name": project, "files": x.described(files)})
	}
}

func (x *Index) place(f *IndexFile) string {
	if f.URL != "" {
		return f.URL
	}
	return "/files/" + f.Project + "/" + f.Name
}

func (x *Index) described(files []*IndexFile) []map[string]any {
	var out []map[string]any
	for _, f := range files {
		hashes := map[string]string{}
		if f.Digest != "" {
			hashes["sha256"] = f.Digest
		}
		one := map[string]any{"filename": f.Name, "url": x.place(f), "hashes": hashes, "yanked": f.Yanked}
		if !f.At.IsZero() {
			one["upload-time"] = f.At.Format(time.RFC3339)
		}
		if f.MetadataDigest != "" {
			one["core-metadata"] = map[string]string{"sha256": f.MetadataDigest}
			one["data-dist-info-metadata"] = one["core-metadata"]
		}
		out = append(out, one)
	}
	return out
}
