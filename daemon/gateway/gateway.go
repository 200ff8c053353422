// Package gateway stands between one MCP client and one MCP server: it passes every message on
// as it came, and stops each tools/call until it has been decided and recorded (call.go).
package gateway

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/daemon/sanitize"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// Options is what a Session needs: who, which server, and the parts it works with. All are
// required but those that say so.
type Options struct {
	ID        approvals.SessionID
	Principal approvals.Principal
	Server    sandbox.Server
	Spec      sandbox.Digest // of Server's definition
	Workspace sandbox.WorkspaceID

	// Open starts the server, or reaches it; a session opens it again when it is needed after it
	// has ended. The session stops what it was given.
	Open func(ctx context.Context) (Upstream, error)
	// Eras remembers how the server speaks, so that it is not probed again. Optional.
	Eras Eras
	// Once says that the session ends with its server, rather than starting it again.
	Once bool

	Gate    Gate
	Effects Effects
	Log     Recorder
	// Describe judges a definition, once per listing; what it returns tells about one call of it.
	Describe func(protocol.ToolDefinition) Describer
	// Pins says what has been accepted of what the server shows of itself. Without it all of it is.
	Pins Pins
	// Results is what is done with what the server returns.
	Results Results
	// Tools is told what the server lists, each time the whole list has been seen.
	Tools func([]protocol.ToolDefinition)
	// Allow are patterns of path.Match that limit the tools further than the server's own; none mean all.
	Allow []string
	// Admit says why a call comes too soon after others, nil when it does not.
	Admit func() error
	// Patience is how long a call waits for a person before it is answered "pending, call again";
	// 0 means for as long as the question does. A client that gave a progress token, and so hears
	// that its call is alive, is given more time: patientPatience.
	Patience time.Duration
	// Trouble is what to say when the server dies: its state, its last words, the next step.
	Trouble func() string
	// Over is told what Run is about to return, while the client has not been closed yet. Optional.
	Over func(err error)
	// Trace is shown every message as it passed. Optional.
	Trace  func(from Side, raw []byte)
	Logger *slog.Logger
}

// Side is where a message passes by.
type Side string

// The ways a message passes.
const (
	FromClient Side = "from-client"
	ToClient   Side = "to-client"
	FromServer Side = "from-server"
	ToServer   Side = "to-server"
)

// Gate decides about calls and asks the person. Authorize returns once the decision is recorded.
type Gate interface {
	// Settle is Authorize for a call that nobody has to be asked about; settled is false for others.
	Settle(ctx context.Context, c approvals.Call) (d approvals.Decision, settled bool, err error)
	Authorize(ctx context.Context, c approvals.Call) (approvals.Decision, error)
	// Stands says whether what d rests on is still in force; it is asked right before a call is sent.
	Stands(d approvals.Decision) bool
	// Ask puts to a person what is not about a call, and waits as Authorize does.
	Ask(ctx context.Context, q approvals.Question) (approvals.Decision, error)
}

// Recorder writes the one record of a call.
type Recorder interface {
	Record(ctx context.Context, r store.CallRecord) error
}

// Eras is what is known of how a server speaks: LegacyEra when it knows no other, ModernEra when
// it knows no other, Unknown when that has not been seen.
type Eras interface {
	Era() protocol.Era
	Learn(e protocol.Era)
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
	Hosts   []string           // host:port of what it reached outside of its workspace
	Strayed []string           // those of Hosts that nobody has allowed its server, or allows it any more
	Secrets []string           // "NAME, version N" of those its server held or sent meanwhile
	// Commands are the programs that were executed, where rules for them hold, as command lines.
	Commands []string
}

// Client is the attached client: its messages, and the moment it is gone for good (a half-closed
// client still waits for its answers).
type Client interface {
	protocol.Stream
	Gone() <-chan struct{}
	Close() error
}

// Upstream is one life of the server. CloseWrite is its input's end; Stop ends it however it
// takes, after which Read returns.
type Upstream interface {
	protocol.Stream
	// Instance names the sandbox it runs in, "" for a server elsewhere.
	Instance() sandbox.InstanceID
	// Ready says that it has shaken hands; an end before that is a failed start.
	Ready()
	// Excuse says that an end from now until Ready is due to our way of asking, not to the server.
	Excuse()
	// Fail says that it could not be brought to where it can be used, and why.
	Fail(reason string)
	CloseWrite() error
	Stop(ctx context.Context) error
}

// Why a call was not answered by the server.
var (
	errEnded   = errors.New("the session has ended")
	errIDInUse = errors.New("this id is already in use")
	errUnsent  = errors.New("the call was not sent to the server")
	errIdle    = errors.New("the server has been stopped because nobody used it")
	errDeaf    = errors.New("the server does not read what it is sent; it was stopped")
	errMute    = errors.New("the server does not answer; it was stopped")
	errSlow    = errors.New("the server did not answer in time; it was told to cancel")
)

const (
	// defaultCall bounds one call where the server declares nothing.
	defaultCall = 5 * time.Minute
	// defaultStart bounds the handshake where the server declares nothing; servers that fetch
	// models or compile at their first start take more than half a minute.
	defaultStart = time.Minute
	// probeLimit is how long a server may take over a question of the other era before it is taken
	// to ignore it.
	probeLimit = 10 * time.Second
	// cancelGrace is how long a cancelled call may still be answered before it is given up.
	cancelGrace = 5 * time.Second
	// aliveEvery is how often a client that gave a progress token hears that its call still waits.
	// The TypeScript SDK gives up after 60 s of silence.
	aliveEvery = 15 * time.Second
	// patientPatience is how long a call with a progress token waits for a person.
	patientPatience = 5 * time.Minute
	// claimable is how long a question that outlived its call waits for the same call again.
	claimable = 10 * time.Minute
	// maxPages, maxTools and maxListed, in bytes, bound one listing, whoever asks.
	maxPages  = 100
	maxTools  = 10_000
	maxListed = 32 << 20
	// maxQueued bounds what waits for a server that starts, in messages.
	maxQueued = 1000
)

// Describer says what one call does, from the arguments as they will be sent.
type Describer func(arguments []byte) Description

// Description is what one call does; its fields are those of approvals.Call.
type Description struct {
	Class     approvals.Class
	Why       string
	Sensitive string
	Sentence  string
	Profile   string // what we ship about the server and knows the tool; "" for nothing
}

// tool is one tool the server has listed.
type tool struct {
	definition protocol.ToolDefinition
	pin        sandbox.Digest // what it was accepted as
	held       string         // why it does not exist for clients; "" when it does
	describe   Describer
	shape      func() (*sanitize.Shape, error) // its output schema; nil when it has none
}
