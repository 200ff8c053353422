package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/sandbox"
)

// canonical is a Server in the form its digest is taken over: every field, in this order, with
// what is left out written as what it means. Changing it changes every digest.
type canonical struct {
	Version   int               `json:"version"`
	Name      string            `json:"name"`
	Command   []string          `json:"command"`
	Image     string            `json:"image"`
	Args      []string          `json:"args"`
	Workspace string            `json:"workspace"`
	Folders   []string          `json:"folders"`
	Mounts    []canonicalMount  `json:"mounts"`
	Env       map[string]string `json:"env"`
	Limits    sandbox.Limits    `json:"limits"`
	IdleMS    int64             `json:"idle_ms"`
	HardMS    int64             `json:"hard_ms"`
	CallMS    int64             `json:"call_ms"`
	Tools     []string          `json:"tools"`

	// What came later is left out where it is not declared, so that it changed no digest by coming.

	URL       string                  `json:"url,omitzero"`
	Headers   map[string]string       `json:"headers,omitzero"`
	Listen    sandbox.Listen          `json:"listen,omitzero"`
	Protocol  string                  `json:"protocol,omitzero"`
	Calls     string                  `json:"calls,omitzero"`
	Instances int                     `json:"instances,omitzero"`
	StartMS   int64                   `json:"start_ms,omitzero"`
	Requests  []sandbox.ServerRequest `json:"deny_requests,omitzero"`
	Allowed   []sandbox.ServerRequest `json:"allow_requests,omitzero"`
	Network   sandbox.Allowlist       `json:"network,omitzero"`
	Scripts   []string                `json:"install_scripts,omitzero"`
	Secrets   []sandbox.SecretGrant   `json:"secrets,omitzero"`
	FreezeMS  int64                   `json:"freeze_ms,omitzero"`
	NoNetwork bool                    `json:"no_network,omitzero"`
	Exec      *sandbox.ExecRules      `json:"exec,omitzero"`
}

type canonicalMount struct {
	Host     string `json:"host"`
	At       string `json:"at"`
	Writable bool   `json:"writable"`
}

// Digest identifies a server's whole definition: what is run and every wall. Two definitions that
// mean the same have the same digest, however they were written.
func Digest(s sandbox.Server) (sandbox.Digest, error) {
	b, err := json.Marshal(canonicalServer(s), json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("digest server %s: %w", s.Name, err)
	}
	sum := sha256.Sum256(b)
	return sandbox.Digest("sha256:" + hex.EncodeToString(sum[:])), nil
}

func canonicalServer(s sandbox.Server) canonical {
	c := canonical{
		Version: 1, Name: string(s.Name), Command: s.Source.Command, Image: s.Source.Image, Args: s.Source.Args,
		Workspace: string(s.Spec.Workspace), Folders: s.Spec.Folders, Env: s.Spec.Env, Limits: s.Spec.Limits.OrDefaults(),
		IdleMS: s.Spec.Lifecycle.Idle.Milliseconds(), HardMS: s.Spec.Lifecycle.Hard.Milliseconds(),
		CallMS: s.Spec.Lifecycle.Call.Milliseconds(), Tools: s.Spec.Tools.Allow,
	}
	c.later(s)
	if c.Workspace == "" {
		c.Workspace = string(sandbox.Snapshot)
	}
	for _, m := range s.Spec.Mounts {
		c.Mounts = append(c.Mounts, canonicalMount(m))
	}
	return c
}

func (c *canonical) later(s sandbox.Server) {
	c.URL, c.Listen, c.Protocol = s.Source.URL, s.Source.Listen, s.Spec.Protocol
	c.Calls, c.Instances, c.StartMS = s.Spec.Limits.Calls.String(), s.Spec.Limits.Instances, s.Spec.Lifecycle.Start.Milliseconds()
	c.FreezeMS, c.Exec = s.Spec.Lifecycle.Freeze.Milliseconds(), canonicalExec(s.Spec.Exec)
	if c.Instances == sandbox.DefaultInstances {
		c.Instances = 0
	}
	if s.Spec.Lifecycle.Start == sandbox.DefaultStart {
		c.StartMS = 0
	}
	if len(s.Source.Headers) > 0 {
		c.Headers = s.Source.Headers
	}
	if c.NoNetwork = s.Spec.Network.Empty() && !s.Source.External(); !reflect.DeepEqual(s.Spec.Network, sandbox.Unsaid()) {
		c.Network = s.Spec.Network
		c.Network.SSH = lending(c.Network.SSH)
	}
	if len(s.Spec.DenyRequests) > 0 {
		c.Requests = s.Spec.DenyRequests
	}
	if len(s.Spec.AllowRequests) > 0 {
		c.Allowed = s.Spec.AllowRequests
	}
	if len(s.Spec.InstallScripts) > 0 {
		c.Scripts = s.Spec.InstallScripts
	}
	if len(s.Spec.Secrets) > 0 {
		c.Secrets = s.Spec.Secrets
	}
}
