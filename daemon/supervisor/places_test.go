package supervisor

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox"
)

// TestWhatAPackageIsRunFromIsSeen is a project's folder, read-only, unless it is there already.
func TestWhatAPackageIsRunFromIsSeen(t *testing.T) {
	host := machineHost{"/srv/p": "/data/p", "/srv/elsewhere": "/srv/elsewhere"}
	p := sandbox.Package{Shown: []string{"/srv/p"}}
	for name, tt := range map[string]struct {
		launch sandbox.Launch
		ref    sandbox.PackageRef
		mounts []sandbox.Mount
		dir    string
	}{
		"not yet":         {mounts: []sandbox.Mount{{Host: "/data/p", At: "/srv/p"}}},
		"a folder":        {launch: sandbox.Launch{Dir: "/srv", Folders: []sandbox.Folder{{Host: "/srv", Mode: sandbox.Direct}}}, dir: "/srv"},
		"a hidden folder": {launch: sandbox.Launch{Folders: []sandbox.Folder{{Host: "/srv", Mode: sandbox.None}}}, mounts: []sandbox.Mount{{Host: "/data/p", At: "/srv/p"}}},
		"a mount":         {launch: sandbox.Launch{Mounts: []sandbox.Mount{{Host: "/data/p", At: "/srv/p", Writable: true}}}, mounts: []sandbox.Mount{{Host: "/data/p", At: "/srv/p", Writable: true}}},
		"started there":   {ref: sandbox.PackageRef{Dir: "/srv/p"}, mounts: []sandbox.Mount{{Host: "/data/p", At: "/srv/p"}}, dir: "/srv/p"},
		"started elsewhere": {
			ref: sandbox.PackageRef{Dir: "/srv/elsewhere"}, dir: "/srv/elsewhere",
			mounts: []sandbox.Mount{{Host: "/data/p", At: "/srv/p"}, {Host: "/srv/elsewhere", At: "/srv/elsewhere"}},
		},
	} {
		l := tt.launch
		if err := places(&l, p, tt.ref, host); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(l.Mounts, tt.mounts); diff != "" || l.Dir != tt.dir {
			t.Errorf("%s: in %q\n%s", name, l.Dir, diff)
		}
	}
}
