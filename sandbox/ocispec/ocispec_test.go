package ocispec

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/init/handoff"
	"github.com/garita-dev/garita/sandbox/rootless"
)

var update = flag.Bool("update", false, "write the golden files")

func cases() map[string]Input {
	cgroup2 := rootless.Cgroups{Version: 2, Parent: "/user.slice/garita-1", Memory: true, PIDs: true, CPU: true, Freeze: true}
	rootlessHost := Host{IDs: 65536, FirstID: 1, Cgroups: cgroup2, Init: "/opt/garita/garita-init", Etc: "/run/garita/etc"}
	base := sandbox.Launch{ID: "i0123456789abcdef", Server: "files", Group: "claude", Argv: []string{"node", "index.js"}}
	withFolders := base
	withFolders.Package = &sandbox.Package{Name: "x"}
	withFolders.Env = map[string]string{"TOKEN_FILE": "/x", "PATH": "/only/this"}
	withFolders.Root = sandbox.Root{Toolchain: "/home/ana/.nvm/versions/node/v22"}
	withSecrets := base
	withSecrets.Trust, withSecrets.Await = "a certificate", true
	withSecrets.Env = map[string]string{"TOKEN": "a sentinel", "NODE_EXTRA_CA_CERTS": "/its/own"}
	rootHost := rootlessHost
	rootHost.IDs, rootHost.FirstID, rootHost.Cgroups = 0, 100_000, rootless.Cgroups{Version: 1, Parent: "garita-1", Memory: true}
	return map[string]Input{
		"bare": {Host: rootlessHost, Launch: base, Rootfs: "/run/garita/i/x/root", Socket: "/run/garita/i/x/s"},
		"folders": {
			Host: rootlessHost, Launch: withFolders, Rootfs: "/run/garita/i/x/root", Socket: "/run/garita/i/x/s",
			Toolchain: []Bind{{Source: "/run/garita/i/x/t", At: "/home/ana/.nvm/versions/node/v22"}},
			Home:      "/data/volumes/files", Package: "/data/snapshots/1/fs",
			Folders: []Bind{
				{Source: "/run/garita/ws/w1/0", At: "/home/ana/shop/src", Writable: true},
				{Source: "/run/garita/i/x/f1", At: "/srv", Options: []string{"noexec"}},
			},
			Mounts: []Bind{{Source: "/run/garita/i/x/m0", At: "/workspace/input"}},
		},
		"no control groups": {
			Host:   Host{IDs: 65536, FirstID: 1, Init: "/opt/garita/garita-init", Etc: "/run/garita/etc", TopDirs: []string{"/lib"}},
			Launch: base, Rootfs: "/run/garita/i/x/root", Socket: "/run/garita/i/x/s",
		},
		"few ids": {
			Host:   Host{IDs: 2000, FirstID: 1, Cgroups: cgroup2, Init: "/i", Etc: "/e"},
			Launch: base, Rootfs: "/run/garita/i/x/root", Socket: "/run/garita/i/x/s",
		},
		"secrets": {
			Host: rootlessHost, Launch: withSecrets, Rootfs: "/run/garita/i/x/root", Socket: "/run/garita/i/x/s",
			Trust: Trust{Certificate: "/run/garita/i/x/ca.crt", Bundle: "/run/garita/i/x/bundle.crt", Java: "/run/garita/i/x/cacerts.p12", Bundles: []string{"/etc/pki/tls/certs/ca-bundle.crt"}},
		},
		"image as root": {
			Host: rootHost, Launch: base, Rootfs: "rootfs", Socket: "/run/garita/i/x/s",
			Image:  &Image{Entrypoint: []string{"/entry"}, Cmd: []string{"unused"}, Env: []string{"PATH=/image/bin"}, Dir: "/app"},
			Listen: []string{"127.0.0.1:4873"},
		},
	}
}

func TestLower(t *testing.T) {
	for name, in := range cases() {
		t.Run(name, func(t *testing.T) {
			spec, request := Lower(in)
			if spec.Linux.Seccomp == nil || spec.Linux.Seccomp.DefaultAction != specs.ActErrno {
				t.Error("the seccomp profile does not deny by default")
			}
			spec.Linux.Seccomp = nil // containerd's, and long
			golden(t, name, struct {
				Spec    *specs.Spec
				Request handoff.Request
			}{spec, request})
		})
	}
}

func golden(t *testing.T, name string, value any) {
	t.Helper()
	got, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".json")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Error(diff)
	}
}

// TestNothingIsGranted holds for every sandbox, whatever is asked.
func TestNothingIsGranted(t *testing.T) {
	for name, in := range cases() {
		t.Run(name, func(t *testing.T) {
			spec, _ := Lower(in)
			c := spec.Process.Capabilities
			if n := len(c.Bounding) + len(c.Effective) + len(c.Permitted) + len(c.Inheritable) + len(c.Ambient); n > 0 {
				t.Errorf("%d capabilities", n)
			}
			if !spec.Process.NoNewPrivileges || !spec.Root.Readonly || spec.Process.User.UID != UserID {
				t.Errorf("process %+v, root %+v", spec.Process, spec.Root)
			}
			if len(spec.Linux.Namespaces) != 7 {
				t.Errorf("namespaces: %v", spec.Linux.Namespaces)
			}
			for _, m := range spec.Linux.UIDMappings {
				if inner := m.ContainerID; m.HostID == 0 && (inner != UserID || m.Size != 1) {
					t.Errorf("the engine's id 0 is mapped by %+v", m)
				}
			}
			for _, m := range spec.Mounts {
				checkMount(t, m)
			}
		})
	}
}

func checkMount(t *testing.T, m specs.Mount) {
	options := strings.Join(m.Options, ",")
	if !strings.Contains(options, "nosuid") {
		t.Errorf("%s may hold set-uid programs: %s", m.Destination, options)
	}
	if m.Type == "bind" && !strings.Contains(options, "rro") && !strings.Contains(options, "rw") {
		t.Errorf("%s is neither read-only with what is mounted below nor writable: %s", m.Destination, options)
	}
	if m.Type == "bind" && !strings.Contains(options, "nodev") {
		t.Errorf("%s may hold devices: %s", m.Destination, options)
	}
}

func TestMappingsDoNotOverlap(t *testing.T) {
	for name, in := range cases() {
		t.Run(name, func(t *testing.T) {
			seen := map[uint32]bool{}
			for _, m := range mapping(in.Host) {
				for i := range m.Size {
					if seen[m.HostID+i] {
						t.Fatalf("id %d is mapped twice", m.HostID+i)
					}
					seen[m.HostID+i] = true
				}
				if in.Host.IDs != 0 && m.HostID+m.Size > in.Host.IDs+1 {
					t.Errorf("%+v is outside of the %d ids there are", m, in.Host.IDs)
				}
			}
		})
	}
}

// TestEveryServerSeesTheSameVariables holds the list that people are shown.
func TestEveryServerSeesTheSameVariables(t *testing.T) {
	walled := cases()["bare"]
	walled.Launch.Network = sandbox.Unsaid()
	trusting := walled
	trusting.Trust = Trust{Certificate: "/run/ca.crt", Bundle: "/run/bundle.crt", Java: "/run/cacerts.p12"}
	for name, c := range map[string]struct {
		in   Input
		want [][]string
	}{
		"without a network": {cases()["bare"], [][]string{sandbox.OwnVariables}},
		"behind the wall":   {walled, [][]string{sandbox.OwnVariables, sandbox.WallVariables}},
		"with certificates": {trusting, [][]string{sandbox.OwnVariables, sandbox.WallVariables, sandbox.TrustVariables}},
	} {
		t.Run(name, func(t *testing.T) {
			_, request := Lower(c.in)
			var names []string
			for _, kv := range request.Env {
				name, _, _ := strings.Cut(kv, "=")
				names = append(names, name)
			}
			want := slices.Concat(c.want...)
			slices.Sort(want)
			if diff := cmp.Diff(slices.Compact(want), names); diff != "" {
				t.Error(diff)
			}
		})
	}
}
