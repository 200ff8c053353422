package main

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/garita-dev/garita/daemon/api"
)

// cli is what commands work with.
type cli struct {
	in        *os.File
	out, err  io.Writer
	asks      bool // a person can be asked: standard input is a terminal
	pretty    bool // standard output is a terminal
	livelyErr bool // standard error is one, too
	style     style
	client    *api.Client
}

func newCLI(in, out, err *os.File) *cli {
	tty := term.IsTerminal(int(out.Fd()))
	return &cli{
		in: in, out: out, err: err,
		asks:      term.IsTerminal(int(in.Fd())),
		pretty:    tty,
		livelyErr: term.IsTerminal(int(err.Fd())),
		style:     style{on: tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"},
		client:    api.Default(),
	}
}

// run is the whole program: it runs one command and returns the exit code.
func run(ctx context.Context, args []string, c *cli) int {
	defer c.client.Close()
	root := c.rootCommand()
	root.SetArgs(args)
	return c.finish(root.ExecuteContext(ctx))
}
