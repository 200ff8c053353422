package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func (s *stage) startDaemon(ctx context.Context) error {
	act("The daemon starts, as uid %d, with everything it keeps in %s.", os.Getuid(), s.home())
	log, err := os.Create(filepath.Join(s.dir, "daemon.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.garita, "daemon")
	cmd.Env, cmd.Stdout, cmd.Stderr = s.environment(), log, log
	if s.daemon, err = start(cmd); err != nil {
		return err
	}
	return s.run(ctx, "status")
}

func (s *stage) importServers(ctx context.Context) error {
	act("An MCP client's settings name two npm servers. Today they would run with all your rights.")
	quote(s.before)
	say("Garita takes them over, installs them in a sandbox, and points the client at itself.")
	if err := s.run(ctx, "import", "--from", "claude-desktop", "--rewire", "--yes"); err != nil {
		return err
	}
	after, err := os.ReadFile(s.config)
	if err != nil {
		return err
	}
	say("The settings now read:")
	quote(string(after))
	return nil
}

func (s *stage) everything(context.Context) error {
	act("A client starts the server “everything” by the command in its settings.")
	say("The first start installs its package, in a sandbox that reaches the registry and nothing else.")
	c, err := s.attach("everything")
	if err != nil {
		return err
	}
	r, err := c.do(order{Tool: "get-sum", Args: map[string]any{"a": 2, "b": 3}})
	if err == nil {
		say("It is asked for 2 + 3 and answers: %s", r.Text)
	}
	return errors.Join(err, c.leave())
}

func (s *stage) read(ctx context.Context) (err error) {
	act("An agent uses the server “files”. A read passes without a question.")
	if s.session, err = s.attach("files"); err != nil {
		return err
	}
	say("Its sandbox, and the limits that are in force:")
	if err := s.run(ctx, "server", "show", "files"); err != nil {
		return err
	}
	r, err := s.session.do(order{Tool: "read_text_file", Args: map[string]any{"path": filepath.Join(s.shop, "README.md")}})
	if err != nil {
		return err
	}
	say("read_text_file README.md:")
	quote(r.Text)
	if r.Failed {
		return errors.New("the read was not answered")
	}
	beside := filepath.Join(filepath.Dir(s.shop), "taxes.txt")
	if err := os.WriteFile(beside, []byte("Nobody's business.\n"), 0o600); err != nil {
		return err
	}
	r, err = s.session.do(order{Tool: "read_text_file", Args: map[string]any{"path": beside}})
	if err != nil {
		return err
	}
	say("read_text_file taxes.txt, which lies beside the folder:")
	quote(r.Text)
	return nil
}

// approval is what `garita approvals list --json` says of one question.
type approval struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	State string `json:"state"`
}

func (s *stage) write(ctx context.Context) error {
	act("The agent wants to write. The call waits for a person.")
	s.waiting = make(chan reply, 1)
	failed := make(chan error, 1)
	go func() {
		r, err := s.session.do(order{Tool: "write_file", Args: map[string]any{
			"path":    filepath.Join(s.shop, "src/price.js"),
			"content": "export const price = (cents) => `€ ${(cents / 100).toFixed(2)}`\n",
		}})
		if err != nil {
			failed <- err
			return
		}
		s.waiting <- r
	}()
	var list []approval
	if err := s.asJSON(ctx, &list, "approvals", "list", "--wait", "60s", "--json"); err != nil {
		return err
	}
	if len(list) != 1 {
		select {
		case err := <-failed:
			return err
		default:
			return fmt.Errorf("%d questions wait, want one", len(list))
		}
	}
	s.asked = list[0]
	if err := s.run(ctx, "approvals", "list"); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(s.shop, "src/price.js"))
	if err != nil {
		return err
	}
	say("On the disk nothing has changed: %s", strings.TrimSpace(string(text)))
	return nil
}

func (s *stage) agentTries(ctx context.Context) error {
	act("The agent cannot answer for you: a program that the client starts is refused.")
	other, err := s.attach("files")
	if err != nil {
		return err
	}
	for _, try := range [][]string{{"approvals", "approve", s.asked.ID}, {"ui", "--print"}} {
		write("   \x1b[1magent$ garita %s\x1b[0m", strings.Join(try, " "))
		r, err := other.do(order{Shell: append([]string{s.garita}, try...)})
		if err != nil {
			return errors.Join(err, other.leave())
		}
		lines := strings.Split(strings.TrimSpace(r.Text), "\n")
		quote(strings.Join(lines[max(0, len(lines)-2):], "\n")) // the refusal; the question comes before it
		if !r.Failed {
			return errors.Join(fmt.Errorf("the agent's own garita %s was accepted", strings.Join(try, " ")), other.leave())
		}
	}
	return other.leave()
}

func (s *stage) answer(ctx context.Context) error {
	if s.yes {
		act("You answer (here --yes answers for you, after the whole request has been shown).")
		if err := s.run(ctx, "approvals", "approve", s.asked.ID); err != nil {
			return err
		}
	} else {
		act("You answer: open this link, look at the request, and click Approve.")
		if err := s.link(ctx); err != nil {
			return err
		}
	}
	r, err := s.answered(ctx)
	if err != nil {
		return err
	}
	say("The waiting call returns to the agent:")
	quote(r.Text)
	if r.Failed {
		return errors.New("the write did not go through")
	}
	return nil
}

// answered waits for the call to return; while nobody answers, there is a fresh link each minute.
func (s *stage) answered(ctx context.Context) (reply, error) {
	fresh := time.NewTicker(time.Minute)
	defer fresh.Stop()
	for range 10 {
		select {
		case r := <-s.waiting:
			return r, nil
		case <-fresh.C:
			if err := s.link(ctx); err != nil {
				return reply{}, err
			}
		case <-ctx.Done():
			return reply{}, ctx.Err()
		}
	}
	return reply{}, errors.New("nobody answered within ten minutes")
}

// link opens the page where there is a desktop, and prints its link, which lives for a minute.
func (s *stage) link(ctx context.Context) error {
	out, err := s.command(ctx, "ui")
	if err != nil {
		return err
	}
	write("\n   \x1b[1m%s\x1b[0m\n", strings.TrimSpace(out))
	say("The link works once and for a minute; then there will be a fresh one.")
	return nil
}

func (s *stage) review(ctx context.Context) error {
	act("The write is in the agent's workspace, not yet in your folder. You look at it and apply it.")
	if err := s.run(ctx, "workspace", "diff", "files"); err != nil {
		return err
	}
	if err := s.run(ctx, "workspace", "apply", "files", "--yes"); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(s.shop, "src/price.js"))
	if err != nil {
		return err
	}
	say("On the disk now: %s", strings.TrimSpace(string(text)))
	if !strings.Contains(string(text), "toFixed") {
		return errors.New("the change was not applied")
	}
	return nil
}

func (s *stage) record(ctx context.Context) error {
	act("Everything is in the record, which would show any later change.")
	if err := s.run(ctx, "audit", "tail"); err != nil {
		return err
	}
	return s.run(ctx, "audit", "verify")
}

func (s *stage) restore(ctx context.Context) error {
	act("The client's settings go back, byte for byte.")
	if err := s.run(ctx, "restore", "--yes"); err != nil {
		return err
	}
	after, err := os.ReadFile(s.config)
	if err != nil {
		return err
	}
	if string(after) != s.before {
		return errors.New("the settings are not what they were")
	}
	say("Compared: they are what they were.")
	return nil
}
