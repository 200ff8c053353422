//go:build !thin

package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon"
)

func (c *cli) policyClassifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "classify FILE", Short: "Say what a server's tools do, by its tools/list answer",
		Long: "Say of each tool of a server what its calls do, whether what it reads is sensitive, and what the default policy\n" +
			"makes of it as long as nothing is known of its arguments. FILE is the server's answer to tools/list: the\n" +
			"JSON-RPC message, its result or the bare list; - reads standard input. Where arguments decide, the class is\n" +
			"depends and the tool asks; --json says also what a call without any argument gets. Needs no daemon.",
		Example: `  garita policy classify tools.json
  garita policy classify tools.json --server @modelcontextprotocol/server-filesystem`,
		Args: usage(cobra.ExactArgs(1)),
	}
	asJSON := jsonFlag(cmd)
	server := cmd.Flags().String("server", "", "the server's `NAME`: a profile, or the package, image or URL it is run by")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		listing, err := c.listing(args[0])
		if err != nil {
			return err
		}
		found, err := daemon.ClassifyTools(listing, *server)
		if err != nil {
			return fmt.Errorf("classify the tools of %s: %w", safe(args[0]), err)
		}
		if *server != "" && found.Profile == "" {
			printTo(c.err, "no profile is known for %s: its tools are judged by their own words\n", safe(*server))
		}
		if *asJSON {
			return c.printJSON(found)
		}
		c.printClassified(found)
		return nil
	}
	return cmd
}

// listing reads a file, or standard input for "-".
func (c *cli) listing(name string) ([]byte, error) {
	const most = 32<<20 + 1
	if name == "-" {
		return io.ReadAll(io.LimitReader(c.in, most))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, most))
}

func (c *cli) printClassified(found daemon.ClassifiedTools) {
	if len(found.Tools) == 0 {
		printTo(c.out, "The server lists no tools.\n")
		return
	}
	t := table{head: []string{"TOOL", "CLASS", "SENSITIVE", "EFFECT", "WHY"}}
	for _, tool := range found.Tools {
		sensitive := "-"
		if tool.Sensitive {
			sensitive = "yes"
		}
		t.add(tool.Name, tool.Class, sensitive, tool.Effect, tool.Why)
	}
	t.print(c.out, c.style)
	if found.Profile != "" {
		printTo(c.out, "\nTools that the profile %s knows are judged by it, the others by their own words.\n", safe(found.Profile))
	}
}
