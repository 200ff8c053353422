package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

// What the attach route upgrades to.
const (
	// AttachProtocol carries the client's stdio over the connection.
	AttachProtocol = "garita-stdio"
	// AttachHandover hands the client's own standard input and output over instead: the connection
	// then only says, by its end, that the session is over.
	AttachHandover = "garita-stdio-handover"
)

// Query writes a for the attach route's address.
func (a Attach) Query() url.Values {
	q := values("server", a.Server, "client", a.Client, "agent", a.Agent, "dir", a.Dir, "mode", a.Mode, "pid", number(int64(a.PID)))
	for _, word := range a.Command {
		q.Add("command", word)
	}
	for _, dir := range a.Workspace {
		q.Add("workspace", dir)
	}
	return q
}

// ParseAttach reads what Query wrote.
func ParseAttach(q url.Values) (Attach, error) {
	a := Attach{
		Server: q.Get("server"), Client: q.Get("client"), Agent: q.Get("agent"), Dir: q.Get("dir"), Mode: q.Get("mode"),
		Command: q["command"], Workspace: q["workspace"],
	}
	if text := q.Get("pid"); text != "" {
		pid, err := strconv.Atoi(text)
		if err != nil || pid < 0 {
			return Attach{}, fmt.Errorf("read pid %q: not a process id", text)
		}
		a.PID = pid
	}
	if (a.Server == "") == (len(a.Command) == 0) {
		return Attach{}, errors.New("name a server or a command, one of them")
	}
	return a, nil
}

// Attach opens one MCP session. What is written to the connection is the client's side of stdio,
// what is read is the server's; its CloseWrite says that the client is done. ctx bounds opening only.
// The caller closes it.
func (c *Client) Attach(ctx context.Context, a Attach) (net.Conn, error) {
	return c.attach(ctx, a, AttachProtocol)
}

// AttachStdio opens one MCP session for a client whose standard input and output the caller was
// given: pipes or sockets, which the daemon reads and writes itself from now on. Nothing comes over
// the connection, which ends when the session does, and the session ends with it. The files stay
// the caller's to close.
func (c *Client) AttachStdio(ctx context.Context, a Attach, in, out *os.File) (net.Conn, error) {
	conn, err := c.attach(ctx, a, AttachHandover)
	if err != nil {
		return nil, err
	}
	if err := handOver(conn.UnixConn, in, out); err != nil {
		return nil, errors.Join(&Unreachable{Socket: c.socket, Err: err}, conn.Close())
	}
	return conn, nil
}

func (c *Client) attach(ctx context.Context, a Attach, upgradeTo string) (*Stdio, error) {
	req, err := newRequest(ctx, http.MethodGet, "/api/v1/attach", a.Query(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", upgradeTo)
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	up, err := upgrade(ctx, conn, req)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return up, nil
}

// upgrade sends req on conn and waits for 101.
func upgrade(ctx context.Context, conn net.Conn, req *http.Request) (*Stdio, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := req.Write(conn); err != nil {
		return nil, &Unreachable{Socket: conn.RemoteAddr().String(), Err: err}
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, &Unreachable{Socket: conn.RemoteAddr().String(), Err: err}
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		if err != nil {
			return nil, fmt.Errorf("attach: %w", err)
		}
		return nil, problem(resp.StatusCode, body)
	}
	if !stop() {
		return nil, ctx.Err()
	}
	return &Stdio{UnixConn: conn.(*net.UnixConn), ahead: r}, nil
}

// Stdio is an attached connection: a unix socket of which some bytes may already have been read.
type Stdio struct {
	*net.UnixConn
	ahead *bufio.Reader // of UnixConn; drained first, then dropped
}

// NewStdio returns conn with the bytes that ahead holds put back in front.
func NewStdio(conn *net.UnixConn, ahead *bufio.Reader) *Stdio {
	return &Stdio{UnixConn: conn, ahead: ahead}
}

// Read reads as net.Conn does.
func (s *Stdio) Read(p []byte) (int, error) {
	if s.ahead == nil {
		return s.UnixConn.Read(p)
	}
	if s.ahead.Buffered() > 0 {
		return s.ahead.Read(p[:min(len(p), s.ahead.Buffered())])
	}
	s.ahead = nil
	return s.UnixConn.Read(p)
}

// WriteTo copies to w all that is to be read. The bytes read ahead come first; io.Copy would
// otherwise move the rest within the kernel past them.
func (s *Stdio) WriteTo(w io.Writer) (int64, error) {
	var ahead int64
	if s.ahead != nil {
		held := io.LimitReader(s.ahead, int64(s.ahead.Buffered()))
		n, err := io.Copy(w, held)
		if err != nil {
			return n, err
		}
		ahead, s.ahead = n, nil
	}
	n, err := io.Copy(w, s.UnixConn)
	return ahead + n, err
}
