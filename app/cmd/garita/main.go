// Command garita is everything of Garita but its window and its engine: the daemon, the commands a
// person types, the bridge an MCP client runs, and the tray. It is thin: flags in, the daemon's API out.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], newCLI(os.Stdin, os.Stdout, os.Stderr))
	stop()
	os.Exit(code)
}
