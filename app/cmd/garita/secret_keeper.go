package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) secretUnlockCommand() *cobra.Command {
	var o api.KeeperOpen
	var yes bool
	cmd := &cobra.Command{
		Use: "unlock", Short: "Bring the key of the secrets within reach", Args: usage(cobra.NoArgs),
		Long: "Secrets are sealed with a key that the desktop's keyring has. This has a locked keyring ask you.\n" +
			"Where there is no keyring, --create makes a file for the key, encrypted by a passphrase, which this asks for\n" +
			"once after each start of the daemon (or reads from standard input).",
	}
	cmd.Flags().BoolVar(&o.Create, "create", false, "make the file, with a new passphrase")
	cmd.Flags().BoolVar(&o.Cancel, "cancel", false, "stop waiting for the keyring's question to be answered")
	cmd.Flags().BoolVar(&o.Reset, "reset", false, "the key or the passphrase is lost: give up the values it sealed, and begin anew")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.MarkFlagsMutuallyExclusive("cancel", "create")
	cmd.MarkFlagsMutuallyExclusive("cancel", "reset")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.reachable(cmd.Context()); err != nil {
			return err
		}
		if o.Reset {
			if err := c.confirm(cmd.CommandPath(), "Give up the values that cannot be opened any more?", yes); err != nil {
				return err
			}
		}
		all, err := c.client.Secrets(cmd.Context())
		if err != nil {
			return err
		}
		if o.Passphrase, err = c.passphraseFor(cmd.Context(), o, all.Keeper); err != nil {
			return err
		}
		k, err := c.client.OpenKeeper(cmd.Context(), o)
		if err != nil {
			return err
		}
		c.showKeeper(k)
		if k.State == "ready" {
			printTo(c.err, "The secrets are within reach; their key is kept by the %s.\n", safe(k.By))
			return nil
		}
		if o.Cancel {
			return nil
		}
		return silent{exitPrecondition}
	}
	return cmd
}

// passphraseFor asks for the passphrase where one is wanted.
func (c *cli) passphraseFor(ctx context.Context, o api.KeeperOpen, k api.Keeper) (api.Hidden, error) {
	switch {
	case o.Create:
		return c.newPassphrase(ctx)
	case o.Cancel, o.Reset, k.State == "ready", k.By != "file":
		return "", nil
	}
	text, err := c.hidden(ctx, "Passphrase of the secrets: ")
	return api.Hidden(text), err
}

func (c *cli) newPassphrase(ctx context.Context) (api.Hidden, error) {
	first, err := c.hidden(ctx, "New passphrase (without it the secrets are lost): ")
	if err != nil || !c.asks {
		return api.Hidden(first), err
	}
	second, err := c.hidden(ctx, "Again: ")
	if err == nil && second != first {
		err = errors.New("the two are not the same; nothing was done")
	}
	return api.Hidden(first), err
}

// showKeeper says what keeps secrets out of reach, if anything.
func (c *cli) showKeeper(k api.Keeper) {
	if k.State == "ready" {
		return
	}
	printTo(c.err, "%s %s\n", c.style.amber(safe(k.State)+":"), safe(k.Why))
	if k.Next != "" {
		printTo(c.err, "  %s\n", safe(k.Next))
	}
}

// maxHidden bounds what is read as a secret, in bytes; the daemon takes less.
const maxHidden = 1 << 20

// hidden reads a text that nobody is to see: at a terminal without an echo, else all of standard input.
// A newline at its end is left out. It is never empty.
func (c *cli) hidden(ctx context.Context, question string) (string, error) {
	var b []byte
	var err error
	if c.asks {
		printTo(c.err, "%s", question)
		b, err = readUnseen(ctx, c.in)
		printTo(c.err, "\n")
	} else {
		b, err = io.ReadAll(io.LimitReader(c.in, maxHidden))
	}
	if err != nil {
		return "", fmt.Errorf("read it: %w", err)
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	if text == "" {
		return "", errors.New("it is empty; nothing was done")
	}
	return text, nil
}

// readUnseen reads a line without an echo. When ctx ends first the terminal is as it was.
func readUnseen(ctx context.Context, in *os.File) ([]byte, error) {
	fd := int(in.Fd()) //nolint:gosec // descriptors are small
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	type line struct {
		b   []byte
		err error
	}
	read := make(chan line, 1)
	go func() {
		b, err := term.ReadPassword(fd)
		read <- line{b, err}
	}()
	select {
	case l := <-read:
		return l.b, l.err
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		return nil, ctx.Err()
	}
}
