package openssh

import (
	"context"
	"errors"
	"net"
	"path/filepath"
)

// DialAgent connects to the person's agent: that of this process's environment, or one of the desktop's at
// its usual place. lookup is os.LookupEnv, but in tests.
func DialAgent(ctx context.Context, lookup func(string) (string, bool)) (net.Conn, error) {
	err := errors.New("there is none: SSH_AUTH_SOCK is not set, and none is at the usual places")
	for _, at := range agentPlaces(lookup) {
		conn, no := (&net.Dialer{}).DialContext(ctx, "unix", at)
		if no == nil {
			return conn, nil
		}
	}
	return nil, err
}

// agentPlaces are where an agent may listen, in order.
func agentPlaces(lookup func(string) (string, bool)) (all []string) {
	if at, _ := lookup("SSH_AUTH_SOCK"); at != "" {
		all = append(all, at)
	}
	if dir, _ := lookup("XDG_RUNTIME_DIR"); dir != "" {
		for _, name := range []string{"ssh-agent.socket", "ssh-agent", "gcr/ssh", "keyring/ssh", "gnupg/S.gpg-agent.ssh"} {
			all = append(all, filepath.Join(dir, name))
		}
	}
	return all
}
