// Package pyindex understands what an index of Python packages says: the files of a project, as JSON
// (PEP 691, 700) or HTML (PEP 503, 592), where their metadata is by itself (PEP 658, 714), and what a source distribution would run when it is built.
//
// All of it is pure, and all that it reads is hostile: a file whose name, address or digest is not
// exactly what it should be does not exist, and what comes out is written anew from what was understood.
package pyindex

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/html"

	"github.com/garita-dev/garita/sandbox"
)

// The forms a page may have. Accept asks for them, the JSON first.
const (
	JSON   = "application/vnd.pypi.simple.v1+json"
	Accept = JSON + ", application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
)

// maxFiles bounds the files of one project; the most on PyPI is some ten thousand.
const maxFiles = 100_000

// File is one file of a project.
type File struct {
	Name     string    `json:"name"` // "demo-1.0-py3-none-any.whl"
	Version  string    `json:"version"`
	Wheel    bool      `json:"wheel,omitempty"`
	URL      string    `json:"url"`                // absolute, without a fragment
	SHA256   string    `json:"sha256,omitempty"`   // 64 hex digits; "" where the index tells none
	Requires string    `json:"requires,omitempty"` // of the interpreter: ">=3.10"
	Yanked   bool      `json:"yanked,omitempty"`   // its publisher has taken it back
	At       time.Time `json:"at,omitzero"`        // when it was published; zero where the index does not tell
	Metadata string    `json:"metadata,omitempty"` // the sha256 of its metadata, which lies beside it; "" where there is none by itself
}

// MetadataSuffix is what the name of a wheel's metadata has behind the wheel's.
const MetadataSuffix = ".metadata"

// Page is the files of a project, in the index's order, each name once.
type Page struct {
	Project string `json:"project"` // in normal form
	Files   []File `json:"files"`
	Timed   bool   `json:"timed,omitempty"` // the index tells when files were published
}

// Parse reads the page of a project that came from at with that content type.
func Parse(project, contentType string, at *url.URL, r io.Reader) (Page, error) {
	kind, _, _ := strings.Cut(contentType, ";")
	var all []found
	var err error
	if kind = strings.TrimSpace(strings.ToLower(kind)); kind == JSON || kind == "application/json" {
		all, err = parseJSON(r)
	} else {
		all, err = parseHTML(r)
	}
	if err != nil {
		return Page{}, fmt.Errorf("read the index's page of %s: %w", project, err)
	}
	return newPage(project, at, all), nil
}

// found is a file as the index names it.
type found struct {
	name, address, sha256, requires string
	yanked                          bool
	at, metadata                    string
}

func newPage(project string, at *url.URL, all []found) Page {
	p := Page{Project: project}
	seen := map[string]bool{}
	for _, f := range all {
		file, ok := f.check(project, at)
		if !ok || seen[file.Name] {
			continue
		}
		seen[file.Name] = true
		p.Timed = p.Timed || !file.At.IsZero()
		p.Files = append(p.Files, file)
	}
	return p
}

var (
	hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)
	requires  = regexp.MustCompile(`^[0-9A-Za-z.*+!<>=~, _-]{0,200}$`)
)

// check is the file that f is, if it is one.
func (f found) check(project string, at *url.URL) (File, bool) {
	version, wheel, ok := ParseName(project, f.name)
	u, err := at.Parse(f.address)
	if !ok || err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return File{}, false
	}
	if sum, ok := strings.CutPrefix(u.Fragment, "sha256="); ok && f.sha256 == "" {
		f.sha256 = sum
	}
	f.sha256 = strings.ToLower(f.sha256)
	if f.sha256 != "" && !hexDigest.MatchString(f.sha256) || !requires.MatchString(f.requires) {
		return File{}, false
	}
	u.Fragment = ""
	if f.metadata = strings.ToLower(f.metadata); !wheel || !hexDigest.MatchString(f.metadata) {
		f.metadata = "" // what nobody vouches for is not used: it is in the wheel as well
	}
	published, _ := time.Parse(time.RFC3339, f.at)
	return File{
		Name: f.name, Version: version, Wheel: wheel, URL: u.String(), SHA256: f.sha256,
		Requires: f.requires, Yanked: f.yanked, At: published, Metadata: f.metadata,
	}, true
}

// tolerant reads what Python reads: the last of equal names, and broken letters.
var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func parseJSON(r io.Reader) ([]found, error) {
	var page struct {
		Meta struct {
			Version string `json:"api-version"`
		} `json:"meta"`
		Files []struct {
			Filename string            `json:"filename"`
			URL      string            `json:"url"`
			Hashes   map[string]string `json:"hashes"`
			Requires *string           `json:"requires-python"`
			Yanked   jsontext.Value    `json:"yanked"`
			Uploaded *string           `json:"upload-time"`
			Core     jsontext.Value    `json:"core-metadata"`
			Info     jsontext.Value    `json:"dist-info-metadata"`
			Older    jsontext.Value    `json:"data-dist-info-metadata"`
		} `json:"files"`
	}
	if err := json.UnmarshalRead(r, &page, tolerant); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(page.Meta.Version, "1.") {
		return nil, errors.New("it is of another version than 1")
	}
	if len(page.Files) > maxFiles {
		return nil, errors.New("there are too many files")
	}
	out := make([]found, 0, len(page.Files))
	for _, f := range page.Files {
		out = append(out, found{
			name: f.Filename, address: f.URL, sha256: f.Hashes["sha256"], requires: text(f.Requires),
			yanked: len(f.Yanked) > 0 && string(f.Yanked) != "false", at: text(f.Uploaded), metadata: cmp.Or(metadataOf(f.Core), metadataOf(f.Info), metadataOf(f.Older)),
		})
	}
	return out, nil
}

// metadataOf is the digest in {"sha256": …}; "" for true, false and anything else.
func metadataOf(v jsontext.Value) string {
	var hashes struct {
		SHA256 string `json:"sha256"`
	}
	if v.Kind() != '{' || json.Unmarshal(v, &hashes, tolerant) != nil {
		return ""
	}
	return hashes.SHA256
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// parseHTML reads the links of a page.
func parseHTML(r io.Reader) ([]found, error) {
	var out []found
	z := html.NewTokenizer(r)
	z.SetMaxBuf(1 << 20)
	var link *found
	for {
		switch z.Next() {
		case html.ErrorToken:
			if errors.Is(z.Err(), io.EOF) {
				return out, nil
			}
			return nil, z.Err()
		case html.StartTagToken:
			if token := z.Token(); token.Data == "a" {
				link = linkOf(token)
			}
		case html.TextToken:
			if link != nil {
				link.name += string(z.Text())
			}
		case html.EndTagToken:
			if token := z.Token(); token.Data == "a" && link != nil {
				link.name = strings.TrimSpace(link.name)
				out, link = append(out, *link), nil
			}
		default:
		}
		if len(out) > maxFiles {
			return nil, errors.New("there are too many files")
		}
	}
}

func linkOf(token html.Token) *found {
	link := &found{}
	for _, a := range token.Attr {
		switch a.Key {
		case "href":
			link.address = a.Val
		case "data-requires-python":
			link.requires = a.Val
		case "data-yanked":
			link.yanked = true
		case "data-core-metadata", "data-dist-info-metadata":
			if digest, ok := strings.CutPrefix(a.Val, "sha256="); ok {
				link.metadata = digest
			}
		}
	}
	return link
}

// ParseName reads the version from a file's name; ok says that it is a wheel or a source distribution
// of exactly that project.
func ParseName(project, name string) (version string, wheel, ok bool) {
	its, version, wheel, ok := sandbox.ParsePythonFile(name)
	return version, wheel, ok && its == project
}

// Fits says whether a wheel can be for a machine like this one, by its platform alone.
func (f File) Fits() bool {
	platform := f.Name[strings.LastIndex(f.Name, "-")+1:]
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return f.Wheel && (platform == "any.whl" || strings.Contains(platform, "linux") && strings.Contains(platform, machine))
}

// Write writes the page as JSON, with the address that place gives each file.
func (p Page) Write(w io.Writer, place func(File) string) error {
	type hashes struct {
		SHA256 string `json:"sha256,omitempty"`
	}
	type file struct {
		Filename string  `json:"filename"`
		URL      string  `json:"url"`
		Hashes   hashes  `json:"hashes"`
		Requires string  `json:"requires-python,omitempty"`
		Core     *hashes `json:"core-metadata,omitempty"`
		Older    *hashes `json:"data-dist-info-metadata,omitempty"`
	}
	out := struct {
		Meta struct {
			Version string `json:"api-version"`
		} `json:"meta"`
		Name  string `json:"name"`
		Files []file `json:"files"`
	}{Name: p.Project, Files: []file{}}
	out.Meta.Version = "1.0"
	for _, f := range p.Files {
		one := file{Filename: f.Name, URL: place(f), Hashes: hashes{f.SHA256}, Requires: f.Requires}
		if f.Metadata != "" {
			one.Core, one.Older = &hashes{f.Metadata}, &hashes{f.Metadata}
		}
		out.Files = append(out.Files, one)
	}
	return json.MarshalWrite(w, out)
}
