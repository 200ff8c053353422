package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/garita-dev/garita/build/wire"
)

// callCosts compares read calls, bare and behind walls, in turns of a hundred.
func (b *bench) callCosts(_ context.Context, n int) error {
	file := map[string]any{"path": filepath.Join(b.folder(), "a.txt")}
	text := map[string]any{"text": "hello"}
	fmt.Printf("\n**one read call** (%d each, in turns of 100; policy, recorded decision and record on)\n\n", n)
	fmt.Println("| | bare p50 | p99 | garita p50 | p99 | added p50 | added p99 |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, c := range []struct {
		name         string
		bare, walled *exec.Cmd
		tool         string
		args         map[string]any
	}{
		{"echo (Go)", exec.Command(b.echo), b.walled("", b.echo), "read_text", text},
		{"read_text_file (server-filesystem, snapshot)", b.bare(filesystem, b.folder()), b.walled(b.folder(), "npx", "-y", filesystem, b.folder()), "read_text_file", file},
	} {
		note("calls: %s", c.name)
		bare, walled, err := inTurns(c.bare, c.walled, n, c.tool, c.args)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Printf("| %s | %s | %s | %s | %s | **%s** | **%s** |\n", c.name, ms(bare.at(50)), ms(bare.at(99)),
			ms(walled.at(50)), ms(walled.at(99)), ms(walled.at(50)-bare.at(50)), ms(walled.at(99)-bare.at(99)))
	}
	return nil
}

func inTurns(bare, walled *exec.Cmd, n int, tool string, args map[string]any) (a, b sample, err error) {
	clients := make([]*wire.Client, 2)
	for i, cmd := range []*exec.Cmd{bare, walled} {
		if clients[i], err = wire.Start(cmd); err != nil {
			return nil, nil, err
		}
		defer clients[i].Kill()
		if _, _, err = clients[i].Handshake("bench"); err != nil {
			return nil, nil, err
		}
	}
	took := make([]sample, 2)
	const turn = 100
	for round := range (n+turn-1)/turn + 1 {
		for i, c := range clients {
			for range turn {
				began := time.Now()
				r, err := c.Call(tool, args)
				if err != nil || r.Failed {
					return nil, nil, fmt.Errorf("the call was not answered: %s: %w", r.Text, err)
				}
				if round > 0 { // the first turn warms up
					took[i] = append(took[i], time.Since(began))
				}
			}
		}
	}
	return took[0], took[1], nil
}
