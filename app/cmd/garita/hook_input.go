package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/api"
)

// maxHook bounds what a hook is told, in bytes: a little less than the daemon takes.
const maxHook = 8<<20 - 64<<10

// hookEvent is what Claude Code tells a hook about one use of a tool. What is not known of it is left
// alone: versions differ.
type hookEvent struct {
	Session  string         `json:"session_id"`
	Dir      string         `json:"cwd"`
	Event    string         `json:"hook_event_name"`
	Tool     string         `json:"tool_name"`
	Input    jsontext.Value `json:"tool_input"`
	Use      string         `json:"tool_use_id"`
	Response jsontext.Value `json:"tool_response"`
	Error    jsontext.Value `json:"error"`
}

// parseHook reads one event. What two readers could read differently is refused: a name that stands
// twice, broken text, a second value.
func parseHook(text []byte, events ...string) (hookEvent, error) {
	var e hookEvent
	if len(text) > maxHook {
		return e, fmt.Errorf("read what the hook is told: more than %d MiB", maxHook>>20)
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("read what the hook is told: %w", err)
	}
	switch {
	case e.Event != "" && !slices.Contains(events, e.Event):
		return e, fmt.Errorf("this hook is for %s and was run for %s: see garita hook install", strings.Join(events, " and "), e.Event)
	case e.Tool == "":
		return e, errors.New("the hook is told of no tool (tool_name)")
	case e.Session == "":
		return e, errors.New("the hook is told of no session (session_id)")
	case e.Input == nil:
		e.Input = jsontext.Value(`{}`)
	case e.Input.Kind() != '{':
		return e, errors.New("the tool's arguments (tool_input) are not one JSON object")
	}
	return e, nil
}

// use names the use: by the client's own id, or, where an older one gives none, by what it is.
func (e hookEvent) use(client string) api.HookUse {
	id := e.Use
	if id == "" {
		id, _ = digestOf([]byte(e.Tool + "\x00" + string(e.Input)))
	}
	return api.HookUse{Client: client, PID: hookClient(), Session: e.Session, Tool: e.Tool, Use: id}
}

// result is how the use ended.
func (e hookEvent) result(client string) api.HookResult {
	r := api.HookResult{HookUse: e.use(client), Failed: e.Event == "PostToolUseFailure" || isError(e.Response)}
	if e.Response != nil {
		r.Digest, r.Size = digestOf(e.Response)
	}
	if e.Error != nil {
		r.Failed = true
		if json.Unmarshal(e.Error, &r.Error) != nil {
			r.Error = string(e.Error)
		}
		r.Error = strings.ToValidUTF8(r.Error[:min(len(r.Error), 2000)], "")
	}
	return r
}

// isError says whether what a tool returned says of itself that it failed.
func isError(response jsontext.Value) bool {
	var says struct {
		A bool `json:"is_error"`
		B bool `json:"isError"`
	}
	return response.Kind() == '{' && json.Unmarshal(response, &says) == nil && (says.A || says.B)
}

func digestOf(b []byte) (digest string, size int64) {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:]), int64(len(b))
}
