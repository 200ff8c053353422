package rootless

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ProbeCommand is the argument with which Checks starts its own program in new namespaces.
const ProbeCommand = "probe-namespaces"

// probed is what the probe found inside.
type probed struct {
	Overlay string `json:"overlay"` // why an overlay cannot be mounted; "" when it can
}

// Probe is the process that Checks starts: it enters the namespaces as the engine does and tries
// the mounts that the engine needs. It answers on fd 3.
func Probe() error {
	answer := os.NewFile(3, "answer")
	defer answer.Close()
	if _, err := Enter(); err != nil {
		return err
	}
	var p probed
	if err := tryOverlay("/run"); err != nil {
		p.Overlay = err.Error()
	}
	return json.NewEncoder(answer).Encode(p)
}

func tryOverlay(dir string) error {
	var options []string
	for _, name := range []string{"lowerdir", "upperdir", "workdir", "merged"} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
		options = append(options, name+"="+path)
	}
	data := strings.Join(options[:3], ",") + ",userxattr"
	return unix.Mount("overlay", filepath.Join(dir, "merged"), "overlay", 0, data)
}

func checkNamespaces(self string) []Check {
	users := Check{Name: "user namespaces", State: OK, Found: "user, mount and pid namespaces can be made"}
	overlay := Check{Name: "overlay", State: OK, Found: "overlays can be mounted"}
	p, err := probe(self)
	switch {
	case err != nil:
		users.State, users.Found = Fail, err.Error()
		users.Consequence, users.Mend = "No sandbox can start.", mendNamespaces()
		overlay.State, overlay.Found = Fail, "not tried: there are no user namespaces"
		overlay.Consequence = users.Consequence
	case p.Overlay != "":
		overlay.State, overlay.Found = Fail, "the kernel refuses overlays in user namespaces: "+p.Overlay
		overlay.Consequence = "Snapshot workspaces do not work; read-only and direct ones do."
		overlay.Mend = "use Linux 5.11 or newer"
	}
	return []Check{users, overlay}
}

// probeTime bounds the probe, in case a security module lets it hang.
const probeTime = 10 * time.Second

func probe(self string) (probed, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return probed{}, err
	}
	defer r.Close()
	var said bytes.Buffer
	cmd, err := Start(Child{Path: self, Args: []string{ProbeCommand}, Files: []*os.File{w}, Stderr: &said})
	_ = w.Close()
	if err != nil {
		return probed{}, err
	}
	timer := time.AfterFunc(probeTime, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	answer, readErr := io.ReadAll(io.LimitReader(r, 1<<16))
	waitErr := cmd.Wait()
	var p probed
	if readErr != nil || waitErr != nil || json.Unmarshal(answer, &p) != nil {
		return probed{}, fmt.Errorf("the namespaces cannot be used: %s", strings.TrimSpace(said.String()))
	}
	return p, nil
}

// mendNamespaces names the setting that is in the way, by what is known of distributions.
func mendNamespaces() string {
	switch {
	case setting("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
	case setting("/proc/sys/user/max_user_namespaces") == "0":
		return "sudo sysctl -w user.max_user_namespaces=15000"
	case setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "install garita's AppArmor profile: sudo install -m 644 build/apparmor/garita /etc/apparmor.d/garita && sudo apparmor_parser -r /etc/apparmor.d/garita"
	case os.Geteuid() == 0:
		return "run the container with the right to mount (--privileged, or CAP_SYS_ADMIN and an unmasked /proc)"
	default:
		return "allow unprivileged user namespaces on this host"
	}
}
