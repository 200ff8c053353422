package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// base is the name under which the socket's requests go; the daemon refuses foreign ones.
const base = "http://garita"

// maxReply bounds one answer, in bytes: a workspace's whole diff is the largest.
const maxReply = 256 << 20

// Client calls the daemon over the user's unix socket. It dials when it is used and keeps idle
// connections until Close. Its methods may be called at the same time. Errors are a *Problem when
// the daemon answered, and a *Unreachable when nobody did.
type Client struct {
	socket string
	http   *http.Client
}

// New returns a Client for the daemon listening at socket, a path.
func New(socket string) *Client {
	c := &Client{socket: socket}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return c.Dial(ctx) },
			Proxy:              nil,
			DisableCompression: true,
			IdleConnTimeout:    time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// Default returns a Client for this user's daemon.
func Default() *Client { return New(SocketPath()) }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Socket is the path the Client dials.
func (c *Client) Socket() string { return c.socket }

// Transport carries requests for any URL to the daemon, for those who proxy to it.
// Origin, Referer, Cookie and Sec-Fetch-* headers must be taken off: the daemon's socket refuses them.
func (c *Client) Transport() http.RoundTripper { return c.http.Transport }

// Unreachable says that no daemon of ours answers at the socket.
type Unreachable struct {
	Socket string
	Err    error
}

func (u *Unreachable) Error() string {
	return fmt.Sprintf("reach the daemon at %s: %v", u.Socket, u.Err)
}

// Unwrap gives the cause.
func (u *Unreachable) Unwrap() error { return u.Err }

// Dial opens a connection to the daemon, after making sure that its other end belongs to this user.
func (c *Client) Dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.socket)
	if err != nil {
		return nil, &Unreachable{Socket: c.socket, Err: err}
	}
	if err := checkOwner(conn); err != nil {
		return nil, &Unreachable{Socket: c.socket, Err: errors.Join(err, conn.Close())}
	}
	return conn, nil
}

// Status asks how everything is.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/api/v1/status", nil)
}

// Doctor asks what this machine can do for us.
func (c *Client) Doctor(ctx context.Context) (Doctor, error) {
	return get[Doctor](ctx, c, "/api/v1/doctor", nil)
}

// Calls asks for a page of calls, newest first. before "" starts at the newest; limit 0 leaves the
// number to the daemon; server "" means all.
func (c *Client) Calls(ctx context.Context, before string, limit int, server string) (CallPage, error) {
	return get[CallPage](ctx, c, "/api/v1/calls", values("before", before, "limit", number(int64(limit)), "server", server))
}

// Call asks for one call, with its arguments.
func (c *Client) Call(ctx context.Context, id string) (Call, error) {
	return get[Call](ctx, c, "/api/v1/calls/"+url.PathEscape(id), nil)
}

// Approvals asks what waits for a person. With wait > 0 it returns as soon as something does, or
// with an empty list when wait has passed.
func (c *Client) Approvals(ctx context.Context, wait time.Duration) ([]Approval, error) {
	return get[[]Approval](ctx, c, "/api/v1/approvals", values("wait", waiting(wait)))
}

// Approval asks for one question, answered or not.
func (c *Client) Approval(ctx context.Context, id string) (Approval, error) {
	return get[Approval](ctx, c, "/api/v1/approvals/"+url.PathEscape(id), nil)
}

// Answer replies to a question.
func (c *Client) Answer(ctx context.Context, id string, a Answer) (Approval, error) {
	return post[Approval](ctx, c, "/api/v1/approvals/"+url.PathEscape(id), a)
}

// Preview asks what a yes to a question would cover if it reached as far as p.
func (c *Client) Preview(ctx context.Context, id string, p Permit) (Offer, error) {
	return post[Offer](ctx, c, "/api/v1/approvals/"+url.PathEscape(id)+"/preview", p)
}

// ApprovalGroups asks which of the questions that wait can be answered together.
func (c *Client) ApprovalGroups(ctx context.Context) ([]ApprovalGroup, error) {
	return get[[]ApprovalGroup](ctx, c, "/api/v1/approval-groups", nil)
}

// AnswerGroup replies to several questions at once and returns them as they then are.
func (c *Client) AnswerGroup(ctx context.Context, a GroupAnswer) ([]Approval, error) {
	return post[[]Approval](ctx, c, "/api/v1/approval-answers", a)
}

// Expired asks for the questions of the last week that nobody answered and nobody has seen since.
func (c *Client) Expired(ctx context.Context) ([]Approval, error) {
	return get[[]Approval](ctx, c, "/api/v1/expired-approvals", nil)
}

// SeeExpired notes that questions which expired have been seen; no ids mean all.
func (c *Client) SeeExpired(ctx context.Context, ids ...string) error {
	return c.do(ctx, http.MethodPost, "/api/v1/expired-approvals", nil, SeenApprovals{IDs: ids}, nil)
}

// Grants asks for the permissions in force, or for all there were.
func (c *Client) Grants(ctx context.Context, all bool) ([]Grant, error) {
	q := url.Values{}
	if all {
		q.Set("all", "true")
	}
	return get[[]Grant](ctx, c, "/api/v1/grants", q)
}

// RevokeGrant ends a permission at once.
func (c *Client) RevokeGrant(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "/api/v1/grants/"+url.PathEscape(id), nil, nil, nil)
}

// Servers asks for all configured servers.
func (c *Client) Servers(ctx context.Context) ([]Server, error) {
	return get[[]Server](ctx, c, "/api/v1/servers", nil)
}

// Server asks for one configured server.
func (c *Client) Server(ctx context.Context, name string) (Server, error) {
	return get[Server](ctx, c, serverPath(name, ""), nil)
}

// ServerLog asks for the lines a server wrote to its standard error, as far as they are kept, behind
// after. With wait > 0 it returns as soon as there is one, or without any when wait has passed.
func (c *Client) ServerLog(ctx context.Context, name string, after int64, wait time.Duration) (ServerLog, error) {
	return get[ServerLog](ctx, c, serverPath(name, "/log"), values("after", number(after), "wait", waiting(wait)))
}

// RemoveServer removes a server from the settings; its sandboxes end.
func (c *Client) RemoveServer(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, serverPath(name, ""), nil, nil, nil)
}

// StartServer installs what a server runs from and lets it be started again where it was held back.
func (c *Client) StartServer(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodPost, serverPath(name, "/start"), nil, nil, nil)
}

// RestartServer ends a server's sandboxes and forgets its failures: the next call starts it.
func (c *Client) RestartServer(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodPost, serverPath(name, "/restart"), nil, nil, nil)
}

// FreezeServer stops the clocks of a server's processes until something is sent to it.
func (c *Client) FreezeServer(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodPost, serverPath(name, "/freeze"), nil, nil, nil)
}

// ThawServer lets a server's frozen processes go on.
func (c *Client) ThawServer(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodPost, serverPath(name, "/thaw"), nil, nil, nil)
}

// Sessions asks for the sessions that run or ended lately.
func (c *Client) Sessions(ctx context.Context) ([]Session, error) {
	return get[[]Session](ctx, c, "/api/v1/sessions", nil)
}

// Trace asks for a session's messages behind after; wait as with ServerLog.
func (c *Client) Trace(ctx context.Context, session string, after int64, wait time.Duration) (Trace, error) {
	return get[Trace](ctx, c, "/api/v1/sessions/"+url.PathEscape(session)+"/trace", values("after", number(after), "wait", waiting(wait)))
}

// Tracing asks whether messages are kept.
func (c *Client) Tracing(ctx context.Context) (Tracing, error) {
	return get[Tracing](ctx, c, "/api/v1/tracing", nil)
}

// SetTracing switches the keeping of messages on or off.
func (c *Client) SetTracing(ctx context.Context, t Tracing) (Tracing, error) {
	return post[Tracing](ctx, c, "/api/v1/tracing", t)
}

// Tokens asks for all bearer tokens.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	return get[[]Token](ctx, c, "/api/v1/tokens", nil)
}

// CreateToken makes a bearer token.
func (c *Client) CreateToken(ctx context.Context, t NewToken) (CreatedToken, error) {
	return post[CreatedToken](ctx, c, "/api/v1/tokens", t)
}

// RevokeToken ends a bearer token for good.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "/api/v1/tokens/"+url.PathEscape(id), nil, nil, nil)
}

// StopServer ends a server's sandboxes.
func (c *Client) StopServer(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodPost, serverPath(name, "/stop"), nil, nil, nil)
}

// Workspaces asks for all workspaces.
func (c *Client) Workspaces(ctx context.Context) ([]Workspace, error) {
	return get[[]Workspace](ctx, c, "/api/v1/workspaces", nil)
}

// WorkspaceDiff asks what differs from the host in a server's workspace; agent "" means its only one.
func (c *Client) WorkspaceDiff(ctx context.Context, server, agent string) (WorkspaceDiff, error) {
	return get[WorkspaceDiff](ctx, c, workspacePath(server, "diff"), values("agent", agent))
}

// ApplyWorkspace copies changes of a server's workspace to the host.
func (c *Client) ApplyWorkspace(ctx context.Context, server string, r ApplyRequest) (ApplyResult, error) {
	return post[ApplyResult](ctx, c, workspacePath(server, "apply"), r)
}

// DiscardWorkspace throws changes of a server's workspace away.
func (c *Client) DiscardWorkspace(ctx context.Context, server string, r ApplyRequest) (ApplyResult, error) {
	return post[ApplyResult](ctx, c, workspacePath(server, "discard"), r)
}

// Import reads a client's settings and takes its servers over, or says what it would do.
func (c *Client) Import(ctx context.Context, r ImportRequest) (ImportPlan, error) {
	return post[ImportPlan](ctx, c, "/api/v1/imports", r)
}

// Restore puts clients' settings back as they were before the import.
func (c *Client) Restore(ctx context.Context, r RestoreRequest) ([]Restored, error) {
	return post[[]Restored](ctx, c, "/api/v1/restores", r)
}

// Audit asks for events after a Seq, oldest first. limit 0 leaves the number to the daemon; call
// "" means all. after < 0 counts from the end: -20 means the last 20.
func (c *Client) Audit(ctx context.Context, after int64, limit int, call string) ([]AuditEvent, error) {
	return c.AuditOf(ctx, AuditQuery{After: after, Limit: limit, Call: call})
}

// VerifyAudit has the whole record checked.
func (c *Client) VerifyAudit(ctx context.Context) (Verification, error) {
	return post[Verification](ctx, c, "/api/v1/audit/verify", nil)
}

// BrowserSession asks for a one-time link to the page.
func (c *Client) BrowserSession(ctx context.Context) (BrowserSession, error) {
	return post[BrowserSession](ctx, c, "/api/v1/browser-sessions", nil)
}

// Shutdown asks the daemon to end.
func (c *Client) Shutdown(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/api/v1/shutdown", nil, nil, nil)
}

// CallTool calls one tool as a client and waits for it, and for a person if one is asked.
func (c *Client) CallTool(ctx context.Context, t ToolCall) (ToolResult, error) {
	return post[ToolResult](ctx, c, "/api/v1/tool-calls", t)
}

func serverPath(name, rest string) string {
	return "/api/v1/servers/" + url.PathEscape(name) + rest
}

func workspacePath(server, verb string) string {
	return "/api/v1/workspaces/" + url.PathEscape(server) + "/" + verb
}

// values makes a query of names and values; empty values are left out.
func values(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// waiting writes d; 0 is left out.
func waiting(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return d.String()
}

// number writes n; 0 is left out.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func get[T any](ctx context.Context, c *Client, path string, q url.Values) (T, error) {
	var out T
	err := c.do(ctx, http.MethodGet, path, q, nil, &out)
	return out, err
}

func post[T any](ctx context.Context, c *Client, path string, in any) (T, error) {
	var out T
	err := c.do(ctx, http.MethodPost, path, nil, in, &out)
	return out, err
}

// do sends one request. in nil sends no body; out nil reads none.
func (c *Client) do(ctx context.Context, method, path string, q url.Values, in, out any) error {
	req, err := newRequest(ctx, method, path, q, in)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return bare(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return fmt.Errorf("read the daemon's answer to %s %s: %w", method, path, err)
	}
	if len(body) > maxReply {
		return fmt.Errorf("read the daemon's answer to %s %s: larger than %d bytes", method, path, maxReply)
	}
	if resp.StatusCode/100 != 2 {
		return problem(resp.StatusCode, body)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("read the daemon's answer to %s %s: %w", method, path, err)
	}
	return nil
}

func newRequest(ctx context.Context, method, path string, q url.Values, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in, jsontext.PreserveRawStrings(true))
		if err != nil {
			return nil, fmt.Errorf("write the request %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(b)
	}
	target := base + path
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, fmt.Errorf("write the request %s %s: %w", method, path, err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	return req, nil
}

// bare takes net/http's wrapping off, whose "Get http://garita/…" tells a person nothing.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// problem makes an error of an answer that is not a success.
func problem(status int, body []byte) error {
	p := &Problem{}
	if err := json.Unmarshal(body, p); err != nil || p.Title == "" {
		text := strings.TrimSpace(string(body[:min(len(body), 200)]))
		return &Problem{Status: status, Code: "internal", Title: "the daemon answered " + http.StatusText(status), Detail: text}
	}
	p.Status = status
	return p
}
