package engine

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/ocispec"
)

// sshConfig is the system's configuration of OpenSSH inside. The wall has looked at a host's key before a
// client sees it, so a client need not ask; nor need it remember, for what it is known by may be changed
// outside. A key that ssh_known_hosts has otherwise is refused all the same.
const sshConfig = `Host *
    StrictHostKeyChecking accept-new
    UserKnownHostsFile /dev/null
    CheckHostIP no
    UpdateHostKeys no
    LogLevel ERROR
`

const (
	sshConfigFile  = "ssh/ssh_config" // below /etc
	knownHostsFile = "ssh/ssh_known_hosts"
)

// sshFiles are the hosts that the sandbox knows. An image has a configuration of its own, in whose place
// ours is.
func (e *Engine) sshFiles(l sandbox.Launch, dir string) ([]ocispec.Bind, error) {
	if l.KnownHosts == "" {
		return nil, nil
	}
	known := filepath.Join(dir, "known_hosts")
	binds := []ocispec.Bind{{Source: known, At: "/etc/" + knownHostsFile, Options: []string{"noexec"}}}
	if l.Root.Image != "" {
		binds = append(binds, ocispec.Bind{Source: filepath.Join(e.host.Etc, sshConfigFile), At: "/etc/" + sshConfigFile, Options: []string{"noexec"}})
	}
	return binds, writeFile(known, []byte(l.KnownHosts))
}

// listenAt gives the socket that the daemon accepts on its place, which only this engine sees, and what it
// is bound into.
func listenAt(socket *os.File, path string) error {
	if err := unix.Bind(int(socket.Fd()), &unix.SockaddrUnix{Name: path}); err != nil {
		return fmt.Errorf("bind the agent's socket: %w", err)
	}
	if err := unix.Listen(int(socket.Fd()), 16); err != nil {
		return fmt.Errorf("listen for the agent: %w", err)
	}
	return nil
}
