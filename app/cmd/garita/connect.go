package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) connectCommand() *cobra.Command {
	var a api.Attach
	cmd := &cobra.Command{
		Use: "connect NAME", Short: "Bridge an MCP client's stdio to a configured server",
		Long: "Bridge standard input and output to a configured server. MCP clients run this;\ngarita import --rewire writes it into their settings.",
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Server = args[0]
			return c.bridge(cmd.Context(), a)
		},
	}
	attachFlags(cmd, &a)
	return cmd
}

func (c *cli) runCommand() *cobra.Command {
	var a api.Attach
	cmd := &cobra.Command{
		Use: "run [flags] -- COMMAND…", Short: "Sandbox one server now, MCP on standard input and output",
		Example: "  garita run --workspace ~/shop -- npx -y @modelcontextprotocol/server-filesystem ~/shop",
		Args:    usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Command = args
			var err error
			if a.Dir, err = os.Getwd(); err != nil {
				return fmt.Errorf("find the current folder: %w", err)
			}
			return c.bridge(cmd.Context(), a)
		},
	}
	attachFlags(cmd, &a)
	cmd.Flags().StringVar(&a.Mode, "mode", "", "what becomes of the folders: snapshot (default), read-only, direct or none")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func attachFlags(cmd *cobra.Command, a *api.Attach) {
	cmd.Flags().StringVar(&a.Client, "client", "", "`ID` of the client's entry, for its grants and workspaces")
	cmd.Flags().StringVar(&a.Agent, "agent", "", "`NAME` of the agent whose workspace it is")
	cmd.Flags().StringArrayVar(&a.Workspace, "workspace", nil, "`DIR` the server may work in; may be given again")
}

// bridge attaches to the daemon and stays until the session has ended. Where that can be, the
// client's own standard input and output are handed to the daemon; else their bytes are carried.
func (c *cli) bridge(ctx context.Context, a api.Attach) error {
	if err := absolute(a.Workspace); err != nil {
		return err
	}
	a.PID = clientPID(os.Getpid(), lookProc, programName())
	open, carry := c.client.Attach, c.carry
	if out, ok := c.out.(*os.File); ok && api.CanHandOver(c.in, out, os.Stderr) {
		open, carry = c.handOver(out), awaitEnd
		defer api.Blocking(c.in, out)()
	}
	conn, err := c.attach(ctx, a, open)
	if takesNoFiles(err) {
		carry = c.carry
		conn, err = c.attach(ctx, a, c.client.Attach)
	}
	if err != nil {
		c.turnAway(ctx, err)
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	go c.followClient(conn) // it may stay in Poll when the server ends first; the process ends right after
	verdict, err := carry(conn)
	if verdict != "" && ctx.Err() == nil {
		return errors.New(verdict)
	}
	return ending(ctx, err)
}

// takesNoFiles says whether err is that of a daemon older than we are, which takes no client's standard
// input and output over: it wants their bytes.
func takesNoFiles(err error) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Status == http.StatusUpgradeRequired
}

// opening opens a session with the daemon.
type opening func(context.Context, api.Attach) (net.Conn, error)

// handOver opens a session in which the daemon reads and writes our standard input and output.
func (c *cli) handOver(out *os.File) opening {
	return func(ctx context.Context, a api.Attach) (net.Conn, error) {
		return c.client.AttachStdio(ctx, a, c.in, out)
	}
}

// awaitEnd waits for the end of a session that carries nothing but its verdict.
func awaitEnd(conn net.Conn) (verdict string, err error) { return api.Carry(io.Discard, conn) }

// carry carries bytes until the server's side has ended, with the verdict where the session failed.
func (c *cli) carry(conn net.Conn) (verdict string, err error) {
	go forward(conn, c.in) // it may stay in Read; the process ends right after
	return api.Carry(c.out, conn)
}

// ending tells why bytes stopped coming, where that was not the server's own end.
func ending(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() != nil:
		return nil
	case errors.Is(err, net.ErrClosed): // by followClient: nobody is left to be told
		return silent{exitFailed}
	case errors.Is(err, syscall.ECONNRESET):
		return errors.New("the daemon ended the session: garita audit tail says why")
	default:
		return fmt.Errorf("carry the server's answers: %w", err)
	}
}

// attach opens the session, starting the daemon when nobody answers.
func (c *cli) attach(ctx context.Context, a api.Attach, open opening) (net.Conn, error) {
	conn, err := open(ctx, a)
	var away *api.Unreachable
	if !errors.As(err, &away) {
		return conn, err
	}
	if err := c.running(ctx); err != nil {
		return nil, err
	}
	return open(ctx, a)
}

// forward carries what the client says, then tells the daemon that it has finished.
func forward(conn net.Conn, in io.Reader) {
	_, _ = io.Copy(conn, in) // either end's going away ends the session by itself
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// followClient hangs up when the client is no longer there to be answered, so that what it waited
// for, a question to a person perhaps, is withdrawn.
func (c *cli) followClient(conn net.Conn) {
	if f, ok := c.out.(*os.File); ok && awaitHangup(f) {
		_ = conn.Close()
	}
}

// absolute makes folders independent of where the daemon runs.
func absolute(dirs []string) error {
	for i, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return fmt.Errorf("find %s: %w", dir, err)
		}
		dirs[i] = abs
	}
	return nil
}

// programName is what we are called on command lines.
func programName() string { return filepath.Base(os.Args[0]) }
