// Garita-engine is the process that runs sandboxes, and the wall beside it. The daemon starts both;
// by hand it is of use for `garita-engine doctor` only.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/garita-dev/garita/sandbox/egress"
	"github.com/garita-dev/garita/sandbox/engine"
	"github.com/garita-dev/garita/sandbox/engine/client"
	"github.com/garita-dev/garita/sandbox/rootless"
)

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch command {
	case "engine":
		return report(engine.Main(context.Background()))
	case "egress":
		return egress.Main()
	case "doctor":
		return report(doctor(args[1:]))
	case rootless.ProbeCommand:
		return report(rootless.Probe())
	default:
		fmt.Fprintln(os.Stderr, "usage: garita-engine doctor\n\nThe garita daemon starts this program; nobody else needs to.")
		return 2
	}
}

// doctor prints the checks as JSON; the one argument is Garita's data directory, for the disk.
func doctor(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	data := ""
	if len(args) > 0 {
		data = args[0]
	}
	return rootless.PrintChecks(os.Stdout, client.Subject(self, data))
}

func report(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "garita-engine:", err)
		return 1
	}
	return 0
}
