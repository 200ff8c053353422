// Conformance proves the gateway on the official MCP suite and on real clients and servers.
//
//	conformance [-v] [-only PATTERN] suites clients    from ./task conformance
//	conformance [-v] [-only PATTERN] servers           from ./task servers
//
// PATTERN picks revisions and servers by their names.
//
// Each part compares what comes through Garita with what comes without it, in the same run, and
// prints a table; docs/conformance.md and docs/servers.md have such tables. Its results are printed
// as `go test -json` prints them, for build/testcount; the rest is for people.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "proxy" {
		exit(bear(os.Args[2], os.Getenv("TOKEN")))
	}
	if len(os.Args) > 2 && os.Args[1] == "greet" {
		exit(greetAs(os.Args[2:]))
	}
	verbose := flag.Bool("v", false, "print what the suite and the clients print")
	only := flag.String("only", "", "only revisions and servers whose name matches this `PATTERN`")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		exit(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	exit(prove(ctx, *verbose, pattern, flag.Args()))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// prove runs the parts and cleans up whatever happens. That something did not come out as it should
// is in the results, not in the error.
func prove(ctx context.Context, verbose bool, only *regexp.Regexp, parts []string) (err error) {
	s, err := newStage(verbose, only)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	defer func() {
		if err != nil || s.failed {
			s.daemonLog()
		}
	}()
	defer func() { err = errors.Join(err, s.close()) }()
	for _, part := range parts {
		switch part {
		case "suites":
			err = s.suites(ctx)
		case "clients":
			err = s.clients(ctx)
		case "servers":
			err = s.servers(ctx)
		default:
			return fmt.Errorf("no part is called %s", part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
