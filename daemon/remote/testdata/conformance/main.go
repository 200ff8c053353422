// Conformance drives the scenarios of the MCP conformance suite's client tests with a Conn as the
// wire: `conformance client --command "conformance" --requirements 2026-07-28`. Above the wire is
// go-sdk's client, which asks the questions; what reaches the server is ours.
package main

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/remote"
	"github.com/garita-dev/garita/daemon/remote/dial"
	"github.com/garita-dev/garita/daemon/remote/oauth"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: conformance URL")
	}
	if err := run(context.Background(), os.Args[1], os.Getenv("MCP_CONFORMANCE_SCENARIO")); err != nil {
		log.Fatal(err)
	}
}

// hints is what the suite tells a client about a scenario.
type hints struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ToolCalls    []call `json:"toolCalls"`
}

type call struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// missing are the extensions of authorization that Garita does not speak, as go-sdk does not.
var missing = []string{
	"auth/client-credentials-jwt", "auth/client-credentials-basic", "auth/enterprise-managed-authorization",
	"auth/dpop", "auth/dpop-nonce", "auth/wif-jwt-bearer",
}

func run(ctx context.Context, url, scenario string) error {
	if slices.Contains(missing, scenario) {
		return errors.New("not spoken: " + scenario)
	}
	var h hints
	if raw := os.Getenv("MCP_CONFORMANCE_CONTEXT"); raw != "" {
		if err := json.Unmarshal([]byte(raw), &h); err != nil {
			return err
		}
	}
	w, err := newWire(url, h)
	if err != nil {
		return err
	}
	defer w.close()
	client := mcp.NewClient(&mcp.Implementation{Name: "garita", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content := map[string]any{}
			if scenario == "sep-2322-client-request-state" {
				content["confirmed"] = true
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	})
	session, err := client.Connect(ctx, w, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	return drive(ctx, session, scenario, h)
}

// drive does what each scenario waits for.
func drive(ctx context.Context, s *mcp.ClientSession, scenario string, h hints) error {
	if scenario == "request-metadata" {
		return nil
	}
	if scenario == "sep-2322-client-request-state" {
		return calls(ctx, s, named("test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"))
	}
	tools, err := s.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	switch scenario {
	case "initialize", "json-schema-ref-no-deref":
		return nil
	case "tools_call":
		return calls(ctx, s, []call{{"add_numbers", map[string]any{"a": 5, "b": 3}}})
	case "json-schema-2020-12-preservation":
		return echo(ctx, s, tools.Tools)
	case "http-custom-headers":
		return calls(ctx, s, h.ToolCalls)
	case "http-invalid-tool-headers":
		for _, t := range tools.Tools {
			_ = calls(ctx, s, []call{{t.Name, map[string]any{"region": "us-west1"}}})
		}
		return nil
	case "http-standard-headers":
		everything(ctx, s, tools.Tools)
		return nil
	}
	if len(tools.Tools) == 0 {
		return nil
	}
	return calls(ctx, s, named(tools.Tools[0].Name))
}

func named(all ...string) []call {
	var out []call
	for _, name := range all {
		out = append(out, call{name, map[string]any{}})
	}
	return out
}

func calls(ctx context.Context, s *mcp.ClientSession, all []call) error {
	var last error
	for _, c := range all {
		if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: c.Name, Arguments: c.Arguments}); err != nil {
			log.Printf("%s: %v", c.Name, err)
			last = err
		}
	}
	if len(all) > 1 {
		return nil // some of them are meant to fail
	}
	return last
}

func echo(ctx context.Context, s *mcp.ClientSession, tools []*mcp.Tool) error {
	for _, t := range tools {
		if t.Name == "json_schema_2020_12_tool" {
			return calls(ctx, s, []call{{"json_schema_echo", map[string]any{"schema": t.InputSchema}}})
		}
	}
	return errors.New("the tool is not listed")
}

func everything(ctx context.Context, s *mcp.ClientSession, tools []*mcp.Tool) {
	if len(tools) > 0 {
		_ = calls(ctx, s, named(tools[0].Name))
	}
	if r, err := s.ListResources(ctx, nil); err == nil && len(r.Resources) > 0 {
		_, _ = s.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.Resources[0].URI})
	}
	if p, err := s.ListPrompts(ctx, nil); err == nil && len(p.Prompts) > 0 {
		_, _ = s.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.Prompts[0].Name, Arguments: map[string]string{}})
	}
}

// wire is a Conn as go-sdk's client wants it.
type wire struct {
	*remote.Conn
	logins *oauth.Logins
}

func newWire(url string, h hints) (*wire, error) {
	client, err := remote.Client(url, dial.Rules{})
	if err != nil {
		return nil, err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	logins := oauth.New(oauth.Config{
		Vault: &vault{}, Open: visit, ClientID: "https://conformance-test.local/client-metadata.json", Log: logger,
	})
	server := oauth.Server{Name: "far", URL: url, Client: client}
	if h.ClientID != "" {
		server.Registered = &oauth.Registered{ID: h.ClientID, Secret: oauth.NewSecret(h.ClientSecret)}
	}
	login, err := logins.Server(server)
	if err != nil {
		return nil, err
	}
	conn, err := remote.Open(context.Background(), remote.Options{Name: "far", URL: url, Client: client, Auth: login, Log: logger})
	return &wire{conn, logins}, err
}

// visit is the person's browser: it follows where it is sent.
func visit(ctx context.Context, page string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func (w *wire) close() {
	_ = w.Stop(context.Background())
	w.logins.Close()
}

// Connect is the wire itself.
func (w *wire) Connect(context.Context) (mcp.Connection, error) { return w, nil }

// SessionID is not go-sdk's business.
func (w *wire) SessionID() string { return "" }

// Close leaves the end to close.
func (w *wire) Close() error { return w.Stop(context.Background()) }

// Read skips what is not a message.
func (w *wire) Read(context.Context) (jsonrpc.Message, error) {
	for {
		m, err := w.Conn.Read()
		var bad *protocol.LineError
		switch {
		case err == nil:
			return jsonrpc.DecodeMessage(m.Raw)
		case !errors.As(err, &bad):
			return nil, err
		}
	}
}

func (w *wire) Write(_ context.Context, m jsonrpc.Message) error {
	raw, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return w.Conn.Write(raw)
}

// vault keeps secrets for as long as the scenario runs.
type vault struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (v *vault) Load(key string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.m[key], nil
}

func (v *vault) Save(key string, value []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.m == nil {
		v.m = map[string][]byte{}
	}
	v.m[key] = value
	return nil
}

func (v *vault) Delete(key string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.m, key)
	return nil
}
