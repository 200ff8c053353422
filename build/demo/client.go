package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
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
	Text   string `json:"text"`
	Failed bool   `json:"failed"` // the tool or the program says so
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
	w, err := connect(cmd)
	if err != nil {
		return err
	}
	tools, err := w.handshake()
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(reply{Text: tools}); err != nil {
		return err
	}
	orders := json.NewDecoder(os.Stdin)
	for {
		var o order
		if err := orders.Decode(&o); err == io.EOF {
			w.in.Close()
			return cmd.Wait()
		} else if err != nil {
			return err
		}
		r, err := w.obey(o)
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

// wire speaks newline-delimited JSON-RPC with one server, one request at a time.
type wire struct {
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func connect(cmd *exec.Cmd) (*wire, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &wire{in: in, out: bufio.NewReader(out)}, cmd.Start()
}

func (w *wire) send(message map[string]any) error {
	message["jsonrpc"] = "2.0"
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = w.in.Write(append(line, '\n'))
	return err
}

// ask sends a request and waits for its answer; what else arrives meanwhile is passed over.
func (w *wire) ask(method string, params, result any) error {
	w.id++
	if err := w.send(map[string]any{"id": w.id, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		line, err := w.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s: the server's side ended: %w", method, err)
		}
		var answer struct {
			ID     *int            `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(line, &answer) != nil || answer.ID == nil || *answer.ID != w.id || answer.Method != "" {
			continue
		}
		if answer.Error != nil {
			return fmt.Errorf("%s: %s", method, answer.Error.Message)
		}
		return json.Unmarshal(answer.Result, result)
	}
}

// handshake begins the session and says which tools there are.
func (w *wire) handshake() (string, error) {
	hello := map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "demo", "version": "1"},
	}
	var server struct {
		Info struct{ Name, Version string } `json:"serverInfo"`
	}
	if err := w.ask("initialize", hello, &server); err != nil {
		return "", err
	}
	if err := w.send(map[string]any{"method": "notifications/initialized"}); err != nil {
		return "", err
	}
	var list struct{ Tools []struct{ Name string } }
	if err := w.ask("tools/list", map[string]any{}, &list); err != nil {
		return "", err
	}
	names := make([]string, 0, len(list.Tools))
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return fmt.Sprintf("%s %s, %d tools: %s", server.Info.Name, server.Info.Version, len(names), strings.Join(names, ", ")), nil
}

func (w *wire) obey(o order) (reply, error) {
	if len(o.Shell) > 0 {
		out, err := exec.Command(o.Shell[0], o.Shell[1:]...).CombinedOutput()
		return reply{Text: string(out), Failed: err != nil}, nil
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := w.ask("tools/call", map[string]any{"name": o.Tool, "arguments": o.Args}, &result); err != nil {
		return reply{}, err
	}
	var text []string
	for _, c := range result.Content {
		text = append(text, c.Text)
	}
	return reply{Text: strings.Join(text, "\n"), Failed: result.IsError}, nil
}
