package client_test

import (
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// TestAServerThatChecksPathsByTheirBeginning has the flaw of server-filesystem@2025.3.28: it takes a
// sibling whose name begins like its root for a part of it, and follows links. What is not mounted is not
// there to be read, whatever the server believes.
func TestAServerThatChecksPathsByTheirBeginning(t *testing.T) {
	x := imprison(t, nil)
	t.Run("attack_H42", func(t *testing.T) {
		sibling := x.folder + "_evil"
		if err := os.Mkdir(sibling, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(sibling) })
		x.put(sibling+"/secret", precious)
		x.denied("read_path", map[string]any{"path": sibling + "/secret"})
		x.denied("list_dir", map[string]any{"path": sibling})
		x.allowed("symlink", map[string]any{"target": sibling, "link": x.folder + "/link"})
		x.denied("read_path", map[string]any{"path": x.folder + "/link/secret"})
	})
}

// TestGaritasOwnPortsAreNotReached: not even where a rule names them.
func TestGaritasOwnPortsAreNotReached(t *testing.T) {
	e := shared(t)
	w := newWorld(t)
	own, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	go greet(own, precious)
	port := uint16(own.Addr().(*net.TCPAddr).Port) //nolint:errcheck,gosec // of ours
	t.Run("attack_H47", func(t *testing.T) {
		shell := sandboxtest.Shell(`while read -r line; do eval "$line" 2>&1 | tr '\n' ' '; echo; done`)
		in := w.settleAs(e, shell, client.Sandbox{Rules: sandbox.Allowlist{HostPorts: []uint16{port}, Localhost: true}, Closed: []uint16{port}})
		for _, host := range []string{sandbox.HostName, "localhost", "127.0.0.1", "198.18.0.1"} {
			line := fmt.Sprintf(`/usr/bin/python3 -c 'import socket; print("PASSED", socket.create_connection(("%s",%d),3).recv(100))' 2>&1 | tail -1 | grep -c PASSED`, host, port)
			if got := in.run(line); got != "0" {
				t.Errorf("%s:%d was reached: %s", host, port, got)
			}
		}
		in.denied(sandbox.DeniedPort, sandbox.HostName, port)
	})
}
