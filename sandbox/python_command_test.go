package sandbox

import (
	"strings"
	"testing"

	"github.com/containerd/errdefs"
)

func TestPythonCommandsPeopleWrite(t *testing.T) {
	for line, want := range map[string]string{
		"uvx mcp-server-fetch":                            "mcp-server-fetch  ",
		"/home/a/.local/bin/uvx jwt-mcp-server@latest -x": "jwt-mcp-server latest ",
		"uvx --from mcp_server.git==1.2 mcp-server-git":   "mcp-server-git 1.2 mcp-server-git",
		"uvx --python 3.12 -q pkg[cli]>=1,<2 a":           "pkg >=1,<2 ",
		"uv tool run --from=Pkg pkg":                      "pkg  pkg",
		"pipx run --spec pkg~=1.0 prog --help":            "pkg ~=1.0 prog",
		"cmd /c uvx x":                                    "x  ",
		"uvx --from git+https://github.com/a/b b":         "refused",
		"uvx --from ./x x":                                "refused",
		"uvx --index-url https://evil.example x":          "refused",
		"uvx --with y x":                                  "refused",
		"uvx":                                             "refused",
		"uv run server.py":                                "alone",
		"uv pip install x":                                "alone",
		"npx x":                                           "alone",
		"python -m x":                                     "alone",
	} {
		ref, _, ok, err := ParsePythonCommand(strings.Fields(line))
		got := ref.Name + " " + ref.Range + " " + ref.Bin
		switch {
		case !ok && err == nil:
			got = "alone"
		case errdefs.IsInvalidArgument(err):
			got = "refused"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q (%v)", line, got, want, err)
		}
	}
}

func FuzzParsePythonCommand(f *testing.F) {
	f.Add("uvx --from a==1 b")
	f.Fuzz(func(t *testing.T, line string) {
		ref, _, ok, err := ParsePythonCommand(strings.Fields(line))
		if ok && err == nil && (ref.Name == "" || strings.ContainsAny(ref.Name, "/:@ ")) {
			t.Errorf("%q names %q", line, ref.Name)
		}
	})
}
