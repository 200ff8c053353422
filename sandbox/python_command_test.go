package sandbox

import (
	"strings"
	"testing"

	"github.com/containerd/errdefs"
)

func TestPythonCommandsPeopleWrite(t *testing.T) {
	for line, want := range map[string]string{
		"uvx mcp-server-fetch":                             "mcp-server-fetch  ",
		"/home/a/.local/bin/uvx jwt-mcp-server@latest -x":  "jwt-mcp-server latest ",
		"uvx --from mcp_server.git==1.2 mcp-server-git":    "mcp-server-git 1.2 mcp-server-git",
		"uvx --python 3.12 -q pkg[cli]>=1,<2 a":            "pkg >=1,<2  +[cli] python3.12",
		"uvx --with httpx,b[x,y]>=1,<2 --with A_c x":       "x   +a-c b[x,y]>=1,<2 httpx",
		"uv run --with mcp[cli] mcp run /srv/server.py":    "mcp  mcp +[cli]",
		"uv run --no-project --with=mcp server.py -x":      "mcp  python",
		"uv run --with mcp==1.2 -m mcp.server":             "mcp 1.2 python",
		"uv run --with mcp --directory /x server.py":       "  python +script /x/server.py project /x mcp",
		"uv run --with mcp --with-editable . server.py":    "refused",
		"uvx --extra-index-url https://a.example/simple x": "refused",
		"pipx run --pip-args=--index-url=x y":              "refused",
		"uvx --python /usr/bin/python3 x":                  "refused",
		"uvx x@git+https://h/x":                            "x   +git+https://h/x",
		"uv tool run --from=Pkg pkg":                       "pkg  pkg",
		"pipx run --spec pkg~=1.0 prog --help":             "pkg ~=1.0 prog",
		"cmd /c uvx x":                                     "x  ",
		"uvx --from git+https://github.com/a/b b":          "  b +git+https://github.com/a/b",
		"uvx git+https://h/a/b.git@v1#subdirectory=pkg/x":  "   +git+https://h/a/b.git@v1#pkg/x",
		"uvx --from git+ssh://git@h/a/b b":                 "refused",
		"uvx --from git+https://user:pw@h/a/b b":           "refused",
		"uvx --from git+http://h/a/b b":                    "refused",
		"uvx --from git+https://h/../b b":                  "refused",
		"uvx --from git+https://h/a@--upload-pack=x b":     "refused",
		"uvx --from git+https://h/a?x=y b":                 "refused",
		"uvx --from hg+https://h/a b":                      "refused",
		"uvx --with git+https://h/a b":                     "refused",
		"uv --directory /s/weather run weather.py":         "  python +script /s/weather/weather.py project /s/weather",
		"uv run --directory /s/weather src/server.py -x":   "  python +script /s/weather/src/server.py project /s/weather",
		"uv --directory=/s/w run --frozen my-server --x":   "  my-server +project /s/w",
		"uv run --project /s/w my-server":                  "  my-server +project /s/w",
		"uv run --project /s/w server.py":                  "refused",
		"uv --directory /s run --project w -m pkg.server":  "  python +project /s/w",
		"uv --directory /s run --extra Cli --group dev x":  "  x +[cli] [dev] project /s",
		"uv run --script /s/one.py":                        "  python +script /s/one.py",
		"uv run -s /s/one":                                 "  python +script /s/one",
		"uv run /s/one.py a":                               "  python +script /s/one.py",
		"uv run --no-project --directory /s one.py":        "  python +script /s/one.py",
		"uv --directory s run one.py":                      "refused",
		"uv run https://h/one.py":                          "refused",
		"uv run --directory /s -":                          "refused",
		"uv run my-server":                                 "refused",
		"uv --directory /s run --env-file .env x":          "refused",
		"uv --directory /s run --with-editable . x":        "refused",
		"uv --directory /s run --with-requirements r x":    "  x +project /s list /s/r",
		"uvx --with-requirements /s/r.txt pkg":             "pkg   +list /s/r.txt",
		"uv -q --directory /s tool run pkg":                "pkg  ",
		"uv sync --directory /s":                           "alone",
		"uvx --from ./x x":                                 "refused",
		"uvx --index-url https://evil.example x":           "refused",
		"uvx":                                              "refused",
		"uv run server.py":                                 "refused",
		"uv pip install x":                                 "alone",
		"npx x":                                            "alone",
		"python -m x":                                      "alone",
	} {
		ref, _, ok, err := ParsePythonCommand(strings.Fields(line))
		got := ref.Name + " " + ref.Range + " " + ref.Bin
		if besides := ref.Besides(); besides != "" {
			got += " +" + besides
		}
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
		if ok && err == nil && (ref.Name == "" && !ref.Nameless() || strings.ContainsAny(ref.Name, "/:@ ")) {
			t.Errorf("%q names %q", line, ref.Name)
		}
		if ok && err == nil && ref.Valid() != nil {
			t.Errorf("%q makes %+v: %v", line, ref, ref.Valid())
		}
	})
}

func TestWhatAReferenceNames(t *testing.T) {
	parse := func(line string) PackageRef {
		ref, _, _, err := ParseCommand(strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	p := Package{Ecosystem: PyPI, Name: "x", Version: "1.2.0"}
	for line, want := range map[string]bool{
		"uvx x": true, "uvx x==1.2": true, "uvx x@1.3": false, "uvx x>=9": true, "uvx x[cli]": false, "uvx --with y x": false, "npx x": false,
	} {
		if got := parse(line).Names(p); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
	npm := Package{Ecosystem: NPM, Name: "x", Version: "1.2.0"}
	if !parse("npx x@1.2").Names(npm) || parse("npx x@1.2.1").Names(npm) {
		t.Error("npm's ranges and versions are mixed up")
	}
	if got := parse("uvx --with b --from x[cli]==1.0 prog").String(); got != "x[cli]==1.0 b" {
		t.Errorf("it is written %q", got)
	}
}
