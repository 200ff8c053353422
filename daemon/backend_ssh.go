package daemon

import (
	"errors"
	"fmt"
	"slices"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/approvals/grants"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/sandbox"
)

// sshOf is what is said of hosts that are reached by SSH. One that is only listed, at the usual port, has no
// key yet.
func sshOf(l sandbox.Allowlist) []api.NetworkSSH {
	out := []api.NetworkSSH{}
	for _, h := range l.SSH {
		out = append(out, api.NetworkSSH{Host: h.Endpoint.String(), Keys: fingerprints(h.Keys), Agent: notNil(h.Agent)})
	}
	for _, e := range slices.Concat(l.Endpoints, l.LAN) {
		if _, said := l.SSHAt(e.Host, e.Port); !said && e.Port == sandbox.SSHPort {
			out = append(out, api.NetworkSSH{Host: e.String(), Keys: []string{}, Agent: []string{}})
		}
	}
	return out
}

func fingerprints(keys []sandbox.SSHKey) []string {
	out := []string{}
	for _, k := range keys {
		if f := k.Fingerprint(); !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// withKeys is l with keys by which e may name itself, besides those that are pinned already.
func withKeys(l sandbox.Allowlist, e sandbox.Endpoint, texts []string) (sandbox.Allowlist, error) {
	keys, err := config.ParseSSHKeys(texts)
	if err != nil || len(keys) == 0 {
		return l, err
	}
	if _, wild := e.Wildcard(); wild {
		return l, fmt.Errorf("%s: name the host; each has keys of its own", e)
	}
	l.SSH = slices.Clone(l.SSH)
	i := slices.IndexFunc(l.SSH, func(h sandbox.SSHHost) bool { return h.Endpoint == e })
	if i < 0 {
		i, l.SSH = len(l.SSH), append(l.SSH, sandbox.SSHHost{Endpoint: e})
	}
	h := &l.SSH[i]
	h.Keys = slices.Clone(h.Keys)
	for _, k := range keys {
		if !h.Pinned(k.Fingerprint()) {
			h.Keys = append(h.Keys, k)
		}
	}
	return l, nil
}

// changedSSH is l changed as c says, its keys included: what is not reached any more has none.
func changedSSH(l sandbox.Allowlist, c api.NetworkChange) (sandbox.Allowlist, error) {
	l, err := changed(l, c)
	if err != nil {
		return l, err
	}
	l.SSH = slices.DeleteFunc(slices.Clone(l.SSH), func(h sandbox.SSHHost) bool {
		reach, _ := l.Permits(h.Host, h.Port)
		return reach == sandbox.Nowhere
	})
	switch {
	case len(c.Keys) == 0:
		return l, nil
	case !c.Allow:
		return l, errors.New("keys go with a host that is allowed")
	}
	e, err := config.ParseRule(c.Host)
	if err != nil {
		return l, err
	}
	return withKeys(l, e, c.Keys)
}

// keyedHost is the host that g lets name itself by a key.
func keyedHost(g approvals.Grant) string {
	host, _ := grants.HostKey(g)
	return host
}
