package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/garita-dev/garita/build/wire"
)

// callCosts compares read calls, bare and behind walls, in turns of one: each call through Garita
// is set against the bare one just before it, so that what else the machine does falls on both. A
// colleague's compiler shows all the same; the 10th of 100 is nearest to a quiet machine.
func (b *bench) callCosts(_ context.Context, n int) error {
	file := map[string]any{"path": filepath.Join(b.folder(), "a.txt")}
	text := map[string]any{"text": "hello"}
	fmt.Printf("\n**one read call** (%d each, in turns of one; policy, recorded decision, effects check and record on; added: the difference to the bare call just before)\n\n", n)
	fmt.Println("| | bare p50 | p99 | garita p50 | p99 | added p10 | p50 | p99 |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, c := range []struct {
		name         string
		bare, walled *exec.Cmd
		tool         string
		args         map[string]any
	}{
		{"echo (Go), no workspace", exec.Command(b.echo), b.walled("", b.echo), "read_text", text},
		{"read_text_file (server-filesystem, snapshot)", b.bare(filesystem, b.folder()), b.walled(b.folder(), "npx", "-y", filesystem, b.folder()), "read_text_file", file},
	} {
		note("calls: %s", c.name)
		bare, walled, added, err := inTurns(c.bare, c.walled, n, c.tool, c.args)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Printf("| %s | %s | %s | %s | %s | %s | **%s** | **%s** |\n", c.name, ms(bare.at(50)), ms(bare.at(99)),
			ms(walled.at(50)), ms(walled.at(99)), ms(added.at(10)), ms(added.at(50)), ms(added.at(99)))
	}
	return nil
}

// warmUp is how many calls of each kind do not count.
const warmUp = 200

// inTurns calls both servers n times by turns; added is each pair's difference.
func inTurns(bare, walled *exec.Cmd, n int, tool string, args map[string]any) (a, b, added sample, err error) {
	clients := make([]*wire.Client, 2)
	for i, cmd := range []*exec.Cmd{bare, walled} {
		if clients[i], err = wire.Start(cmd); err != nil {
			return nil, nil, nil, err
		}
		defer clients[i].Kill()
		if _, _, err = clients[i].Handshake("bench"); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := range n + warmUp {
		var took [2]time.Duration
		for j, c := range clients {
			if took[j], err = call(c, tool, args); err != nil {
				return nil, nil, nil, err
			}
		}
		if i >= warmUp {
			a, b, added = append(a, took[0]), append(b, took[1]), append(added, took[1]-took[0])
		}
	}
	return a, b, added, nil
}

func call(c *wire.Client, tool string, args map[string]any) (time.Duration, error) {
	began := time.Now()
	r, err := c.Call(tool, args)
	if err != nil || r.Failed {
		return 0, fmt.Errorf("the call was not answered: %s: %w", r.Text, err)
	}
	return time.Since(began), nil
}

// diskCosts measures what a decision about a write waits for and a read does not: the disk.
func (b *bench) diskCosts(n int) error {
	f, err := os.Create(filepath.Join(b.home(), "fsync"))
	if err != nil {
		return err
	}
	defer f.Close()
	page := make([]byte, 4096)
	var took sample
	for range n {
		if _, err := f.Write(page); err != nil {
			return err
		}
		began := time.Now()
		if err := f.Sync(); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	fmt.Printf("\n**one fsync where the record is** (%d; a write's decision waits for its own, a read's for none): p50 %s, p99 %s\n", n, ms(took.at(50)), ms(took.at(99)))
	return nil
}
