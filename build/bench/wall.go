package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/garita-dev/garita/build/wire"
)

const (
	wallBytes    = 4 << 30 // of each download
	wallConnects = 300     // connections whose set-up is timed, one after the other
	wallParallel = 200     // connections at once
	wallTries    = 3
)

// wall measures a sandbox's way out against the same program bare: how fast it reads, what connecting
// takes longer, many connections at once, and the memory of n sandboxes that each have one.
func (b *bench) wall(ctx context.Context, n int) error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	go source(l)
	port := l.Addr().(*net.TCPAddr).Port //nolint:errcheck // of ours
	probe := fmt.Sprintf("  probe:\n    command: [%q]\n    workspace: none\n    limits: {instances: 32}\n    network: {host: [%d], ask: false}\n", b.probeProgram(), port)
	if err := b.declare(ctx, "probe", probe); err != nil {
		return err
	}
	fmt.Printf("\n**the wall** (%d MB read; %d connections one after the other; %d at once; best of %d)\n\n", wallBytes>>20, wallConnects, wallParallel, wallTries)
	fmt.Println("| | read | connect p50 | connect p99 | all at once |\n| --- | ---: | ---: | ---: | ---: |")
	bare, err := b.probe(exec.Command(b.probeProgram()), net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	walled, err := b.probe(b.connected("probe"), net.JoinHostPort("host.garita.internal", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	fmt.Printf("| bare | %s |\n| walled | %s |\n", bare, walled)
	fmt.Printf("| added | ×%.2f | %s | %s | %s |\n", walled.speed/bare.speed, ms(walled.connect.at(50)-bare.connect.at(50)),
		ms(walled.connect.at(99)-bare.connect.at(99)), ms(walled.parallel-bare.parallel))
	return errors.Join(b.wallMemory(ctx, n), b.visits(ctx))
}

// source sends as much as is wanted to who says 'r', and a byte to others.
func source(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			kind := make([]byte, 1)
			if _, err := c.Read(kind); err != nil {
				return
			}
			if kind[0] != 'r' {
				_, _ = c.Write(kind)
				return
			}
			for block := make([]byte, 1<<20); err == nil; {
				_, err = c.Write(block)
			}
		}()
	}
}

func (b *bench) probeProgram() string { return filepath.Join(filepath.Dir(b.echo), "probe") }

// connected is the bridge to a server that servers.yaml declares.
func (b *bench) connected(server string) *exec.Cmd {
	cmd := exec.Command(b.garita, "connect", server)
	cmd.Env = append(os.Environ(), "GARITA_HOME="+b.home())
	return cmd
}

// declare declares one server, and waits until it is known.
func (b *bench) declare(ctx context.Context, server, text string) error {
	if err := os.WriteFile(filepath.Join(b.home(), "config", "servers.yaml"), []byte("version: 1\nservers:\n"+text), 0o600); err != nil {
		return err
	}
	for range 100 {
		cmd := exec.CommandContext(ctx, b.garita, "server", "show", server)
		cmd.Env = append(os.Environ(), "GARITA_HOME="+b.home())
		if cmd.Run() == nil {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("the daemon does not see the server that was declared")
}

// reach is how fast a probe found the network.
type reach struct {
	speed    float64 // bytes a second
	connect  sample
	parallel time.Duration
}

func (r reach) String() string {
	return fmt.Sprintf("%.0f MB/s | %s | %s | %s", r.speed/1e6, ms(r.connect.at(50)), ms(r.connect.at(99)), ms(r.parallel))
}

func (b *bench) probe(cmd *exec.Cmd, address string) (r reach, err error) {
	note("wall: %s", address)
	c, err := wire.Start(cmd)
	if err != nil {
		return r, err
	}
	defer c.Kill()
	if _, _, err := c.Handshake("bench"); err != nil {
		return r, err
	}
	for range wallTries {
		took, err := timed(c, address, "read", wallBytes)
		if err != nil {
			return r, err
		}
		r.speed = max(r.speed, wallBytes/took.at(0).Seconds())
		all, err := timed(c, address, "parallel", wallParallel)
		if err != nil {
			return r, err
		}
		if r.parallel == 0 || all.at(0) < r.parallel {
			r.parallel = all.at(0)
		}
	}
	r.connect, err = timed(c, address, "connect", wallConnects)
	return r, err
}

func timed(c *wire.Client, address, what string, n int) (sample, error) {
	r, err := c.Call("read_network", map[string]any{"address": address, "what": what, "n": n})
	if err != nil || r.Failed {
		return nil, fmt.Errorf("%s %s: %s: %w", what, address, r.Text, err)
	}
	var all sample
	for word := range strings.FieldsSeq(r.Text) {
		ns, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %s", what, address, r.Text)
		}
		all = append(all, time.Duration(ns))
	}
	return all, nil
}

// wallMemory weighs n sandboxes that have a way out, started at once by a fresh daemon.
func (b *bench) wallMemory(ctx context.Context, n int) error {
	if err := errors.Join(b.stop(), b.start(ctx)); err != nil {
		return err
	}
	clients, took, err := b.many(n, func() *exec.Cmd { return b.connected("probe") })
	var w weights
	if err == nil {
		w, err = b.settled(ctx, clients)
	}
	for _, c := range clients {
		c.Kill()
	}
	if err != nil {
		return err
	}
	fmt.Printf("\n**memory with the wall on** (PSS)\n\n| | total | daemon | engine | wall | shims | init | connect | all ready |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	fmt.Printf("| %d sandboxes with a way out | %s | %s |\n", n, w, ms(took))
	return nil
}
