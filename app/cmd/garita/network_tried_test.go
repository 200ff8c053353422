package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/api"
)

// TestWhatATriedHostProposes: what no command can allow is left out, and each host is named once.
func TestWhatATriedHostProposes(t *testing.T) {
	got := proposed(api.Network{Tried: []api.NetworkTried{
		{Host: "b.example.com", Propose: "b.example.com:443"},
		{Host: "a.example.com", Propose: "a.example.com:443"},
		{Host: "a.example.com", Port: 443, Propose: "a.example.com:443"},
		{Host: "nas", Propose: "lan: [nas:443]"},
		{Host: "169.254.169.254", Port: 80},
	}})
	if diff := cmp.Diff([]string{"a.example.com:443", "b.example.com:443"}, got); diff != "" {
		t.Error(diff)
	}
}
