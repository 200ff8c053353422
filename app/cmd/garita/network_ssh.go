package main

import (
	"strings"

	"github.com/garita-dev/garita/daemon/api"
)

// showSSH says by which keys the hosts that are reached by SSH are known, and where the person's own sign in.
func (c *cli) showSSH(n api.Network) {
	for _, h := range n.SSH {
		printTo(c.out, "  %s\n", safe(sshWords(n, h)))
	}
}

func sshWords(n api.Network, h api.NetworkSSH) string {
	words := h.Host + " by SSH, known by " + strings.Join(h.Keys, ", ")
	switch {
	case len(h.Keys) > 0:
	case n.Ask:
		words = h.Host + " by SSH; a key that your own known_hosts does not have is asked about, with its fingerprint"
	default:
		words = h.Host + " by SSH; a key that your own known_hosts does not have is refused: pin it by --key"
	}
	if len(h.Agent) > 0 {
		words += "; your own keys sign in there, each time asked about: " + strings.Join(h.Agent, ", ")
	}
	return words
}
