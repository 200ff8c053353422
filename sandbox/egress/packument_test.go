package egress

import (
	"io"
	"strings"
	"testing"
)

func rewrite(t *testing.T, in string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := rewritePackument(&out, strings.NewReader(in), edit{place: func(version, tarball string) string { return "[" + version + " " + tarball + "]" }})
	return strings.TrimSpace(out.String()), err
}

func TestOnlyTarballAddressesAreRewritten(t *testing.T) {
	in := `{"name":"a","tarball":"keep","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"dist":{"integrity":"sha512-x","tarball":"https://r/a.tgz","n":1.50},"tarball":"keep","deps":{"dist":{"tarball":"keep"}}}}}`
	want := strings.Replace(in, `"https://r/a.tgz"`, `"[1.0.0 https://r/a.tgz]"`, 1)
	got, err := rewrite(t, in)
	if err != nil || got != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}

func TestDescriptionsThatAreRefused(t *testing.T) {
	for name, in := range map[string]string{
		"nothing":                  "",
		"not JSON":                 "<html>",
		"a list":                   "[]",
		"versions that are a list": `{"versions":[]}`,
		"a version that is text":   `{"versions":{"1":"x"}}`,
		"an address that is none":  `{"versions":{"1":{"dist":{"tarball":{}}}}}`,
		"the same name twice":      `{"versions":{"1":{"dist":{"tarball":"a","tarball":"b"}}}}`,
		"cut in the middle":        `{"versions":{"1":{"dist":{"tarball":"a"`,
		"more behind the end":      `{} {}`,
		"very deep":                strings.Repeat(`{"a":`, 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := rewrite(t, in); err == nil {
				t.Errorf("passed as %s", got)
			}
		})
	}
}

func FuzzRewritePackument(f *testing.F) {
	f.Add(`{"versions":{"1":{"dist":{"tarball":"a"}}}}`)
	f.Add(`{"versions":{"1":{"dist":{"tarball":"a"}}},"versions":{}}`)
	f.Fuzz(func(t *testing.T, in string) {
		const marker = "http://marker.example/"
		var out strings.Builder
		if err := rewritePackument(&out, strings.NewReader(in), edit{place: func(string, string) string { return marker }}); err != nil {
			return
		}
		// What came out is read again: every address in it is the marker.
		err := rewritePackument(io.Discard, strings.NewReader(out.String()), edit{place: func(_, tarball string) string {
			if tarball != marker {
				t.Fatalf("%q keeps the address %q", in, tarball)
			}
			return tarball
		}})
		if err != nil {
			t.Fatalf("%q came out unreadable: %v", in, err)
		}
	})
}
