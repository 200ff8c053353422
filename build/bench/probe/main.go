// Probe is an MCP server that measures the network it has: the benchmark runs it bare and behind the
// wall. Its one tool connects to an address, reads as fast as it can, does both many times at once, or has
// another program go there.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	hello = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"probe","version":"1"}}`
	tools = `{"tools":[{"name":"read_network","description":"Reads from an address and tells how fast.","inputSchema":{"type":"object","properties":{"address":{"type":"string"},"what":{"type":"string"},"n":{"type":"integer"}}},"annotations":{"readOnlyHint":true}}]}`
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

type arguments struct {
	Address, What string
	N             int
}

func answer(out *bufio.Writer, line []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments arguments }
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
		text, err := measure(m.Params.Arguments)
		if err != nil {
			text = err.Error()
		}
		quoted, _ := json.Marshal(text)
		result = fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"isError":%t}`, quoted, err != nil)
	}
	fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
}

// measure answers with nanoseconds: for "connect" one for each of n connections; for "read" how long
// n bytes took; for "parallel" how long n connections at once took to say a byte and hear one; for
// "visit", of which the address is a program and a URL, see visit.
func measure(a arguments) (string, error) {
	switch a.What {
	case "connect":
		return connect(a)
	case "read":
		return read(a)
	case "parallel":
		return parallel(a)
	case "visit":
		return visit(a)
	}
	return "", fmt.Errorf("what is %q?", a.What)
}

func connect(a arguments) (string, error) {
	var took []string
	for range a.N {
		began := time.Now()
		c, err := net.Dial("tcp", a.Address)
		if err != nil {
			return "", err
		}
		took = append(took, strconv.FormatInt(time.Since(began).Nanoseconds(), 10))
		_ = c.Close()
	}
	return strings.Join(took, " "), nil
}

func read(a arguments) (string, error) {
	c, err := net.Dial("tcp", a.Address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := c.Write([]byte{'r'}); err != nil {
		return "", err
	}
	began := time.Now()
	buf := make([]byte, 1<<20)
	for left := a.N; left > 0; {
		n, err := c.Read(buf)
		if err != nil {
			return "", err
		}
		left -= n
	}
	return strconv.FormatInt(time.Since(began).Nanoseconds(), 10), nil
}

func parallel(a arguments) (string, error) {
	errs := make([]error, a.N)
	began := time.Now()
	var all sync.WaitGroup
	for i := range a.N {
		all.Go(func() {
			c, err := net.Dial("tcp", a.Address)
			if errs[i] = err; err != nil {
				return
			}
			defer c.Close()
			if _, errs[i] = c.Write([]byte{'e'}); errs[i] == nil {
				_, errs[i] = io.ReadFull(c, make([]byte, 1))
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return "", err
		}
	}
	return strconv.FormatInt(time.Since(began).Nanoseconds(), 10), nil
}

// visit runs a visitor ($VISITORS/run.sh): whether it succeeded (1 or 0), how long it ran, and how long
// its request took by its own clock, 0 when it does not tell.
func visit(a arguments) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{filepath.Join(os.Getenv("VISITORS"), "run.sh")}, strings.Fields(a.Address)...)...)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	if ctx.Err() != nil {
		return "", fmt.Errorf("it waited and waited: %s", out)
	}
	passed := 0
	if err == nil && bytes.Contains(out, []byte("hello from")) {
		passed = 1
	}
	return fmt.Sprint(passed, took.Nanoseconds(), itself(string(out)).Nanoseconds()), nil
}

// itself is what a program says it took: milliseconds, or curl's seconds.
func itself(out string) time.Duration {
	_, after, ok := strings.Cut(out, "took ")
	word, _, _ := strings.Cut(after, "\n")
	unit := time.Millisecond
	if seconds, yes := strings.CutSuffix(word, "s"); yes {
		word, unit = seconds, time.Second
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
	if !ok || err != nil {
		return 0
	}
	return time.Duration(number * float64(unit))
}
