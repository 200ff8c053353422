// Package wire is a small MCP client over a program's standard input and output, for the
// demonstration and the benchmark: one request at a time, one revision of the protocol.
package wire

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Client is attached to one server. Calls must not overlap.
type Client struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

// Result is a tool's result, its text parts joined.
type Result struct {
	Text   string
	Failed bool // the tool says so
}

// Start starts cmd and talks to it. Close ends it.
func Start(cmd *exec.Cmd) (*Client, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Client{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10)}, cmd.Start()
}

// PID is the process that was started.
func (c *Client) PID() int { return c.cmd.Process.Pid }

// Close closes the server's standard input and waits for it to end.
func (c *Client) Close() error {
	c.in.Close()
	return c.cmd.Wait()
}

// Kill ends the program at once.
func (c *Client) Kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (c *Client) send(message map[string]any) error {
	message["jsonrpc"] = "2.0"
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(line, '\n'))
	return err
}

// Ask sends a request and waits for its answer; what else arrives meanwhile is passed over.
func (c *Client) Ask(method string, params, result any) error {
	c.id++
	if err := c.send(map[string]any{"id": c.id, "method": method, "params": params}); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	for {
		line, err := c.out.ReadBytes('\n')
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
		if json.Unmarshal(line, &answer) != nil || answer.ID == nil || *answer.ID != c.id || answer.Method != "" {
			continue
		}
		if answer.Error != nil {
			return fmt.Errorf("%s: %s", method, answer.Error.Message)
		}
		return json.Unmarshal(answer.Result, result)
	}
}

// Handshake begins the session and returns what the server calls itself and the names of its tools.
func (c *Client) Handshake(name string) (server string, tools []string, err error) {
	hello := map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": name, "version": "1"},
	}
	var greeting struct {
		Info struct{ Name, Version string } `json:"serverInfo"`
	}
	if err := c.Ask("initialize", hello, &greeting); err != nil {
		return "", nil, err
	}
	if err := c.send(map[string]any{"method": "notifications/initialized"}); err != nil {
		return "", nil, err
	}
	var list struct{ Tools []struct{ Name string } }
	if err := c.Ask("tools/list", map[string]any{}, &list); err != nil {
		return "", nil, err
	}
	for _, t := range list.Tools {
		tools = append(tools, t.Name)
	}
	return greeting.Info.Name + " " + greeting.Info.Version, tools, nil
}

// Call calls one tool.
func (c *Client) Call(tool string, args map[string]any) (Result, error) {
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := c.Ask("tools/call", map[string]any{"name": tool, "arguments": args}, &result); err != nil {
		return Result{}, err
	}
	text := make([]string, 0, len(result.Content))
	for _, part := range result.Content {
		text = append(text, part.Text)
	}
	return Result{Text: strings.Join(text, "\n"), Failed: result.IsError}, nil
}
