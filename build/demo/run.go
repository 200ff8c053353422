package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// environment is ours with the temporary home, where Claude Desktop's settings are the sample's.
func (s *stage) environment() []string {
	return append(os.Environ(), "GARITA_HOME="+s.home(), "XDG_CONFIG_HOME="+filepath.Join(s.dir, "config"), "NO_COLOR=1")
}

// run runs one garita command, shows it and what it printed.
func (s *stage) run(ctx context.Context, args ...string) error {
	write("   \x1b[1m$ garita %s\x1b[0m", strings.Join(args, " "))
	out, err := s.command(ctx, args...)
	quote(out)
	return err
}

// command runs one garita command unseen. Nobody is at its terminal.
func (s *stage) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.garita, args...)
	cmd.Env = s.environment()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("garita %s: %w", strings.Join(args, " "), err)
	}
	return out.String(), nil
}

// asJSON runs one garita command and decodes what it printed on standard output.
func (s *stage) asJSON(ctx context.Context, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, s.garita, args...)
	cmd.Env = s.environment()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("garita %s: %w", strings.Join(args, " "), err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("read what garita %s printed: %w", strings.Join(args, " "), err)
	}
	return nil
}

// process is a program of ours in the background.
type process struct {
	cmd  *exec.Cmd
	done chan error
}

func start(cmd *exec.Cmd) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan error, 1)}
	go func() { p.done <- cmd.Wait() }()
	return p, nil
}

// stop asks it to end, and ends it after a while.
func (p *process) stop(patience time.Duration) error {
	if p == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.done:
		return err
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("%s did not end within %s and was killed: %w", filepath.Base(p.cmd.Path), patience, <-p.done)
	}
}

// daemonLog is the end of the daemon's log, as an error to join to another.
func (s *stage) daemonLog() error {
	text, err := os.ReadFile(filepath.Join(s.dir, "daemon.log"))
	if err != nil || len(text) == 0 {
		return nil
	}
	const tail = 3000
	return errors.New("the daemon's log ends with:\n" + string(text[max(0, len(text)-tail):]))
}
