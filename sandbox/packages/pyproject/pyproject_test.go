package pyproject

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func folder(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return out
}

const demo = `[project]
name = "Demo_App"
version = "1.2"
requires-python = ">=3.10"
dependencies = ["HTTPX >= 0.27, <1 ; python_version < '4'", "mcp[cli]"]
[project.optional-dependencies]
web = ["uvicorn"]
[project.scripts]
demo = "demo.cli:main"
"../evil" = "x:y"
odd = "import os"
[dependency-groups]
dev = ["pytest", {include-group = "lint"}]
lint = ["ruff"]
`

func TestWhatAProjectSays(t *testing.T) {
	n, err := ReadProject(folder(map[string]string{"pyproject.toml": demo, "src/demo/cli.py": "", ".python-version": "# x\n3.12.1\n"}), "/srv/demo", Wish{Extras: []string{"web"}, Groups: []string{"dev"}})
	want := Needs{
		Name: "demo-app", Version: "1.2", Python: ">=3.10", Wanted: "3.12",
		Requirements: []string{"httpx>=0.27,<1 ; python_version < '4'", "mcp[cli]", "pytest", "ruff", "uvicorn"},
		Paths:        []string{"/srv/demo/src", "/srv/demo"},
		Entries:      map[string]map[string]string{ConsoleScripts: {"demo": "demo.cli:main"}},
	}
	if diff := cmp.Diff(n, want); diff != "" || err != nil {
		t.Errorf("%v (-got +want):\n%s", err, diff)
	}
	other := n
	other.Version = "1.3"
	if n.Digest() == other.Digest() || n.Digest() != want.Digest() {
		t.Error("the digest is not over what is said")
	}
}

func TestWhereModulesLie(t *testing.T) {
	for name, tt := range map[string]struct {
		more  string
		files []string
		want  []string
	}{
		"flat":                    {"", nil, []string{"/p"}},
		"below src":               {"", []string{"src/a.py"}, []string{"/p/src", "/p"}},
		"hatch":                   {"[tool.hatch.build.targets.wheel]\npackages = [\"lib/demo\"]\n", []string{"lib/demo/x.py"}, []string{"/p/lib"}},
		"hatch, at the top":       {"[tool.hatch.build.targets.wheel]\npackages = [\"demo\"]\n", []string{"demo/x.py"}, []string{"/p"}},
		"uv":                      {"[tool.uv.build-backend]\nmodule-root = \"\"\n", []string{"demo/x.py"}, []string{"/p"}},
		"setuptools":              {"[tool.setuptools.packages.find]\nwhere = [\"python\"]\n", []string{"python/x.py"}, []string{"/p/python"}},
		"setuptools, by a folder": {"[tool.setuptools.package-dir]\n\"\" = \"code\"\n", []string{"code/x.py"}, []string{"/p/code"}},
		"elsewhere":               {"[tool.hatch.build.targets.wheel]\npackages = [\"../../etc/demo\", \"/etc/x\"]\n", nil, []string{"/p"}},
	} {
		files := map[string]string{"pyproject.toml": demo + tt.more}
		for _, f := range tt.files {
			files[f] = ""
		}
		n, err := ReadProject(folder(files), "/p", Wish{})
		if err != nil || !slices.Equal(n.Paths, tt.want) {
			t.Errorf("%s: %q, %v", name, n.Paths, err)
		}
	}
}

const hashA, hashB = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

const demoLock = `version = 1
[[package]]
name = "demo-app"
version = "1.2"
source = { editable = "." }
dependencies = [
  { name = "httpx", marker = "python_full_version < '4'" },
  { name = "mcp", extra = ["cli"] },
  { name = "member", marker = "sys_platform == 'linux'" },
]
[[package]]
name = "httpx"
version = "0.28.1"
source = { registry = "https://pypi.org/simple" }
wheels = [{ url = "https://f/httpx.whl", hash = "sha256:` + hashA + `" }]
[[package]]
name = "mcp"
version = "1.9"
source = { registry = "https://pypi.org/simple" }
dependencies = [{ name = "httpx" }]
sdist = { url = "https://f/mcp.tar.gz", hash = "sha256:` + hashB + `" }
[package.optional-dependencies]
cli = [{ name = "typer" }]
[[package]]
name = "typer"
version = "0.9"
source = { registry = "https://pypi.org/simple" }
wheels = [{ url = "https://f/typer.whl", hash = "sha256:` + hashB + `" }]
[[package]]
name = "unused"
version = "1"
source = { git = "https://h/x" }
[[package]]
name = "member"
version = "1"
source = { editable = "packages/member" }
dependencies = [{ name = "typer", marker = "os_name == 'posix'" }]
`

func TestWhatALockSays(t *testing.T) {
	n, err := ReadProject(folder(map[string]string{
		"pyproject.toml": demo, "uv.lock": demoLock, "packages/member/pyproject.toml": "[project]\nname = \"member\"\n", "packages/member/src/m.py": "",
	}), "/p", Wish{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(n.Requirements, []string{
		"httpx==0.28.1 ; python_full_version < '4'", "mcp[cli]==1.9", "typer==0.9 ; (sys_platform == 'linux') and (os_name == 'posix')",
	}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(n.Pinned, map[string][]string{"httpx": {hashA}, "mcp": {hashB}, "typer": {hashB}}); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(n.Paths, "/p/packages/member/src") {
		t.Errorf("its member is not importable: %q", n.Paths)
	}
}

func TestScriptsSayWhatTheyNeed(t *testing.T) {
	for name, tt := range map[string]struct {
		text, want string // "" is a refusal; "none" is no comment
	}{
		"a usual one":      {"#!/usr/bin/env python\n# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"mcp>=1\",\n#\n#   \"httpx\",\n# ]\n# ///\nimport mcp\n", "httpx mcp>=1"},
		"lines of DOS":     {"# /// script\r\n# dependencies = [\"a\"]\r\n# ///\r\n", "a"},
		"none":             {"import x\n", "none"},
		"another block":    {"# /// other\n# x = 1\n# ///\n", "none"},
		"no end":           {"# /// script\n# dependencies = []\nimport x\n", "none"},
		"two":              {"# /// script\n# ///\n\n# /// script\n# ///\n", ""},
		"from a URL":       {"# /// script\n# dependencies = [\"a @ https://h/a.whl\"]\n# ///\n", ""},
		"another index":    {"# /// script\n# dependencies = [\"a\"]\n# [[tool.uv.index]]\n# url = \"https://evil\"\n# ///\n", ""},
		"an end within":    {"# /// script\n# dependencies = [\"a\"]\n# ///\n# more\n# ///\n", ""},
		"no settings":      {"# /// script\n# = [\n# ///\n", ""},
		"a line not of it": {"# /// script\n#dependencies = [\"a\"]\n# ///\n", "none"},
	} {
		n, ok, err := ReadScript("/srv/My Script.py", []byte(tt.text), nil)
		got := strings.Join(n.Requirements, " ")
		switch {
		case err != nil:
			got = ""
		case !ok:
			got = "none"
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q (%v)", name, got, tt.want, err)
		}
	}
	if n, _, err := ReadScript("/srv/s.py", []byte("# /// script\n# dependencies = [\"typer\"]\n# ///\n"), []byte(strings.Replace(demoLock[:strings.Index(demoLock, "[[package]]")]+demoLock[strings.Index(demoLock, "[[package]]\nname = \"typer\""):strings.Index(demoLock, "[[package]]\nname = \"unused\"")], "x", "x", 1))); err != nil || !slices.Equal(n.Pinned["typer"], []string{hashB}) {
		t.Errorf("by its lock: %+v, %v", n, err)
	}
}

func TestListsOfRequirements(t *testing.T) {
	all, pinned, err := ReadList([]byte("# comment\nMCP[cli]==1.0 \\\n    --hash=sha256:" + hashA + " --hash=sha256:" + hashB + "\nhttpx>=1 # why\n\n"))
	if err != nil || strings.Join(all, "|") != "httpx>=1|mcp[cli]==1.0" || len(pinned["mcp"]) != 2 {
		t.Errorf("%q %v, %v", all, pinned, err)
	}
	for _, line := range []string{"-r other.txt", "--index-url https://evil", "-e .", "./x", "https://h/x.whl", "a @ git+https://h/x", "a --config-settings=x", "a --hash=md5:x"} {
		if all, _, err := ReadList([]byte(line)); err == nil {
			t.Errorf("%q gives %q", line, all)
		}
	}
}

func TestWhichInterpretersFit(t *testing.T) {
	for said, fit := range map[string]string{
		"": "3.8 3.12", ">=3.10": "3.12", ">=3.10,<3.12": "3.11", ">3.11": "3.12", "<3.12.4": "3.8 3.12", "~=3.11": "3.11 3.12",
		"==3.11.*": "3.11", "!=3.11.*": "3.12", "!=3.11.2": "3.11 3.12", ">=3.11.4": "3.11 3.12", "nonsense": "3.11", "<4": "3.12", ">= 3.12, < 4": "3.12",
	} {
		for _, python := range []string{"3.8", "3.11", "3.12"} {
			if strings.Contains(" "+fit+" ", " "+python+" ") && !Fits(said, python) {
				t.Errorf("%s is not let by %q", python, said)
			}
		}
	}
	for said, python := range map[string]string{">=3.10": "3.8", "<3.12": "3.12", "==3.11.*": "3.12", "~=3.11": "3.8", ">3.11": "3.11x", "!=3.11.*": "3.11", ">=3.11.4": "3.10", "~=3.11.2": "3.12"} {
		if python != "3.11x" && Fits(said, python) {
			t.Errorf("%s is let by %q", python, said)
		}
	}
}

func TestWhatHasToBeBuilt(t *testing.T) {
	hatch := "[build-system]\nrequires = [\"hatchling\"]\nbuild-backend = \"hatchling.build\"\n"
	for name, tt := range map[string]struct {
		text  string
		files []string
		pure  bool
	}{
		"hatchling":           {demo + hatch, []string{"src/demo/cli.py"}, true},
		"a version by git":    {strings.Replace(demo, `version = "1.2"`, `dynamic = ["version"]`, 1) + hatch, []string{"demo/cli.py"}, true},
		"no modules":          {demo + hatch, nil, false},
		"no build system":     {demo, []string{"demo/cli.py"}, false},
		"another backend":     {demo + strings.Replace(hatch, "hatchling.build", "maturin", 1), []string{"demo/cli.py"}, false},
		"one of its own":      {demo + hatch + "backend-path = [\".\"]\n", []string{"demo/cli.py"}, false},
		"hooks":               {demo + hatch + "[tool.hatch.build.hooks.custom]\n", []string{"demo/cli.py"}, false},
		"a setup.py":          {demo + hatch, []string{"demo/cli.py", "setup.py"}, false},
		"dependencies worked": {strings.Replace(demo, `version = "1.2"`, "version = \"1\"\ndynamic = [\"scripts\"]", 1) + hatch, []string{"demo/cli.py"}, false},
	} {
		files := map[string]string{"pyproject.toml": tt.text}
		for _, f := range tt.files {
			files[f] = ""
		}
		root := folder(files)
		n, err := ReadProject(root, "/p", Wish{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if why := Impure(root, n, "/p"); (why == "") != tt.pure {
			t.Errorf("%s: %q", name, why)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(demo, demoLock)
	f.Add(demo, "")
	f.Fuzz(func(t *testing.T, project, lock string) {
		files := map[string]string{"pyproject.toml": project}
		if lock != "" {
			files["uv.lock"] = lock
		}
		n, err := ReadProject(folder(files), "/p", Wish{Extras: []string{"*"}, Groups: []string{"*"}})
		if err != nil {
			return
		}
		for _, p := range n.Paths {
			if p != "/p" && !strings.HasPrefix(p, "/p/") || strings.Contains(p, "\n") || strings.Contains(p, "/../") {
				t.Errorf("path %q", p)
			}
		}
		for _, r := range n.Requirements {
			if _, clean, err := Requirement(r); err != nil || clean != r || strings.HasPrefix(r, "-") || strings.ContainsAny(r, "\n@/\\") {
				t.Errorf("requirement %q: %q, %v", r, clean, err)
			}
		}
	})
}

func FuzzReadScript(f *testing.F) {
	f.Add("# /// script\n# dependencies = [\"a\"]\n# ///\n")
	f.Fuzz(func(t *testing.T, text string) {
		n, _, err := ReadScript("/s.py", []byte(text), nil)
		for _, r := range n.Requirements {
			if err == nil && strings.ContainsAny(r, "\n@/\\") {
				t.Errorf("requirement %q", r)
			}
		}
	})
}
