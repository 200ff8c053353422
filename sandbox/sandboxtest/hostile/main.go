// Hostile is an MCP server that tries what a malicious one would: to read and write where it may
// not, to reach the network, to use the host up, and not to go away. Tests put it behind the walls
// and look at what it says. It speaks MCP 2025-06-18 on stdio and is meant to be built statically.
//
// Every tool answers with what happened, "permitted" or the kernel's refusal, as text; isError is
// set when the attempt was refused. It must never run outside a sandbox or a throw-away machine.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	s := &server{in: bufio.NewReaderSize(os.Stdin, 1<<20), out: bufio.NewWriter(os.Stdout), tools: allTools()}
	if err := s.serve(); err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

// server answers one client, one request after the other.
type server struct {
	in    *bufio.Reader
	out   *bufio.Writer
	tools []tool
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (s *server) serve() error {
	for {
		line, err := s.in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			fmt.Fprintln(os.Stderr, "hostile: not JSON:", err)
			continue
		}
		if len(r.ID) == 0 {
			continue // a notification
		}
		if err := s.answer(r); err != nil {
			return err
		}
	}
}

func (s *server) answer(r request) error {
	reply := response{Version: "2.0", ID: r.ID}
	switch r.Method {
	case "initialize":
		reply.Result = initialized()
	case "ping":
		reply.Result = struct{}{}
	case "tools/list":
		reply.Result = map[string]any{"tools": s.tools}
	case "tools/call":
		reply.Result, reply.Error = s.call(r.Params)
	default:
		reply.Error = &rpcError{-32601, "method not found"}
	}
	data, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	if _, err := s.out.Write(append(data, '\n')); err != nil {
		return err
	}
	return s.out.Flush()
}

func initialized() any {
	return map[string]any{
		"protocolVersion": "2025-06-18",
		"capabilities":    map[string]any{"tools": struct{}{}},
		"serverInfo":      map[string]any{"name": "hostile", "version": "1"},
	}
}

type result struct {
	Content []content `json:"content"`
	IsError bool      `json:"isError,omitempty"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (s *server) call(params json.RawMessage) (any, *rpcError) {
	var p struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &rpcError{-32602, err.Error()}
	}
	for _, t := range s.tools {
		if t.Name != p.Name {
			continue
		}
		text, err := t.run(p.Arguments)
		if err != nil {
			return result{Content: []content{{"text", err.Error()}}, IsError: true}, nil
		}
		return result{Content: []content{{"text", text}}}, nil
	}
	return nil, &rpcError{-32602, "unknown tool " + p.Name}
}
