package httpapi

import (
	"context"
	"encoding/json"

	"github.com/garita-dev/garita/daemon/api"
)

type callsInput struct {
	Before string `query:"before" doc:"The next of the page before" maxLength:"64"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
	Server string `query:"server" maxLength:"128"`
}

func (s *Server) calls(ctx context.Context, in *callsInput) (api.CallPage, error) {
	return s.backend.Calls(ctx, in.Before, in.Limit, in.Server)
}

type idInput struct {
	ID string `path:"id" maxLength:"64"`
}

func (s *Server) call(ctx context.Context, in *idInput) (api.Call, error) {
	return s.backend.Call(ctx, in.ID)
}

type toolCallInput struct {
	Body api.ToolCall
}

func (s *Server) callTool(ctx context.Context, in *toolCallInput) (api.ToolResult, error) {
	c := in.Body
	if string(c.Arguments) == "null" {
		c.Arguments = json.RawMessage(nil)
	}
	return s.backend.CallTool(ctx, peerOf(ctx), c)
}
