// Demo shows Garita's main job on two real npm servers, told in short sentences: import, a read
// that passes, a write that waits for a person, the workspace, the record, and nothing left.
//
//	demo [--yes] [--keep]      from ./task demo, which builds what it needs
//
// With --yes it answers its own question by the command line after showing it; otherwise it waits
// for a click on the page. Everything happens under a temporary GARITA_HOME.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "client" {
		exit(client(os.Args[2:]))
	}
	yes := flag.Bool("yes", false, "answer the question by the command line instead of waiting for a click")
	keep := flag.Bool("keep", false, "keep the temporary folder for a look around")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	exit(show(ctx, *yes, *keep))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// show runs the whole demonstration and cleans up whatever happens.
func show(ctx context.Context, yes, keep bool) (err error) {
	s, err := newStage(yes)
	if err != nil {
		return err
	}
	defer func() {
		if !keep {
			err = errors.Join(err, s.remove())
		} else {
			say("Kept: %s", s.dir)
		}
	}()
	defer func() { err = errors.Join(err, s.close()) }()
	for _, act := range []func(context.Context) error{
		s.startDaemon, s.importServers, s.everything, s.read, s.write, s.agentTries, s.answer, s.review, s.record, s.restore,
	} {
		if err := act(ctx); err != nil {
			return errors.Join(err, s.daemonLog())
		}
	}
	return s.end()
}

// stage is the demonstration's folder and what runs in it.
type stage struct {
	yes    bool
	garita string // the binary
	dir    string // temporary; GARITA_HOME is its home/
	shop   string // the sample project
	config string // the client's settings
	before string // the settings as they were
	groups map[string]bool

	daemon  *process
	session *session // an agent attached to the files server
	asked   approval
	waiting chan reply
}

func newStage(yes bool) (*stage, error) {
	bin := os.Getenv("GARITA_BIN")
	if bin == "" {
		bin = "bin"
	}
	garita, err := filepath.Abs(filepath.Join(bin, "garita"))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(garita); err != nil {
		return nil, fmt.Errorf("%s is not built: run this as ./task demo", garita)
	}
	dir, err := os.MkdirTemp("", "garita-demo-")
	if err != nil {
		return nil, err
	}
	s := &stage{yes: yes, garita: garita, dir: dir, shop: filepath.Join(dir, "shop"), config: filepath.Join(dir, "config/Claude/claude_desktop_config.json"), groups: controlGroups()}
	if err := s.furnish(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// furnish writes the sample project and the client's settings.
func (s *stage) furnish() error {
	s.before = fmt.Sprintf(`{
  // Claude Desktop's settings, as people have them.
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", %q]
    },
    "everything": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"] }
  }
}
`, s.shop)
	for path, text := range map[string]string{
		filepath.Join(s.shop, "README.md"):    "# A small shop\n\nPrices are in cents.\n",
		filepath.Join(s.shop, "src/price.js"): "export const price = (cents) => `€ ${cents / 100}`\n",
		s.config:                              s.before,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return os.Mkdir(s.home(), 0o700)
}

func (s *stage) home() string { return filepath.Join(s.dir, "home") }
