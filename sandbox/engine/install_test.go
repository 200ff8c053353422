package engine

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/wire"
)

func TestTurnsAreTakenOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all turns
		var inside, most atomic.Int32
		first, err := all.take(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			go func() {
				leave, err := all.take(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				most.Store(max(most.Load(), inside.Add(1)))
				inside.Add(-1)
				leave()
			}()
		}
		synctest.Wait()
		if most.Load() != 0 {
			t.Error("somebody was let in while it was taken")
		}
		other, err := all.take(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		other()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := all.take(ctx, "a"); !errdefs.IsAborted(err) {
			t.Errorf("waiting in vain: %v", err)
		}
		first()
		synctest.Wait()
		if most.Load() != 1 || len(all.taken) != 0 {
			t.Errorf("%d at once, %d still taken", most.Load(), len(all.taken))
		}
	})
}

func TestWhichSnapshotFits(t *testing.T) {
	ref := func(versions string) sandbox.PackageRef {
		return sandbox.PackageRef{Ecosystem: sandbox.NPM, Name: "@s/server", Range: versions}
	}
	there := snapshots.Info{Name: "npm/@s/server@1.2.3/sha256:aa", Labels: map[string]string{labelOf("@s/server"): "@s/server"}}
	for name, tt := range map[string]struct {
		req  wire.Install
		want bool
	}{
		"the reference it was installed for": {wire.Install{Ref: ref("")}, true},
		"another reference":                  {wire.Install{Ref: ref("^1")}, false},
		"exactly its version":                {wire.Install{Ref: ref("1.2.3")}, true},
		"the beginning of its version":       {wire.Install{Ref: ref("1.2")}, false},
		"the lock's very own":                {wire.Install{Ref: ref("^1"), Want: &sandbox.Package{Ecosystem: sandbox.NPM, Name: "@s/server", Version: "1.2.3", Tree: "sha256:aa"}}, true},
		"another one of the lock":            {wire.Install{Ref: ref(""), Want: &sandbox.Package{Ecosystem: sandbox.NPM, Name: "@s/server", Version: "1.2.3", Tree: "sha256:bb"}}, false},
	} {
		if got := fits(there, tt.req, tt.req.Ref.String()); got != tt.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestAnotherPythonThanTheLocksIsNoticed(t *testing.T) {
	ref := sandbox.PackageRef{Ecosystem: sandbox.PyPI, Name: "server"}
	_, err := findPython(wire.Install{Ref: ref, Want: &sandbox.Package{Ecosystem: sandbox.PyPI, Name: "server", Version: "1.0", Runtime: "python 3.99.1"}})
	if !errdefs.IsFailedPrecondition(err) || !strings.Contains(err.Error(), "garita server update") {
		t.Errorf("got %v", err)
	}
	if err := needsBuilds([]sandbox.PackageFile{{Name: "n", Version: "1", File: "n-1.tar.gz", Digest: "sha256:aa"}}, []sandbox.InstallScript{{Name: "n", Version: "1", Integrity: "sha256:bb"}}); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("other bytes than those approved: %v", err)
	}
}
