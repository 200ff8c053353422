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
