package door

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/garita-dev/garita/daemon/protocol"
)

// sdkServer serves by go-sdk's server, as a program of it would.
func sdkServer(add func(*mcp.Server)) func(context.Context, Access, Client) error {
	return func(ctx context.Context, _ Access, c Client) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		fromClient, in := io.Pipe()
		out, toClient := io.Pipe()
		s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
		add(s)
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() {
			_ = copyMessages(protocol.NewWriter(in).Write, c.Read)
			_ = in.Close()
			stop()
		})
		wg.Go(func() {
			_ = s.Run(ctx, &mcp.IOTransport{Reader: fromClient, Writer: toClient})
			_ = toClient.Close()
			_ = fromClient.Close()
			_ = c.Close()
		})
		return copyMessages(c.Write, protocol.NewReader(out, protocol.MaxMessage).Read)
	}
}

type echoed struct {
	Text string `json:"text"`
}

func addEcho(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(ctx context.Context, r *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, echoed, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: in.Text})
		}
		return nil, in, nil
	})
	s.AddResource(&mcp.Resource{Name: "r", URI: "test://r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test://r", Text: "r"}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "p"}, nil
	})
}

// bearerTransport adds a token, and for a client that shall speak legacy refuses what is not.
type bearerTransport struct {
	token  string
	legacy bool
}

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	if b.legacy && r.Header.Get("Mcp-Method") == "server/discover" {
		r.Body.Close()
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

func sdkClient(t *testing.T, url string, legacy bool, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearerTransport{token: "secret", legacy: legacy}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var eras = map[string]struct {
	legacy  bool
	version string
}{"legacy": {true, "2025-11-25"}, "modern": {false, "2026-07-28"}}

func TestReferenceClientsOfBothEras(t *testing.T) {
	for era, tt := range eras {
		t.Run(era, func(t *testing.T) {
			_, url := open(t, Options{Backend: one(sdkServer(addEcho))})
			progress := make(chan string, 100)
			s := sdkClient(t, url+"/mcp/srv", tt.legacy, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					progress <- fmt.Sprint(r.Params.ProgressToken, r.Params.Message)
				},
			})
			if got := s.InitializeResult().ProtocolVersion; got != tt.version {
				t.Fatalf("speaks %s", got)
			}
			tools, err := s.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 1 {
				t.Fatalf("%v %v", tools, err)
			}
			var wg sync.WaitGroup
			for n := range 20 {
				wg.Go(func() {
					text := fmt.Sprint("text", n)
					p := &mcp.CallToolParams{Name: "echo", Arguments: echoed{Text: text}}
					p.SetProgressToken(text)
					got, err := s.CallTool(t.Context(), p)
					if err != nil || fmt.Sprint(got.StructuredContent) != "map[text:"+text+"]" {
						t.Errorf("%v %v", got, err)
					}
				})
			}
			wg.Wait()
			for range 20 {
				<-progress
			}
			if got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://r"}); err != nil || got.Contents[0].Text != "r" {
				t.Errorf("%v %v", got, err)
			}
			if got, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"}); err != nil || got.Description != "p" {
				t.Errorf("%v %v", got, err)
			}
		})
	}
}
