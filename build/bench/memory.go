package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/garita-dev/garita/build/wire"
)

// memory weighs the daemon and its children idle, then with one and with n echo servers, which
// are started at once.
func (b *bench) memory(ctx context.Context, n int) error {
	if err := b.stop(); err != nil { // a fresh daemon: what came before does not count
		return err
	}
	if err := b.start(ctx); err != nil {
		return err
	}
	idle, err := b.settled(ctx, nil)
	if err != nil {
		return err
	}
	fmt.Printf("\n**memory of everything but the servers** (PSS; what cannot be read, RSS)\n\n")
	fmt.Println("| | total | daemon | engine | wall | shims | init | connect | all ready |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	fmt.Printf("| idle | %s | – |\n", idle)
	for _, count := range []int{1, n} {
		note("memory: %d servers", count)
		clients, took, err := b.many(count, func() *exec.Cmd { return b.walled("", b.echo) })
		if err == nil {
			var w weights
			if w, err = b.settled(ctx, clients); err == nil {
				fmt.Printf("| %d echo, walled | %s | %s |\n", count, w, ms(took))
			}
		}
		for _, c := range clients {
			c.Kill()
		}
		if err != nil {
			return err
		}
	}
	clients, took, err := b.many(n, func() *exec.Cmd { return exec.Command(b.echo) })
	for _, c := range clients {
		c.Kill()
	}
	fmt.Printf("| %d echo, bare | – | | | | | | | %s |\n", n, ms(took))
	return err
}

// many starts n servers at once and waits until all have listed their tools.
func (b *bench) many(n int, command func() *exec.Cmd) ([]*wire.Client, time.Duration, error) {
	clients, errs := make([]*wire.Client, n), make([]error, n)
	began := time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if clients[i], errs[i] = wire.Start(command()); errs[i] == nil {
				_, _, errs[i] = clients[i].Handshake("bench")
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	var started []*wire.Client
	var failed error
	for i, c := range clients {
		if c != nil {
			started = append(started, c)
		}
		if errs[i] != nil {
			failed = errs[i]
		}
	}
	return started, took, failed
}

// weights is bytes by process name.
type weights map[string]int64

func (w weights) String() string {
	var total int64
	for name, bytes := range w {
		if name != "server" {
			total += bytes
		}
	}
	cells := []string{mb(total)}
	for _, name := range []string{"daemon", "engine", "wall", "shim", "init", "connect"} {
		cells = append(cells, mb(w[name]))
	}
	return strings.Join(cells, " | ")
}

// settled weighs after a moment in which nothing is asked of anyone.
func (b *bench) settled(ctx context.Context, clients []*wire.Client) (weights, error) {
	select {
	case <-time.After(3 * time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	roots := []int{b.daemon.Process.Pid}
	for _, c := range clients {
		roots = append(roots, c.PID())
	}
	w := weights{}
	children := tree()
	var visit func(pid int)
	visit = func(pid int) {
		w[b.role(pid)] += weigh(pid)
		for _, child := range children[pid] {
			visit(child)
		}
	}
	for _, root := range roots {
		visit(root)
	}
	return w, nil
}

// role is which of our programs a process is; whatever is none of ours is a server.
func (b *bench) role(pid int) string {
	args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.Split(strings.TrimRight(string(args), "\x00"), "\x00")
	second := ""
	if len(words) > 1 {
		second = words[1]
	}
	switch name := filepath.Base(words[0]); {
	case name == "garita" && second == "daemon":
		return "daemon"
	case name == "garita":
		return "connect"
	case name == "garita-engine" && second == "egress":
		return "wall"
	case name == "garita-engine":
		return "engine"
	case name == "garita-init", words[0] == "/.garita/init": // as it is called inside
		return "init"
	case strings.HasPrefix(name, "containerd-shim"), name == "runc":
		return "shim"
	}
	return "server"
}

// tree lists the children of every process.
func tree() map[int][]int {
	children := map[int][]int{}
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			children[parent] = append(children[parent], pid)
		}
	}
	return children
}

// weigh is a process's proportional set size, in bytes; its resident set where that cannot be read.
func weigh(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err == nil {
		lines := bufio.NewScanner(bytes.NewReader(text))
		for lines.Scan() {
			var kb int64
			if _, err := fmt.Sscanf(lines.Text(), "Pss: %d kB", &kb); err == nil {
				return kb << 10
			}
		}
	}
	text, _ = os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, resident int64
	_, _ = fmt.Sscan(string(text), &size, &resident)
	return resident * int64(os.Getpagesize())
}
