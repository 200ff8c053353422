package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/garita-dev/garita/daemon/api"
)

func (c *cli) callCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "call NAME TOOL [JSON]", Short: "Call one tool of a server as a client",
		Long: "Call one tool as a client would: the same rules, the same questions, the same record.\nArguments are a JSON object, or - to read it from standard input. Exit code 3 means refused.",
		Example: `  garita call files read_text_file '{"path":"/home/me/shop/a.txt"}'
  garita server show files    # the tools there are`,
		Args: usage(cobra.RangeArgs(2, 3)),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		call := api.ToolCall{Server: args[0], Tool: args[1]}
		if len(args) == 3 {
			raw, err := c.arguments(args[2])
			if err != nil {
				return usageError{cmd.CommandPath(), err}
			}
			call.Arguments = []byte(raw)
		}
		if err := c.running(cmd.Context()); err != nil {
			return err
		}
		stop := c.showProgress(cmd.Context(), c.tellQuestion(cmd.Context(), call))
		res, err := c.client.CallTool(cmd.Context(), call)
		stop()
		if err != nil {
			return err
		}
		return c.showResult(res, *asJSON)
	}
	return cmd
}

// tellQuestion says, once for each, that the call waits for a person.
func (c *cli) tellQuestion(ctx context.Context, call api.ToolCall) func(api.Event) {
	told := map[string]bool{}
	return func(e api.Event) {
		if e.Kind != "approval" || told[e.ID] {
			return
		}
		a, err := c.client.Approval(ctx, e.ID)
		if err != nil || a.State != "pending" || a.Call.Server != call.Server || a.Call.Tool != call.Tool {
			return
		}
		told[e.ID] = true
		printTo(c.err, "waits for a person: garita approvals approve %s\n", safe(short(e.ID)))
	}
}

// arguments reads a JSON object.
func (c *cli) arguments(text string) (jsontext.Value, error) {
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(c.in, 8<<20))
		if err != nil {
			return nil, fmt.Errorf("read the arguments: %w", err)
		}
		text = string(read)
	}
	v := jsontext.Value(text)
	if !v.IsValid() || v.Kind() != '{' {
		return nil, errors.New("the arguments are not one JSON object without repeated names")
	}
	return v, nil
}

// toolContent is the part of a tool's result that can be printed.
type toolContent struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
		MIME string `json:"mimeType"`
		URI  string `json:"uri"`
	} `json:"content"`
	IsError bool `json:"isError"`
}

// showResult prints a tool's text, and chooses the exit code.
func (c *cli) showResult(res api.ToolResult, asJSON bool) error {
	var content toolContent
	_ = json.Unmarshal(res.Result, &content) // what is no result has nothing to print
	if asJSON {
		if err := c.printJSON(res); err != nil {
			return err
		}
	} else {
		c.showContent(content, res)
	}
	switch {
	case res.Denied:
		return silent{exitDenied}
	case len(res.Error) > 0 || content.IsError:
		return silent{exitFailed}
	}
	return nil
}

func (c *cli) showContent(content toolContent, res api.ToolResult) {
	out := c.out
	if content.IsError || res.Denied {
		out = c.err
	}
	for _, part := range content.Content {
		switch {
		case part.Type == "text" && (c.pretty || out == c.err):
			printTo(out, "%s\n", safeLines(strings.TrimSuffix(part.Text, "\n")))
		case part.Type == "text":
			printTo(out, "%s\n", strings.TrimSuffix(part.Text, "\n"))
		default:
			printTo(out, "[%s]\n", safe(part.Type+" "+or(part.MIME, part.URI)))
		}
	}
	if len(res.Error) > 0 {
		printTo(c.err, "%s\n", errorText(res.Error))
	}
}

// errorText is the message of a JSON-RPC error.
func errorText(raw []byte) string {
	var e struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &e) != nil || e.Message == "" {
		return indented(raw)
	}
	return safeLines(e.Message)
}
