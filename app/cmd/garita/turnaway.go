package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// firstWait is how long a client that cannot be served has to ask something, to be told why.
	firstWait = 5 * time.Second
	// firstBytes bounds what is read of it.
	firstBytes = 1 << 20
	// codeInternal is JSON-RPC's code for an error that is not the request's fault.
	codeInternal = -32603
)

// turnAway answers a client's first request with why it is not served: clients show that, and few
// show what stands on standard error. A person at a terminal reads that anyway.
func (c *cli) turnAway(ctx context.Context, cause error) {
	if c.asks {
		return
	}
	first := make(chan []byte, 1)
	// It may stay in Read when no line comes; the process ends right after.
	go func() {
		line, err := bufio.NewReader(io.LimitReader(c.in, firstBytes)).ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			line = nil
		}
		first <- line
	}()
	select {
	case line := <-first:
		if reply, ok := refusalOf(line, cause); ok {
			_, _ = c.out.Write(reply) // a client that is gone need not be told
		}
	case <-time.After(firstWait):
	case <-ctx.Done():
	}
}

// refusalOf is the answer to a request, with its id as the client wrote it.
func refusalOf(line []byte, cause error) ([]byte, bool) {
	var request struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
	}
	line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\xef\xbb\xbf"))
	if err := json.Unmarshal(line, &request); err != nil || request.Method == "" {
		return nil, false
	}
	if k := request.ID.Kind(); k != '"' && k != '0' {
		return nil, false
	}
	type fault struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	reply, err := json.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   fault          `json:"error"`
	}{"2.0", request.ID, fault{codeInternal, strings.TrimSpace(describe(cause))}}, jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, false
	}
	return append(reply, '\n'), true
}
