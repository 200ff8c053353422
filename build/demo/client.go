package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/garita-dev/garita/build/wire"
)

// The scripted MCP client is a process of its own, as a real one is: what it starts counts as the
// agent's. It is told what to do by lines of JSON on its standard input.

// order is one thing the client is told to do: call a tool, or run a program as the agent's shell.
type order struct {
	Tool  string         `json:"tool,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
	Shell []string       `json:"shell,omitempty"`
}

// reply is what came of it.
type reply struct {
	Text   string
	Failed bool // the tool or the program says so
}

// client plays an MCP client on one entry of a settings file: client CONFIG ENTRY.
func client(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("client wants a settings file and an entry, got %q", args)
	}
	cmd, err := entry(args[0], args[1])
	if err != nil {
		return err
	}
	w, err := wire.Start(cmd)
	if err != nil {
		return err
	}
	name, tools, err := w.Handshake("demo")
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(reply{Text: fmt.Sprintf("%s, %d tools: %s", name, len(tools), strings.Join(tools, ", "))}); err != nil {
		return err
	}
	orders := json.NewDecoder(os.Stdin)
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return w.Close()
		} else if err != nil {
			return err
		}
		r, err := obey(w, o)
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// entry is the command of one server, exactly as the settings file has it.
func entry(config, name string) (*exec.Cmd, error) {
	text, err := os.ReadFile(config)
	if err != nil {
		return nil, err
	}
	var settings struct {
		Servers map[string]struct {
			Command string            `json:"command"`
			Args    []string          `json:"args"`
			Env     map[string]string `json:"env"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(withoutComments(text), &settings); err != nil {
		return nil, fmt.Errorf("read %s: %w", config, err)
	}
	e, ok := settings.Servers[name]
	if !ok {
		return nil, fmt.Errorf("%s has no server %s", config, name)
	}
	cmd := exec.Command(e.Command, e.Args...)
	cmd.Env = os.Environ()
	for k, v := range e.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// withoutComments drops lines that are comments; the demonstration's own file has no others.
func withoutComments(text []byte) []byte {
	var kept []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), "//") {
			kept = append(kept, line)
		}
	}
	return []byte(strings.Join(kept, "\n"))
}

func obey(w *wire.Client, o order) (reply, error) {
	if len(o.Shell) > 0 {
		out, err := exec.Command(o.Shell[0], o.Shell[1:]...).CombinedOutput()
		return reply{Text: string(out), Failed: err != nil}, nil
	}
	r, err := w.Call(o.Tool, o.Args)
	return reply(r), err
}
