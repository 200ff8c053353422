package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) serverCommand() *cobra.Command {
	return family("server", "Look at and manage configured servers",
		c.serverListCommand(), c.serverShowCommand(), c.serverLogsCommand(), c.serverAddCommand(),
		c.serverActCommand("start", "Have a server ready to start: installed, and not held back", "Install what a server runs and, where it was held back after crashing, let it be started again.\nA server is started by the first client that needs it.", "ready to start", (*api.Client).StartServer),
		c.serverActCommand("freeze", "Have a server's processes stand still", "Have a server's processes stand still, with what they hold in memory. The next message lets them go on.", "frozen; the next message lets it go on", (*api.Client).FreezeServer),
		c.serverActCommand("thaw", "Let a frozen server go on", "Let a server's frozen processes go on.", "goes on", (*api.Client).ThawServer),
		c.serverActCommand("stop", "End a server's sandboxes", "End a server's sandboxes. The next call starts it again.", "stopped", (*api.Client).StopServer),
		c.serverActCommand("restart", "End a server's sandboxes and forget its failures", "End a server's sandboxes and forget its failures. The next call starts it again.", "ended; the next call starts it again", (*api.Client).RestartServer),
		c.serverReviewCommand(), c.serverUpdateCommand(), c.serverObserveCommand(), c.serverRemoveCommand())
}

func (c *cli) serverListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List servers", Args: usage(cobra.NoArgs)}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		list, err := c.client.Servers(cmd.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(list)
		}
		c.showServers(list)
		return nil
	}
	return cmd
}

func (c *cli) showServers(list []api.Server) {
	if len(list) == 0 {
		printTo(c.out, "No servers yet. Take over a client's: garita import --from claude-desktop\n")
		return
	}
	t := table{head: []string{"name", "state", "workspace", "running", "runs"}}
	for _, s := range list {
		t.add(s.Name, s.State, s.Workspace, itoa(len(s.Instances)), runs(s))
	}
	t.print(c.out, c.style)
}

// runs is what a server runs, in short.
func runs(s api.Server) string {
	if in := or(s.Image, s.URL); in != "" {
		return in
	}
	if s.Package != "" {
		name, _, _ := strings.Cut(s.Package, " ")
		return name
	}
	return commandLine(s.Command)
}

func (c *cli) serverShowCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "show NAME", Short: "Show one server", Args: usage(cobra.ExactArgs(1))}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		s, err := c.client.Server(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return c.printJSON(s)
		}
		c.showServer(s)
		if n, err := c.client.Network(cmd.Context(), args[0]); err == nil { // it is told of besides
			facts{c}.say("reaches", allowedWords(n))
			c.showTried(n)
		}
		return nil
	}
	return cmd
}

func (c *cli) showServer(s api.Server) {
	f := facts{c}
	state := c.style.word(safe(s.State))
	if s.Reason != "" {
		state += safe(": " + s.Reason)
	}
	f.say("name", s.Name)
	f.line("state", state)
	f.say("command", commandLine(s.Command))
	f.say("image", s.Image)
	f.say("url", s.URL)
	f.say("package", s.Package)
	f.say("workspace", s.Workspace)
	f.list("folders", s.Folders)
	f.list("variables", s.Variables)
	f.list("executes", executes(s.Exec))
	f.list("clients", s.Clients)
	f.list("limits", limits(s.Limits))
	f.list("notices", s.Notices)
	for _, i := range s.Instances {
		f.say("running", i.ID+" for "+or(i.Agent, "no client")+", "+i.State+", since "+i.Started.Local().Format("15:04:05"))
	}
	if len(s.Tools) > 0 {
		printTo(c.out, "\n")
		c.showTools(s.Tools)
	}
}

// executes are rules for commands, one a line, the strongest first.
func executes(r *api.ExecRules) []string {
	if r == nil {
		return nil
	}
	var out []string
	for _, list := range []struct {
		word     string
		patterns []string
	}{{"never", r.Deny}, {"asks about", r.Ask}, {"may", r.Allow}} {
		for _, p := range list.patterns {
			out = append(out, list.word+" "+p)
		}
	}
	return append(out, "nothing else")
}

func limits(list []api.Limit) []string {
	out := make([]string, 0, len(list))
	for _, l := range list {
		out = append(out, l.Name+" "+l.Value+" ("+l.By+")")
	}
	return out
}

func (c *cli) showTools(tools []api.Tool) {
	t := table{head: []string{"tool", "does", "note"}}
	for _, tool := range tools {
		t.add(tool.Name, tool.Class, tool.Demoted)
	}
	t.print(c.out, c.style)
}

// serverActCommand is a command that does one thing to a server.
func (c *cli) serverActCommand(verb, short, long, done string, do func(*api.Client, context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Long: long, Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.reachable(cmd.Context()); err != nil {
				return err
			}
			if err := do(c.client, cmd.Context(), args[0]); err != nil {
				return err
			}
			printTo(c.err, "%s: %s\n", safe(args[0]), done)
			return nil
		},
	}
}

func (c *cli) serverRemoveCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Remove a server from the settings", Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.confirm(cmd.CommandPath(), "Remove "+safe(args[0])+"?", yes); err != nil {
				return err
			}
			if err := c.reachable(cmd.Context()); err != nil {
				return err
			}
			return c.client.RemoveServer(cmd.Context(), args[0])
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "agree beforehand")
	return cmd
}
