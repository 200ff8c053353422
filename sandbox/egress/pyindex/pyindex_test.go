package pyindex

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

var (
	at  = &url.URL{Scheme: "https", Host: "index.example", Path: "/simple/demo/"}
	sum = strings.Repeat("ab", 32)
)

func parse(t *testing.T, kind, body string) Page {
	t.Helper()
	p, err := Parse("demo", kind, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPagesOfBothKinds(t *testing.T) {
	want := Page{Project: "demo", Files: []File{
		{Name: "Demo-1.0-py3-none-any.whl", Version: "1.0", Wheel: true, URL: "https://index.example/files/Demo-1.0-py3-none-any.whl", SHA256: sum, Requires: ">=3.8"},
		{Name: "demo-1.1.tar.gz", Version: "1.1", URL: "https://files.example/demo-1.1.tar.gz", Yanked: true},
	}}
	got := parse(t, "text/html; charset=utf-8", `<!DOCTYPE html><html><body><h1>demo</h1>
<a href="../../files/Demo-1.0-py3-none-any.whl#sha256=`+sum+`" data-requires-python="&gt;=3.8">Demo-1.0-py3-none-any.whl</a><br>
<a href="https://files.example/demo-1.1.tar.gz" data-yanked="broken">demo-1.1.tar.gz</a></body></html>`)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("HTML (-got +want):\n%s", diff)
	}
	want.Timed, want.Files[0].At = true, time.Date(2026, 1, 2, 3, 4, 5, 600000000, time.UTC)
	got = parse(t, JSON, `{"meta":{"api-version":"1.1"},"name":"demo","files":[
{"filename":"Demo-1.0-py3-none-any.whl","url":"/files/Demo-1.0-py3-none-any.whl","hashes":{"sha256":"`+strings.ToUpper(sum)+`"},"requires-python":">=3.8","upload-time":"2026-01-02T03:04:05.600Z","size":3},
{"filename":"demo-1.1.tar.gz","url":"https://files.example/demo-1.1.tar.gz","hashes":{},"yanked":"broken","requires-python":null}]}`)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("JSON (-got +want):\n%s", diff)
	}
	var out bytes.Buffer
	if err := got.Write(&out, func(f File) string { return "/f/" + f.Name }); err != nil {
		t.Fatal(err)
	}
	const says = `{"meta":{"api-version":"1.0"},"name":"demo","files":[{"filename":"Demo-1.0-py3-none-any.whl","url":"/f/Demo-1.0-py3-none-any.whl","hashes":{"sha256":"SUM"},"requires-python":">=3.8"},{"filename":"demo-1.1.tar.gz","url":"/f/demo-1.1.tar.gz","hashes":{}}]}`
	if diff := cmp.Diff(out.String(), strings.ReplaceAll(says, "SUM", sum)); diff != "" {
		t.Errorf("written (-got +want):\n%s", diff)
	}
}

func TestFilesThatDoNotExist(t *testing.T) {
	for name, link := range map[string]string{
		"a path in its name":   `<a href="/x/demo-1.0-py3-none-any.whl">../demo-1.0-py3-none-any.whl</a>`,
		"another project's":    `<a href="/x">requests-1.0-py3-none-any.whl</a>`,
		"another one's prefix": `<a href="/x">demo-more-1.0.tar.gz</a>`,
		"no file of Python's":  `<a href="/x">demo-1.0.exe</a>`,
		"an egg":               `<a href="/x">demo-1.0-py3.11.egg</a>`,
		"a zip":                `<a href="/x">demo-1.0.zip</a>`,
		"no version":           `<a href="/x">demo-py3-none-any.whl</a>`,
		"a strange version":    `<a href="/x">demo-$(x)-py3-none-any.whl</a>`,
		"another scheme":       `<a href="file:///etc/passwd">demo-1.0-py3-none-any.whl</a>`,
		"a password":           `<a href="https://a:b@h/x">demo-1.0-py3-none-any.whl</a>`,
		"a broken digest":      `<a href="/x#sha256=zz">demo-1.0-py3-none-any.whl</a>`,
		"a line in a rule":     "<a href=/x data-requires-python='>=3\n--index-url=x'>demo-1.0-py3-none-any.whl</a>",
	} {
		if p := parse(t, "text/html", link); len(p.Files) != 0 {
			t.Errorf("%s: got %+v", name, p.Files)
		}
	}
	twice := parse(t, "text/html", `<a href="/first">demo-1.0.tar.gz</a><a href="/second">demo-1.0.tar.gz</a>`)
	if len(twice.Files) != 1 || !strings.HasSuffix(twice.Files[0].URL, "/first") {
		t.Errorf("a name that is there twice: %+v", twice.Files)
	}
	if _, err := Parse("demo", JSON, at, strings.NewReader(`{"meta":{"api-version":"2.0"},"files":[]}`)); err == nil {
		t.Error("another version of the format was read")
	}
	for _, yanked := range []string{`""`, `null`, `true`, `{}`} {
		p := parse(t, JSON, `{"meta":{"api-version":"1.0"},"files":[{"filename":"demo-1.0.tar.gz","url":"/x","yanked":`+yanked+`}]}`)
		if !p.Files[0].Yanked {
			t.Errorf("yanked %s does not count", yanked)
		}
	}
}

// sdist packs a source distribution, of names and texts in turn.
func sdist(t testing.TB, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		header := &tar.Header{Name: files[i], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[i+1]))}
		if name, to, ok := strings.Cut(files[i], " -> "); ok {
			header.Name, header.Linkname, header.Typeflag = name, to, tar.TypeSymlink
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(files[i+1]))
	}
	_, _ = w.Close(), z.Close()
	return out.Bytes()
}

func TestWhatASourceRuns(t *testing.T) {
	got, err := ReadSource(bytes.NewReader(sdist(t, "demo-1.0/pyproject.toml", "[build-system]\n", "demo-1.0/src/setup.py", "not this", "demo-1.0/setup.py", "print(1)\n")))
	if err != nil || got != "setup.py:\nprint(1)\n\npyproject.toml:\n[build-system]" {
		t.Errorf("got %q, %v", got, err)
	}
	for name, bad := range map[string][]byte{
		"nothing of it":  sdist(t, "demo-1.0/README", "x"),
		"twice":          sdist(t, "demo-1.0/setup.py", "good()", "demo-1.0/setup.py", "bad()"),
		"in two folders": sdist(t, "demo-1.0/setup.py", "good()", "./x/setup.py", "bad()"),
		"by another way": sdist(t, "demo-1.0/setup.py", "good()", "demo-1.0/./setup.py", "bad()"),
		"by a way up":    sdist(t, "demo-1.0/setup.py", "good()", "demo-1.0/a/../setup.py", "bad()"),
		"behind a link":  sdist(t, "demo-1.0/setup.py", "good()", "demo-1.0/a -> .", "", "demo-1.0/a/setup.py", "bad()"),
		"too long":       sdist(t, "demo-1.0/setup.py", strings.Repeat("x", maxScript)),
		"no archive":     []byte("PK"),
	} {
		if got, err := ReadSource(bytes.NewReader(bad)); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(JSON, `{"meta":{"api-version":"1.0"},"files":[{"filename":"demo-1.0.tar.gz","url":"/x","hashes":{"sha256":"00"}}]}`)
	f.Add("text/html", `<a href="../x#sha256=aa" data-yanked>demo-1.0-py3-none-any.whl</a>`)
	f.Fuzz(func(t *testing.T, kind, body string) {
		p, err := Parse("demo", kind, at, strings.NewReader(body))
		if err != nil {
			return
		}
		for _, file := range p.Files {
			if strings.ContainsAny(file.Name, "/\\\n ") || file.Version == "" || file.SHA256 != "" && len(file.SHA256) != 64 {
				t.Errorf("%+v", file)
			}
			u, err := url.Parse(file.URL)
			if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
				t.Errorf("%s: %v", file.URL, err)
			}
			name, _, _ := strings.Cut(file.Name, "-")
			if file.Wheel && sandbox.PythonName(name) != "demo" {
				t.Errorf("%s is another project's", file.Name)
			}
		}
	})
}

func FuzzReadSource(f *testing.F) {
	f.Add(sdist(f, "demo-1.0/setup.py", "x"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		if text, err := ReadSource(bytes.NewReader(archive)); err == nil && (text == "" || len(text) > maxScript) {
			t.Errorf("%q", text)
		}
	})
}
