package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// clients has unchanged clients list and call tools through each door. It needs what suites began.
func (s *stage) clients(ctx context.Context) error {
	token, err := s.token(ctx, "inside")
	if err != nil {
		return err
	}
	doors := []struct {
		name, tool string
		inspector  []string
		mcpc       string // the server's url; "" for connect
	}{
		{"connect", "test_simple_text", []string{s.garita, "connect", "inside", "-e", "GARITA_HOME=" + s.home()}, ""},
		{"mcp-server", "test_simple_text", []string{"http://" + s.door + "/mcp/inside"}, "http://" + s.door + "/mcp/inside"},
		{"mcp", "inside__test_simple_text", []string{"http://" + s.door + "/mcp"}, "http://" + s.door + "/mcp"},
	}
	for _, d := range doors {
		s.result("clients/inspector/"+d.name, s.inspector(ctx, d.inspector, token, d.tool))
		s.result("clients/mcpc/"+d.name, s.mcpc(ctx, d.mcpc, token, d.tool))
	}
	return ctx.Err()
}

// simple is what the reference server's tool of one text says.
const simple = "This is a simple text response for testing."

func (s *stage) inspector(ctx context.Context, target []string, token, tool string) error {
	args := append([]string{s.module("@modelcontextprotocol/inspector/clients/launcher/build/index.js"), "--cli"}, target...)
	if strings.HasPrefix(target[0], "http") {
		args = append(args, "--transport", "http", "--header", "Authorization: Bearer "+token)
	}
	list, err := s.output(ctx, "node", append(args, "--method", "tools/list")...)
	if err == nil && !strings.Contains(list, `"`+tool+`"`) {
		err = fmt.Errorf("%s is not listed: %s", tool, tail(list, 500))
	}
	if err != nil {
		return err
	}
	return saying(s.output(ctx, "node", append(args, "--method", "tools/call", "--tool-name", tool)...))
}

func saying(out string, err error) error {
	if err == nil && !strings.Contains(out, simple) {
		err = fmt.Errorf("the call said %s", tail(out, 500))
	}
	return err
}

// mcpc keeps a session, in a process of its own, between its commands.
func (s *stage) mcpc(ctx context.Context, url, token, tool string) (err error) {
	run := func(args ...string) (string, error) {
		return s.output(ctx, "node", append([]string{s.module("@apify/mcpc/bin/mcpc")}, args...)...)
	}
	begin := []string{"connect", url, "@t", "--header", "Authorization: Bearer " + token}
	if url == "" {
		entry, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"inside": map[string]any{
			"command": s.garita, "args": []string{"connect", "inside"}, "env": map[string]string{"GARITA_HOME": s.home()},
		}}})
		if err != nil {
			return err
		}
		begin = []string{"connect", s.write("mcpc.json", entry) + ":inside", "@t"}
	}
	for range 3 { // it gives its own process five seconds to start, which a busy machine may not have
		if _, err = run(begin...); err == nil || !strings.Contains(err.Error(), "Bridge failed to start") {
			break
		}
	}
	if err != nil {
		return err
	}
	defer func() {
		_, closed := run("close", "@t")
		err = errors.Join(err, closed)
	}()
	list, err := run("@t", "tools-list", "--json")
	if err == nil && !strings.Contains(list, `"`+tool+`"`) {
		err = fmt.Errorf("%s is not listed: %s", tool, tail(list, 500))
	}
	if err != nil {
		return err
	}
	return saying(run("@t", "tools-call", tool, "--json"))
}
