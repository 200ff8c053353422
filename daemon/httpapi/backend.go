package httpapi

import (
	"context"
	"net"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// Peer is who calls, as the kernel says for the unix socket, or as the page's session says.
type Peer struct {
	// Opened is what the backend said of who asked for the link that opened this page.
	Opened Opener
	PID    int // 0 for the page
	UID    int
	Page   bool // came in by the loopback page with a valid session
}

// Opener is the processes behind a page's link: who asked for it and its ancestors.
type Opener []Process

// Process is one process, told from a later one of the same id by when it started.
type Process struct {
	PID   int
	Start string
}

// Backend is what the daemon does; the daemon root implements it. Calls may overlap. Errors carry
// errdefs kinds, which become Problem codes and HTTP statuses here, once; an *api.Problem passes as it is.
type Backend interface {
	Status(ctx context.Context) (api.Status, error)
	Doctor(ctx context.Context) (api.Doctor, error)

	Calls(ctx context.Context, before string, limit int, server string) (api.CallPage, error)
	Call(ctx context.Context, id string) (api.Call, error)

	// Approvals lists what waits for a person; with wait > 0 it returns as soon as there is one.
	Approvals(ctx context.Context, wait time.Duration) ([]api.Approval, error)
	Approval(ctx context.Context, id string) (api.Approval, error)
	// Answer refuses peers that descend from an attached client (PermissionDenied), and records the try.
	Answer(ctx context.Context, peer Peer, id string, a api.Answer) (api.Approval, error)

	// Preview says what a yes that reaches as far as p would cover.
	Preview(ctx context.Context, id string, p api.Permit) (api.Offer, error)
	ApprovalGroups(ctx context.Context) ([]api.ApprovalGroup, error)
	// AnswerGroup refuses peers as Answer does.
	AnswerGroup(ctx context.Context, peer Peer, a api.GroupAnswer) ([]api.Approval, error)
	Expired(ctx context.Context) ([]api.Approval, error)
	SeeExpired(ctx context.Context, peer Peer, ids []string) error
	Grants(ctx context.Context, all bool) ([]api.Grant, error)
	// RevokeGrant refuses peers that descend from an attached client, and records the try.
	RevokeGrant(ctx context.Context, peer Peer, id string) error

	Servers(ctx context.Context) ([]api.Server, error)
	Server(ctx context.Context, name string) (api.Server, error)
	// ServerLog returns the lines behind after; with wait > 0 it waits that long for one.
	ServerLog(ctx context.Context, name string, after int64, wait time.Duration) (api.ServerLog, error)
	StartServer(ctx context.Context, peer Peer, name string) error
	RestartServer(ctx context.Context, peer Peer, name string) error
	RemoveServer(ctx context.Context, peer Peer, name string) error
	StopServer(ctx context.Context, peer Peer, name string) error

	freezers
	reviews
	updates
	observations

	Workspaces(ctx context.Context) ([]api.Workspace, error)
	WorkspaceDiff(ctx context.Context, server, agent string) (api.WorkspaceDiff, error)
	ApplyWorkspace(ctx context.Context, peer Peer, server string, r api.ApplyRequest) (api.ApplyResult, error)
	DiscardWorkspace(ctx context.Context, peer Peer, server string, r api.ApplyRequest) (api.ApplyResult, error)

	Import(ctx context.Context, peer Peer, r api.ImportRequest) (api.ImportPlan, error)
	Restore(ctx context.Context, peer Peer, r api.RestoreRequest) ([]api.Restored, error)

	// What passes in sessions is not for the agents: these refuse peers that descend from an attached client.
	Sessions(ctx context.Context, peer Peer) ([]api.Session, error)
	// Trace returns the messages behind after; with wait > 0 it waits that long for one.
	Trace(ctx context.Context, peer Peer, session string, after int64, wait time.Duration) (api.Trace, error)
	Tracing(ctx context.Context) (api.Tracing, error)
	SetTracing(ctx context.Context, peer Peer, t api.Tracing) (api.Tracing, error)

	policies

	networks

	secrets

	hookDoor

	Tokens(ctx context.Context) ([]api.Token, error)
	// CreateToken and RevokeToken refuse peers that descend from an attached client, and record the try.
	CreateToken(ctx context.Context, peer Peer, t api.NewToken) (api.CreatedToken, error)
	RevokeToken(ctx context.Context, peer Peer, id string) error

	// Audit returns the events that q wants with Seq > q.After, oldest first, at most q.Limit. A negative
	// after counts from the end: -20 means the last 20.
	Audit(ctx context.Context, q api.AuditQuery) ([]api.AuditEvent, error)
	VerifyAudit(ctx context.Context) (api.Verification, error)

	// PermitLink refuses peers that descend from an attached client, and records the try.
	// What it returns comes back as Peer.Opened of every request of that page.
	PermitLink(ctx context.Context, peer Peer) (Opener, error)
	// AccessRefused records a request turned away at the page's door: why, and from where. Rate-limited by the caller.
	AccessRefused(ctx context.Context, why string)

	// Events returns the events after since, waiting for at least one; a reader too far behind gets one reset.
	Events(ctx context.Context, since int64) ([]api.Event, error)

	// Attachable says why a client cannot be attached, where that is known before it is: there is no
	// such server, or a folder may not be given.
	Attachable(ctx context.Context, peer Peer, a api.Attach) error
	// Attach serves one MCP client's stdio on conn until either side ends. It closes conn.
	Attach(ctx context.Context, peer Peer, a api.Attach, conn net.Conn) error
	CallTool(ctx context.Context, peer Peer, c api.ToolCall) (api.ToolResult, error)

	Shutdown(ctx context.Context, peer Peer) error
}
