package clientconfig

import (
	"slices"
	"strings"
	"testing"
)

// TestPythonProjects are entries as READMEs have them: the folder is given read-only, and is no workspace.
func TestPythonProjects(t *testing.T) {
	paths := map[string]Kind{"/srv/w": Dir, "/srv/w/weather.py": File, "/srv/one.py": File, "/srv/p": Dir, "/srv/p/pyproject.toml": File, "/srv/p/s.py": File, "/srv/data": Dir}
	for name, tt := range map[string]struct {
		entry, command  string
		mounts, folders []string
	}{
		"a folder":             {`{"command":"/home/ana/.local/bin/uv","args":["--directory","/srv/w","run","weather.py"]}`, "uv --directory /srv/w run weather.py", []string{"/srv/w"}, nil},
		"one of its programs":  {`{"command":"uv","args":["run","--directory","/srv/w","weather","/srv/data"]}`, "uv run --directory /srv/w weather /srv/data", []string{"/srv/w"}, []string{"/srv/data"}},
		"a folder to start in": {`{"command":"uv","args":["run","weather.py"],"cwd":"/srv/w"}`, "uv --directory /srv/w run weather.py", []string{"/srv/w"}, nil},
		"a script":             {`{"command":"uv","args":["run","/srv/one.py"]}`, "uv run /srv/one.py", []string{"/srv/one.py"}, nil},
		"a project's script":   {`{"command":"uv","args":["run","/srv/p/s.py"]}`, "uv run /srv/p/s.py", []string{"/srv/p"}, nil},
		"a repository":         {`{"command":"uvx","args":["--from","git+https://h.example/a/b","c"]}`, "uvx --from git+https://h.example/a/b c", nil, nil},
	} {
		got := planIn(t, "/home/ana/claude.json", tt.entry, paths)
		var mounts []string
		for _, m := range got.Server.Spec.Mounts {
			if m.Writable {
				t.Errorf("%s: %s is writable", name, m.Host)
			}
			mounts = append(mounts, m.At)
		}
		if command := strings.Join(got.Server.Source.Command, " "); command != tt.command || !slices.Equal(mounts, tt.mounts) || !slices.Equal(got.Server.Spec.Folders, tt.folders) {
			t.Errorf("%s: %q, mounts %q, folders %q (%s)", name, command, mounts, got.Server.Spec.Folders, got.Skipped)
		}
	}
	for entry, says := range map[string]string{
		`{"command":"uv","args":["--directory","/srv/none","run","x"]}`:      "no folder",
		`{"command":"uv","args":["--directory","/home/ana","run","x"]}`:      "",
		`{"command":"uv","args":["--directory","/home/ana/.ssh","run","x"]}`: "",
		`{"command":"uvx","args":["--from","git+https://me:pw@h/a/b","c"]}`:  "a secret",
	} {
		all := map[string]Kind{"/home/ana": Dir, "/home/ana/.ssh": Dir}
		if got := planIn(t, "/home/ana/claude.json", entry, all); got.Skipped == "" || !strings.Contains(got.Skipped, says) || strings.Contains(got.Skipped, "pw@") {
			t.Errorf("%s: skipped because %q", entry, got.Skipped)
		}
	}
}

// A virtual environment comes with the project around it, where what is installed as editable is imported from.
func TestVirtualEnvironments(t *testing.T) {
	host := fakeHost("/home/ana", map[string]Kind{
		"/srv/p/pyproject.toml": File, "/srv/p/s.py": File, "/srv/p/.venv": Dir, "/srv/p/.venv/pyvenv.cfg": File, "/srv/p/.venv/bin/python": File,
		"/srv/q/.venv": Dir, "/srv/q/.venv/pyvenv.cfg": File, "/srv/q/.venv/bin/python": File,
		"/srv/pyenv/.venv": Dir, "/srv/pyenv/.venv/pyvenv.cfg": File, "/srv/pyenv/.venv/bin/python": File,
	})
	look := host.Look
	host.Look = func(p string) Seen {
		seen := look(p)
		if strings.HasSuffix(p, "/.venv/bin/python") && seen.Kind == File && !strings.HasPrefix(p, "/srv/pyenv/") {
			seen.Real = "/usr/bin/python3.11"
		}
		return seen
	}
	for name, tt := range map[string]struct {
		entry  string
		mounts []string
		says   string // why it is skipped
	}{
		"a module of a project": {`{"command":"/srv/p/.venv/bin/python","args":["-m","x"]}`, []string{"/srv/p"}, ""},
		"a script of a project": {`{"command":"/srv/p/.venv/bin/python","args":["/srv/p/s.py"]}`, []string{"/srv/p"}, ""},
		"by itself":             {`{"command":"/srv/q/.venv/bin/python","args":["-m","x"]}`, []string{"/srv/q/.venv"}, ""},
		"of another Python":     {`{"command":"/srv/pyenv/.venv/bin/python","args":["-m","x"]}`, nil, "/usr/bin/python3 -m venv --clear /srv/pyenv/.venv"},
	} {
		p, err := NewPlan([]byte(`{"mcpServers":{"s":`+tt.entry+`}}`), "/home/ana/claude.json", "c", Known{}, host)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Entries[0]
		var mounts []string
		for _, m := range got.Server.Spec.Mounts {
			mounts = append(mounts, m.At)
		}
		if !slices.Equal(mounts, tt.mounts) || !strings.Contains(got.Skipped, tt.says) || (got.Skipped == "") != (tt.says == "") {
			t.Errorf("%s: mounts %q, skipped because %q", name, mounts, got.Skipped)
		}
	}
}
