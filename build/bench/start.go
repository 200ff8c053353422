package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/garita-dev/garita/build/wire"
)

// first is how long a command takes from its start to its first answer to tools/list.
func first(cmd *exec.Cmd) (time.Duration, error) {
	began := time.Now()
	c, err := wire.Start(cmd)
	if err != nil {
		return 0, err
	}
	_, tools, err := c.Handshake("bench")
	took := time.Since(began)
	if err != nil || len(tools) == 0 {
		c.Kill()
		return 0, fmt.Errorf("%s: no tools: %w", cmd.Path, err)
	}
	return took, c.Close()
}

// startCosts compares the ways to start server-everything, in turns, so that what else the machine
// does falls on all of them alike.
func (b *bench) startCosts(_ context.Context, n int) error {
	ways := []struct {
		name    string
		command func() *exec.Cmd
	}{
		{"`node dist/index.js`, bare", func() *exec.Cmd { return b.bare(everything) }},
		{"`npx -y`, bare, warm", func() *exec.Cmd { return b.npx(everything) }},
		{"`garita run -- npx -y`, installed", func() *exec.Cmd { return b.walled("", "npx", "-y", everything) }},
	}
	took := make([]sample, len(ways))
	for round := range n + 1 { // the first, in which things are installed, does not count
		for i, way := range ways {
			d, err := first(way.command())
			note("start %d of %d, %s: %s", round, n, way.name, ms(d))
			if err != nil {
				return err
			}
			if round > 0 {
				took[i] = append(took[i], d)
			}
		}
	}
	fmt.Printf("\n**server-everything, start to tools/list answered** (%d each, in turns)\n\n", n)
	fmt.Println("| | p50 | p90 | × bare node |\n| --- | ---: | ---: | ---: |")
	for i, way := range ways {
		fmt.Printf("| %s | %s | %s | %.2f |\n", way.name, ms(took[i].at(50)), ms(took[i].at(90)), ratio(took[i].at(50), took[0].at(50)))
	}
	return nil
}
