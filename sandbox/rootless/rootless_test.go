package rootless

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

func TestParseSubIDs(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want IDRange
		ok   bool
	}{
		"by name":            {"root:1:5\nana:100000:65536\n", IDRange{100000, 65536}, true},
		"by number":          {"1000:200000:70000", IDRange{200000, 70000}, true},
		"the first counts":   {"ana:100000:65536\nana:300000:65536\n", IDRange{100000, 65536}, true},
		"nobody's":           {"bob:100000:65536\n", IDRange{}, false},
		"a prefix is no one": {"anabel:100000:65536\n", IDRange{}, false},
		"empty range":        {"ana:100000:0\n", IDRange{}, false},
		"from root":          {"ana:0:65536\n", IDRange{}, false},
		"past the end":       {"ana:4294967290:65536\n", IDRange{}, false},
		"nonsense":           {"ana\nana:\nana:x:y\n:::\n", IDRange{}, false},
		"a comment":          {"# ana\nana:5:6 \n", IDRange{5, 6}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := ParseSubIDs([]byte(c.text), "ana", 1000)
			if got != c.want || ok != c.ok {
				t.Errorf("got %v, %v; want %v, %v", got, ok, c.want, c.ok)
			}
		})
	}
}

func FuzzParseSubIDs(f *testing.F) {
	f.Add([]byte("ana:100000:65536\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, ok := ParseSubIDs(text, "ana", 1000)
		if ok && (r.Start == 0 || r.Count == 0 || uint64(r.Start)+uint64(r.Count) > 1<<32-1) {
			t.Errorf("took %v", r)
		}
	})
}

// fakeTree makes files below a fresh directory.
func fakeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestPrepareV2(t *testing.T) {
	root := fakeTree(t, map[string]string{
		"user/app/cgroup.procs":                    "",
		"user/app/cgroup.subtree_control":          "",
		"user/app/cgroup.controllers":              "cpu memory pids\n",
		"user/app/garita-main/cgroup.procs":        "",
		"user/app/garita-a/cgroup.subtree_control": "",
	})
	for name, own := range map[string]string{"first life": "/user/app", "moved by an earlier life": "/user/app/garita-main"} {
		t.Run(name, func(t *testing.T) {
			got, err := sort(root, parseCgroups([]byte("0::"+own+"\n"))).prepare("garita-a")
			if err != nil {
				t.Fatal(err)
			}
			want := Cgroups{
				Version: 2, Parent: "/user/app/garita-a", Dirs: []string{filepath.Join(root, "user/app/garita-a")},
				Memory: true, PIDs: true, CPU: true, Freeze: true,
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Error(diff)
			}
			if got.Path("i1") != "/user/app/garita-a/i1" {
				t.Errorf("path: %s", got.Path("i1"))
			}
		})
	}
	if _, err := sort(root, parseCgroups([]byte("0::/user\n"))).prepare("garita-a"); err == nil {
		t.Error("a group that is not delegated was taken")
	}
}

func TestPrepareV1NeedsEveryHierarchy(t *testing.T) {
	root := fakeTree(t, map[string]string{
		"memory/own/tasks":         "",
		"cpu,cpuacct/own/tasks":    "",
		"cpuset/own/cpuset.cpus":   "0-1\n",
		"cpuset/own/cpuset.mems":   "0\n",
		"systemd/own/cgroup.procs": "",
		"unified/x/cgroup.procs":   "",
	})
	text := []byte("5:name=systemd:/own\n4:cpuset:/own\n3:memory:/own\n2:cpu,cpuacct:/own\n1:net_cls:/unmounted\n0::/x\n")
	got, err := sort(root, parseCgroups(text)).prepare("garita-a")
	if err != nil {
		t.Fatal(err)
	}
	if !got.Memory || !got.CPU || got.PIDs || got.Freeze || len(got.Dirs) != 5 || got.Path("i1") != "garita-a/i1" {
		t.Errorf("got %+v", got)
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if text, _ := os.ReadFile(filepath.Join(root, "cpuset/own/garita-a", file)); len(text) == 0 {
			t.Errorf("%s was not filled", file)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "cpuset/own/cpuset.cpus"), []byte("\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := sort(root, parseCgroups(text)).prepare("garita-b"); err == nil {
		t.Error("a group without processors was taken")
	}
}

func TestInForceListsOnlyWhatHolds(t *testing.T) {
	l := sandbox.Limits{Memory: 512 << 20, PIDs: 256, CPUs: 1.5}
	for name, c := range map[string]struct {
		cgroups Cgroups
		root    bool
		want    []sandbox.LimitInForce
		notices int
	}{
		"all by cgroup": {Cgroups{Version: 2, Memory: true, PIDs: true, CPU: true}, false, []sandbox.LimitInForce{
			{Name: "memory", Value: "512 MiB", By: "cgroup2"}, {Name: "pids", Value: "256", By: "cgroup2"}, {Name: "cpus", Value: "1.5", By: "cgroup2"},
		}, 0},
		"none": {Cgroups{}, false, []sandbox.LimitInForce{
			{Name: "memory", Value: "512 MiB", By: "rlimit"}, {Name: "pids", Value: "256", By: "rlimit"},
		}, 2},
		"none, as root": {Cgroups{}, true, []sandbox.LimitInForce{{Name: "memory", Value: "512 MiB", By: "rlimit"}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			got, notices := InForce(l, c.cgroups, c.root)
			if diff := cmp.Diff(got, c.want); diff != "" {
				t.Error(diff)
			}
			if len(notices) != c.notices {
				t.Errorf("notices: %q", notices)
			}
		})
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 512 << 20: "512 MiB", 3 << 29: "1.5 GiB", 1000: "1000 B"} {
		if got := Bytes(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestParseStage(t *testing.T) {
	for text, ok := range map[string]bool{"map:4": true, "mount:17": true, "": false, "map": false, "map:x": false, "mount:2": false, "other:4": false} {
		if _, _, err := parseStage(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
