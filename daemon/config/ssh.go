package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

// declaredSSH is a host that is reached by SSH, as written.
type declaredSSH struct {
	Host  string `yaml:"host"`            // "host" or "host:port"; 22 where none is named
	Keys  names  `yaml:"keys,omitempty"`  // "SHA256:…" or "ssh-ed25519 AAAA…"
	Agent names  `yaml:"agent,omitempty"` // "SHA256:…", of the person's own keys; or "any"
}

// maxSSHKeys bounds the keys of one host, of either kind.
const maxSSHKeys = 50

// lowerSSH reads the hosts that are reached by SSH. Each counts as allowed: a rule is added to l where
// none lists it.
func lowerSSH(list []declaredSSH, l *sandbox.Allowlist) error {
	if len(list) > maxRules {
		return fmt.Errorf("network: ssh: more than %d hosts", maxRules)
	}
	for _, d := range list {
		h, err := d.lower()
		if err != nil {
			return fmt.Errorf("network: ssh: %w", err)
		}
		if _, twice := l.SSHAt(h.Host, h.Port); twice {
			return fmt.Errorf("network: ssh: %s is there twice", h.Endpoint)
		}
		l.SSH = append(l.SSH, h)
		if reach, _ := l.Permits(h.Host, h.Port); reach != sandbox.Nowhere {
			continue
		}
		if err := checkPublic(h.Endpoint); err != nil {
			return fmt.Errorf("network: ssh: %w", err)
		}
		l.Endpoints = append(l.Endpoints, h.Endpoint)
	}
	return nil
}

func (d declaredSSH) lower() (h sandbox.SSHHost, err error) {
	if h.Endpoint, err = ParseSSHRule(d.Host); err != nil {
		return h, err
	}
	if len(d.Keys) > maxSSHKeys || len(d.Agent) > maxSSHKeys {
		return h, fmt.Errorf("%s: more than %d keys", h.Endpoint, maxSSHKeys)
	}
	if h.Keys, err = ParseSSHKeys(d.Keys); err != nil {
		return h, fmt.Errorf("%s: keys: %w", h.Endpoint, err)
	}
	for _, text := range d.Agent {
		k, err := sandbox.ParseSSHKey(text)
		switch {
		case text == sandbox.AnyKey && len(d.Agent) == 1:
			k = sandbox.AnyKey
		case err != nil:
			return h, fmt.Errorf("%s: agent: want the SHA256 fingerprints of keys (ssh-add -l), or any: %w", h.Endpoint, err)
		}
		if one := k.Fingerprint(); !slices.Contains(h.Agent, one) {
			h.Agent = append(h.Agent, one)
		}
	}
	return h, nil
}

// ParseSSHRule reads one host that is reached by SSH, at port 22 where none is named. Wildcards are none:
// each host has keys of its own.
func ParseSSHRule(rule string) (sandbox.Endpoint, error) {
	e, err := ParseRule(rule)
	if err != nil {
		return e, err
	}
	if _, wild := e.Wildcard(); wild {
		return e, fmt.Errorf("%q: name the host; each has keys of its own", rule)
	}
	if !namesPort(rule) {
		e.Port = sandbox.SSHPort
	}
	return e, nil
}

// namesPort says whether a rule that was read names a port.
func namesPort(rule string) bool {
	if _, after, bracketed := strings.Cut(rule, "]"); bracketed {
		return after != ""
	}
	return strings.Contains(rule, ":")
}

// ParseSSHKeys reads keys by which a host is known, each once.
func ParseSSHKeys(texts []string) (keys []sandbox.SSHKey, err error) {
	for _, text := range texts {
		k, err := sandbox.ParseSSHKey(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// declareSSH writes hosts that are reached by SSH as a person would.
func declareSSH(list []sandbox.SSHHost) (out []declaredSSH) {
	for _, h := range list {
		d := declaredSSH{Host: h.Endpoint.String(), Agent: h.Agent}
		if h.Port == sandbox.SSHPort {
			d.Host = strings.TrimSuffix(d.Host, fmt.Sprintf(":%d", sandbox.SSHPort))
		}
		for _, k := range h.Keys {
			d.Keys = append(d.Keys, string(k))
		}
		out = append(out, d)
	}
	return out
}

func (w *writer) ssh(list []declaredSSH) {
	if len(list) == 0 {
		return
	}
	w.add("ssh:")
	for _, d := range list {
		w.add("  - host: %s", scalar(d.Host))
		inner := writer{indent: w.indent + "    "}
		inner.list("keys", d.Keys)
		inner.list("agent", d.Agent)
		w.lines = append(w.lines, inner.lines...)
	}
}

// lending is of SSH what a definition's digest is taken over: at which hosts the person's keys may be used.
// A key that is pinned makes a wall narrower, and what was permitted stays so.
func lending(list []sandbox.SSHHost) (out []sandbox.SSHHost) {
	for _, h := range list {
		if h.Keys = nil; len(h.Agent) > 0 {
			out = append(out, h)
		}
	}
	return out
}
