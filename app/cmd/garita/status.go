package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) statusCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Say how everything is", Args: usage(cobra.NoArgs)}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		st, err := c.client.Status(cmd.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(st)
		}
		c.showStatus(st)
		return nil
	}
	return cmd
}

func (c *cli) showStatus(st api.Status) {
	sentence := c.style.green(safe(st.Sentence))
	if !st.OK {
		sentence = c.style.red(safe(st.Sentence))
	}
	printTo(c.out, "%s\n", sentence)
	for _, w := range st.Warnings {
		printTo(c.out, "%s %s\n", c.style.amber("warning:"), safe(w))
	}
	printTo(c.out, "\n")
	f := facts{c}
	f.say("servers", count(st.Servers, "server")+", "+sandboxes(st.Running)+" running")
	waiting := "nothing waits for you"
	if st.Waiting > 0 {
		waiting = c.style.amber(count(st.Waiting, "question")+" waiting for you") + "  (garita approvals list)"
	}
	f.line("approvals", waiting)
	f.say("calls today", count(st.CallsToday, "call"))
	if p := st.Prompts; p.Calls > 0 {
		f.say("asked", fmt.Sprintf("%.1f of a hundred calls in the last 7 days", p.PerHundred))
	}
	engine := st.Engine
	if st.EngineErr != "" {
		engine += ": " + st.EngineErr
	}
	f.say("engine", engine)
	f.say("rights", map[bool]string{true: "rootless", false: "root"}[st.Rootless])
	f.say("page", or(st.Page, "off")+"  (garita ui opens it)")
	f.say("clients", or(st.Door, "over standard input and output alone"))
	f.say("kept in", st.Home)
	f.say("daemon", versionLine(st))
}

func versionLine(st api.Status) string {
	return "pid " + itoa(st.PID) + ", version " + or(st.Version, "unknown") + ", since " + st.Started.Local().Format("2006-01-02 15:04:05")
}
