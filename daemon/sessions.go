package daemon

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/httpapi"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/trace"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// visit is one client that wants to be attached: who it is and to which server.
type visit struct {
	principal approvals.Principal
	server    sandbox.Server
	clientPID int           // whose descendants may not answer; 0 where the door holds them
	door      string        // stdio | http | call, for listings
	tools     []string      // patterns of the tools that exist for it; none mean all
	once      bool          // it ends with its server
	trial     bool          // nothing of it is kept
	patience  time.Duration // of its client; 0 without end
	over      func(error)   // told what the session ends with, before its client is let go; may be nil
}

// clientPatience is how long clients wait for an answer that may take a person: most give up
// after a minute of silence.
const clientPatience = 50 * time.Second

// Attach implements httpapi.Backend: one MCP client's stdio, until either side ends.
func (d *Daemon) Attach(ctx context.Context, peer httpapi.Peer, a api.Attach, conn net.Conn) error {
	client, err := clientOn(conn, a.Handover)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	defer client.Close()
	verdict := func(err error) {
		var failed *gateway.StartError
		if errors.As(err, &failed) {
			_ = api.EndFailed(conn, failed.Error()) // it may be gone
		}
	}
	v, err := d.visitOf(peer, a)
	v.over = verdict
	if err != nil {
		err = turnAway(client, err)
	} else {
		err = d.serve(ctx, v, client)
	}
	verdict(err) // a session has told its own
	return err
}

// CallTool implements httpapi.Backend: one tool called as a client would, in a session of its own.
func (d *Daemon) CallTool(ctx context.Context, peer httpapi.Peer, t api.ToolCall) (api.ToolResult, error) {
	server, err := d.configured(t.Server)
	if err != nil {
		return api.ToolResult{}, err
	}
	client, caller := newCallClient(ctx)
	served := make(chan error, 1)
	d.sessions.Go(func() {
		v := visit{principal: approvals.Principal{UID: peer.UID}, server: server, clientPID: peer.PID, door: "call"}
		err := d.serve(context.WithoutCancel(ctx), v, client)
		_ = client.Close()
		served <- err
	})
	result, err := caller.call(t)
	if t := d.supervisor.Standing(server.Name); t != nil && (err != nil || result.Error != nil) {
		return result, problemOfTrouble(t)
	}
	if err == nil {
		return result, nil // the sandbox is taken down behind us
	}
	if cause := <-served; cause != nil {
		return result, cause
	}
	return result, err
}

// serve runs one session from its sandbox's start to its end.
func (d *Daemon) serve(ctx context.Context, v visit, client gateway.Client) error {
	if v.clientPID > 0 {
		if err := d.attached.hold(v.clientPID); err != nil {
			return turnAway(client, err)
		}
		defer d.hooked.attach(v.clientPID, v.server.Name)()
	}
	ctx, cancel := d.whileServing(ctx)
	defer cancel()

	o, err := d.sessionOf(ctx, v)
	if err != nil {
		return turnAway(client, err)
	}
	seen := d.traces.Open(trace.Session{
		ID: string(o.ID), Agent: d.agentName(v.principal), Server: string(v.server.Name), Door: v.door, Started: time.Now(),
	})
	defer seen.End()
	o.Trace = func(at gateway.Side, raw []byte) { seen.Record(trace.Direction(at), raw) }
	session := gateway.New(o)
	defer d.live.add(o.ID, session)()
	defer d.gate.EndSession(o.ID)
	err = session.Run(ctx, client)
	d.settling()
	d.record(context.WithoutCancel(ctx), store.SessionClosed, o, err)
	return err
}

// sessionOf names a session and joins it with the parts it works with.
func (d *Daemon) sessionOf(ctx context.Context, v visit) (gateway.Options, error) {
	v.server = d.observed.placed(v.server)
	spec, err := config.Digest(v.server)
	if err != nil {
		return gateway.Options{}, err
	}
	last := &lastStart{}
	o := gateway.Options{
		ID: approvals.SessionID("s" + random()), Principal: v.principal, Server: v.server, Spec: spec,
		Once: v.once, Patience: v.patience, Over: v.over, Gate: d.gate, Effects: withWall{d.effects, d.ways}, Log: callLog{d}, Describe: d.describes(v.server),
		Allow: v.tools, Admit: d.admission(v), Eras: d.erasOf(spec, v.server),
		Tools:   func(t []protocol.ToolDefinition) { d.noteTools(v.server.Name, t) },
		Trouble: func() string { return d.trouble(v.server.Name, last.Load()) }, Logger: d.log,
	}
	o.Pins = d.pinsOf(o)
	o.Results = d.resultsOf(o)
	if hasWorkspace(v.server.Spec) {
		if o.Workspace, err = d.workspaceFor(ctx, v); err != nil {
			return gateway.Options{}, err
		}
	}
	if err := d.recordDurable(ctx, store.SessionOpened, o, nil); err != nil {
		return gateway.Options{}, fmt.Errorf("no session without a record: %w", err)
	}
	o.Admit = d.secrets.admit(o.ID, o.Admit)
	o.Open = d.opening(v, o, last)
	if v.server.Source.External() {
		o.Open = d.reaching(v.server, o)
	}
	return o, nil
}

// whileServing ends with ctx and with the daemon.
func (d *Daemon) whileServing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(d.running, cancel)
	return ctx, func() { stop(); cancel() }
}

// visitOf tells who attaches and to what. The client process is the peer's parent, or the
// ancestor past launchers that the peer names; it must really be an ancestor.
func (d *Daemon) visitOf(peer httpapi.Peer, a api.Attach) (visit, error) {
	server, err := d.serverOf(a)
	if err != nil {
		return visit{}, err
	}
	return visit{
		principal: approvals.Principal{UID: peer.UID, Client: a.Client}, server: server, clientPID: clientAbove(peer, a.PID), door: "stdio",
		once: a.Server == "", patience: clientPatience,
	}, nil
}

// clientAbove is the client process behind a peer: its parent, or the ancestor past launchers that it names.
func clientAbove(peer httpapi.Peer, named int) int {
	pid := parent(peer.PID)
	if line := lineage(peer.PID); len(line) > 0 && slices.Contains(line[1:], named) {
		pid = named
	}
	if pid <= 1 { // nothing stands above it: it is held itself
		return peer.PID
	}
	return pid
}

// serverOf is the configured server of that name, or one made up for a command.
func (d *Daemon) serverOf(a api.Attach) (sandbox.Server, error) {
	if a.Server != "" {
		server, err := d.configured(a.Server)
		if err == nil && len(a.Workspace) > 0 {
			server.Spec.Folders, err = d.checkedFolders(a.Workspace)
		}
		return server, err
	}
	return d.adHoc(a)
}

func (d *Daemon) configured(name string) (sandbox.Server, error) {
	n, err := sandbox.ParseServerName(name)
	if err != nil {
		return sandbox.Server{}, err
	}
	server, ok := d.config.Server(n)
	if !ok {
		return sandbox.Server{}, &api.Problem{
			Code: "not_found", Title: fmt.Sprintf("There is no server named %q", name), Detail: d.whyUnknown(), Next: "garita server list",
		}
	}
	return server, nil
}

// whyUnknown says why a server may not be known.
func (d *Daemon) whyUnknown() string {
	if problem := d.config.Problem(); problem != nil {
		return "The settings are not in force as they stand: " + problem.Error()
	}
	return "It is neither in servers.yaml nor was it imported."
}

// checkedFolders are the folders a person named, if each may enter a sandbox.
func (d *Daemon) checkedFolders(dirs []string) ([]string, error) {
	guard := d.config.Paths().Guard()
	for _, dir := range dirs {
		why := guard.Refuse(dir)
		switch {
		case !filepath.IsAbs(dir):
			why = "it is not an absolute path"
		case why == "" && guard.Credential(dir):
			why = "keys and passwords are kept there"
		}
		if why != "" {
			return nil, fmt.Errorf("workspace %q: %s: %w", dir, why, errdefs.ErrInvalidArgument)
		}
	}
	return dirs, nil
}

func hasWorkspace(s sandbox.Spec) bool {
	return len(s.Folders) > 0 && (s.Workspace == "" || s.Workspace == sandbox.Snapshot)
}

// workspaceID is the same for the same agent, server and folders, so that a workspace is resumed.
func workspaceID(v visit) sandbox.WorkspaceID {
	return sandbox.WorkspaceID("w" + hashed(v.principal.String(), string(v.server.Name), fmt.Sprintf("%q", v.server.Spec.Folders)))
}

func group(p approvals.Principal) string { return "g" + hashed(p.String()) }

func volume(v visit) string {
	return string(v.server.Name) + "-" + hashed(v.principal.String(), string(v.server.Name))
}

// hashed is 16 hex digits that stand for the parts, unambiguously.
func hashed(parts ...string) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(h[:8])
}

func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// turnAway answers a client's first request with why it is not served; clients show that. It returns
// the cause as that of a failed start.
func turnAway(client gateway.Client, cause error) error {
	if c, ok := client.(interface{ SetReadDeadline(t time.Time) error }); ok {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	}
	m, err := client.Read()
	if err == nil && m.Kind == protocol.Request {
		_ = client.Write(protocol.NewError(m.ID, protocol.CodeInternal, cause.Error()))
	}
	return &gateway.StartError{Err: cause}
}
