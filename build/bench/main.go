// Bench measures what Garita costs, against the bare server in the same run: the time to the first
// answer, what a read call takes longer, and the memory of everything but the servers.
//
//	bench [--only start,calls,disk,flood,memory,wall,visits,redact] [--starts N] [--calls N] [--flood 20s] [--servers N]      from ./task bench
//
// It prints a table and writes nothing. docs/benchmarks.md has such a table with its machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	starts := flag.Int("starts", 10, "starts of each kind")
	calls := flag.Int("calls", 2000, "calls of each kind")
	servers := flag.Int("servers", 10, "echo servers at once")
	flood := flag.Duration("flood", 20*time.Second, "how long 1,000 messages a second are sent")
	only := flag.String("only", "start,calls,disk,flood,memory,wall,redact", "the parts to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	parts := func(b *bench) []part {
		return []part{
			{"start", func() error { return b.startCosts(ctx, *starts) }},
			{"calls", func() error { return b.callCosts(ctx, *calls) }},
			{"disk", func() error { return b.diskCosts(200) }},
			{"flood", func() error { return b.flood(ctx, *flood) }},
			{"memory", func() error { return b.memory(ctx, *servers) }},
			{"wall", func() error { return b.wall(ctx, *servers) }},
			{"visits", func() error { return b.visits(ctx) }}, // part of wall, and alone when asked for
			{"redact", func() error { return redacting(ctx) }},
		}
	}
	if err := measure(ctx, strings.Split(*only, ","), parts); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is a temporary home, the programs, and a daemon.
type bench struct {
	garita string
	echo   string
	dir    string // a folder that servers are given is dir/folder
	node   string // a bare install of the npm servers
	daemon *exec.Cmd
}

// packages are the npm servers; their entries below node_modules.
const (
	everything = "@modelcontextprotocol/server-everything"
	filesystem = "@modelcontextprotocol/server-filesystem"
)

// part is one thing that is measured.
type part struct {
	name    string
	measure func() error
}

func measure(ctx context.Context, only []string, parts func(*bench) []part) (err error) {
	if slices.Equal(only, []string{"redact"}) { // which needs no daemon and no servers
		machine()
		return redacting(ctx)
	}
	b, err := furnish()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.remove()) }()
	if slices.Contains(only, "start") || slices.Contains(only, "calls") { // which need them
		if err := b.install(ctx); err != nil {
			return err
		}
	}
	machine()
	if err := b.start(ctx); err != nil {
		return errors.Join(err, b.stop())
	}
	for _, p := range parts(b) {
		if !slices.Contains(only, p.name) {
			continue
		}
		if err := errors.Join(p.measure(), ctx.Err()); err != nil {
			return errors.Join(err, b.stop())
		}
	}
	return b.stop()
}

func furnish() (*bench, error) {
	bin := os.Getenv("GARITA_BIN")
	if bin == "" {
		bin = "bin"
	}
	garita, err := filepath.Abs(filepath.Join(bin, "garita"))
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "garita-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{garita: garita, echo: filepath.Join(filepath.Dir(self), "echo"), dir: dir, node: filepath.Join(dir, "node")}
	for _, d := range []string{b.folder(), b.node, b.home()} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, errors.Join(err, b.remove())
		}
	}
	return b, os.WriteFile(filepath.Join(b.folder(), "a.txt"), []byte("hello\n"), 0o644)
}

func (b *bench) home() string   { return filepath.Join(b.dir, "home") }
func (b *bench) folder() string { return filepath.Join(b.dir, "folder") }

// install installs the npm servers bare; garita installs its own copies on their first run.
func (b *bench) install(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", b.node, everything, filesystem)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("install the bare servers: %w: %s", err, out)
	}
	return nil
}

func (b *bench) bare(pkg string, args ...string) *exec.Cmd {
	entry := filepath.Join(b.node, "node_modules", filepath.FromSlash(pkg), "dist", "index.js")
	return exec.Command("node", append([]string{entry}, args...)...)
}

func (b *bench) npx(pkg string, args ...string) *exec.Cmd {
	return exec.Command("npx", append([]string{"-y", pkg}, args...)...)
}

// walled is a command run by garita run. Folders, when given, are the server's workspace.
func (b *bench) walled(folder string, command ...string) *exec.Cmd {
	args := []string{"run"}
	if folder != "" {
		args = append(args, "--workspace", folder)
	}
	cmd := exec.Command(b.garita, append(append(args, "--"), command...)...)
	cmd.Env = append(os.Environ(), "GARITA_HOME="+b.home())
	return cmd
}

// start starts a daemon and waits until it answers.
func (b *bench) start(ctx context.Context) error {
	b.daemon = exec.Command(b.garita, "daemon")
	b.daemon.Env = append(os.Environ(), "GARITA_HOME="+b.home())
	log, err := os.Create(filepath.Join(b.dir, "daemon.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	b.daemon.Stdout, b.daemon.Stderr = log, log
	if err := b.daemon.Start(); err != nil {
		return err
	}
	status := exec.CommandContext(ctx, b.garita, "status")
	status.Env = b.daemon.Env
	if out, err := status.CombinedOutput(); err != nil {
		return fmt.Errorf("wait for the daemon: %w: %s", err, out)
	}
	return nil
}

func (b *bench) stop() error {
	if b.daemon == nil {
		return nil
	}
	_ = b.daemon.Process.Signal(syscall.SIGTERM)
	end := time.AfterFunc(30*time.Second, func() { _ = b.daemon.Process.Kill() })
	defer end.Stop()
	err := b.daemon.Wait()
	b.daemon = nil
	return err
}

func (b *bench) remove() error {
	if os.RemoveAll(b.dir) == nil {
		return nil
	}
	// Files of a sandbox's other users go in a user namespace that maps them.
	return exec.Command("unshare", "--user", "--map-root-user", "--map-auto", "rm", "-rf", b.dir).Run()
}
