// Echo is the smallest MCP server there is: one tool that reads nothing and gives back what it is
// told. The benchmark runs it bare and behind walls, so that what differs is ours.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

const (
	hello = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`
	tools = `{"tools":[{"name":"read_text","description":"Returns the text it is given.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":true}}]}`
)

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		answer(out, bytes.TrimSpace(line))
		if out.Flush() != nil {
			return
		}
	}
}

func answer(out *bufio.Writer, line []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Arguments struct{ Text string }
		}
	}
	if json.Unmarshal(line, &m) != nil || m.ID == nil {
		return
	}
	result := `{}`
	switch m.Method {
	case "initialize":
		result = hello
	case "tools/list":
		result = tools
	case "tools/call":
		text, _ := json.Marshal(m.Params.Arguments.Text)
		result = fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, text)
	}
	fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
}
