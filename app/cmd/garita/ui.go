package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) uiCommand() *cobra.Command {
	var only bool
	cmd := &cobra.Command{
		Use: "ui", Short: "Open the web page",
		Long: "Open the web page by a link that works once, within a minute.",
		Args: usage(cobra.NoArgs),
	}
	cmd.Flags().BoolVar(&only, "print", false, "print the link only")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.running(cmd.Context()); err != nil {
			return err
		}
		link, err := c.client.BrowserSession(cmd.Context())
		switch {
		case err != nil:
			return err
		case *asJSON:
			return c.printJSON(link)
		case only:
			printTo(c.out, "%s\n", safe(link.URL))
			return nil
		}
		if c.pretty {
			printTo(c.out, "If no page opens, open this link within a minute; it works once:\n  %s\n", safe(link.URL))
		}
		opened, err := open(cmd.Context(), link.URL)
		if err == nil && !opened && !c.pretty {
			printTo(c.out, "%s\n", safe(link.URL))
		}
		return err
	}
	return cmd
}

// openPage has the desktop open the page at path, with a link of its own.
func (c *cli) openPage(ctx context.Context, path string) error {
	link, err := c.client.BrowserSession(ctx)
	if err != nil {
		return err
	}
	opened, err := open(ctx, at(link.URL, path))
	if err == nil && !opened {
		return errors.New("open the page: there is no desktop to open it on")
	}
	return err
}

// at is a link that leads to path of the page.
func at(link, path string) string { return strings.Replace(link, "/#", path+"#", 1) }

// open has the desktop open a link, and says whether there is one. The link itself is not put on a
// command line, where every user of the machine could read and claim it first: a file that only
// this user reads leads to it.
func open(ctx context.Context, link string) (bool, error) {
	opener, err := exec.LookPath("xdg-open")
	if err != nil || os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return false, nil
	}
	path, err := writeHop(filepath.Join(api.RunDir(), "open.html"), link)
	if err != nil {
		return false, err
	}
	if err := exec.CommandContext(ctx, opener, path).Run(); err != nil {
		return false, fmt.Errorf("open the page with %s: %w", opener, err)
	}
	return true, nil
}

// writeHop writes a page that leads to url at once, readable by this user only.
func writeHop(path, url string) (string, error) {
	text := `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">` +
		`<meta http-equiv="refresh" content="0;url=` + html.EscapeString(url) + `"><title>Garita</title>`
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("write the link: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("write the link: %w", err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString(text); err != nil {
		return "", fmt.Errorf("write the link: %w", err)
	}
	return path, f.Close()
}
