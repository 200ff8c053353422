// Package gateway stands between one MCP client and one MCP server: it passes every message on
// as it came, and stops each tools/call until it has been decided and recorded (call.go).
package gateway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// Options is what a Session needs: who, which server, and the parts it works with. All are required.
type Options struct {
	ID        approvals.SessionID
	Principal approvals.Principal
	Server    sandbox.Server
	Spec      sandbox.Digest // of Server's definition
	Instance  sandbox.InstanceID
	Workspace sandbox.WorkspaceID

	Gate    Gate
	Effects Effects
	Log     Recorder
	// Describe judges a definition, once per listing; what it returns tells about one call of it.
	Describe func(protocol.ToolDefinition) Describer
	// Tools is told what the server lists, each time the whole list has been seen.
	Tools func([]protocol.ToolDefinition)
	// Trouble is what to say when the server dies: its state, its last words, the next step.
	Trouble func() string
	Logger  *slog.Logger
}

// Gate decides about calls and asks the person. Authorize returns once the decision is recorded.
type Gate interface {
	Authorize(ctx context.Context, c approvals.Call) (approvals.Decision, error)
}

// Recorder writes the one record of a call.
type Recorder interface {
	Record(ctx context.Context, r store.CallRecord) error
}

// Effects finds what a call did. Calls that may write take turns per workspace.
type Effects interface {
	// Watch begins before the call is sent and may wait for another call's turn to end.
	Watch(ctx context.Context, c approvals.Call, d approvals.Decision) (Watch, error)
	// Blame demotes the tool and holds its changes back from apply.
	Blame(ctx context.Context, c approvals.Call, changes []sandbox.Change, why string) error
}

// Watch is one call under way. Stop is called exactly once.
type Watch interface {
	Stop(ctx context.Context) (Seen, error)
}

// Seen is what happened while a call was under way.
type Seen struct {
	Changes []sandbox.Change
	Shared  []approvals.CallID // other calls in flight, to which Changes may belong too
	Excused bool               // one of them was approved to write, so a read is not to blame
}

// Client is the attached client: its bytes, and the moment it is gone for good (a half-closed
// client still waits for its answers).
type Client interface {
	io.ReadWriteCloser
	Gone() <-chan struct{}
}

// Upstream is the server's pipes. CloseWrite is stdin's end of file; Stop ends the server however
// it takes, after which Read returns.
type Upstream interface {
	io.Reader
	io.Writer
	CloseWrite() error
	Stop(ctx context.Context) error
}

// Why a call was not answered by the server.
var (
	errEnded   = errors.New("the session has ended")
	errIDInUse = errors.New("this id is already in use")
	errUnsent  = errors.New("the call was not sent to the server")
	errSlow    = errors.New("the server did not answer in time; it was told to cancel")
)

const (
	// defaultCall bounds one call where the server declares nothing.
	defaultCall = 5 * time.Minute
	// cancelGrace is how long a cancelled call may still be answered before it is given up.
	cancelGrace = 5 * time.Second
	// aliveEvery is how often a client that gave a progress token hears that its call still waits.
	// The TypeScript SDK gives up after 60 s of silence.
	aliveEvery = 15 * time.Second
	// maxPages bounds the listing we do ourselves before a first call.
	maxPages = 100
)

// Describer says what one call does, from the arguments as they will be sent.
type Describer func(arguments []byte) (class approvals.Class, why, sentence string)

// tool is one tool the server has listed.
type tool struct {
	definition protocol.ToolDefinition
	pin        sandbox.Digest
	describe   Describer
}
