// Package wire is what the engine and its client say to each other over the connections that the
// daemon hands over: paths, bodies and errors. It links nothing of containerd.
//
// Every body is JSON. A request that needs files is made on a connection that carries them.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/packages/pyproject"
)

// Error is the body of every answer that is not 2xx.
type Error struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// kinds pairs the names on the wire with errdefs' kinds and HTTP statuses; the first match wins.
var kinds = []struct {
	name   string
	err    error
	status int
}{
	{"not_found", errdefs.ErrNotFound, http.StatusNotFound},
	{"invalid", errdefs.ErrInvalidArgument, http.StatusBadRequest},
	{"precondition", errdefs.ErrFailedPrecondition, http.StatusPreconditionFailed},
	{"exists", errdefs.ErrAlreadyExists, http.StatusConflict},
	{"conflict", errdefs.ErrConflict, http.StatusConflict},
	{"denied", errdefs.ErrPermissionDenied, http.StatusForbidden},
	{"unavailable", errdefs.ErrUnavailable, http.StatusServiceUnavailable},
	{"exhausted", errdefs.ErrResourceExhausted, http.StatusInsufficientStorage},
	{"unimplemented", errdefs.ErrNotImplemented, http.StatusNotImplemented},
	{"aborted", errdefs.ErrAborted, http.StatusConflict},
}

// Encode makes err an answer.
func Encode(err error) (status int, body Error) {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.status, Error{k.name, err.Error()}
		}
	}
	return http.StatusInternalServerError, Error{"internal", err.Error()}
}

// Err makes an answer an error of the same kind and text again.
func (e Error) Err() error {
	for _, k := range kinds {
		if k.name == e.Kind {
			return &remote{e.Message, k.err}
		}
	}
	return &remote{e.Message, errdefs.ErrInternal}
}

type remote struct {
	message string
	kind    error
}

func (r *remote) Error() string { return r.message }
func (r *remote) Unwrap() error { return r.kind }

// DecodeError reads the body of an answer that is not 2xx.
func DecodeError(status int, body []byte) error {
	var e Error
	if err := json.Unmarshal(body, &e); err != nil || e.Message == "" {
		return fmt.Errorf("the engine answered %d: %w", status, errdefs.ErrUnavailable)
	}
	return e.Err()
}

// Status is what the engine says of itself.
type Status struct {
	PID         int    `json:"pid"` // in its own namespace: 1
	Root        bool   `json:"root"`
	Snapshotter string `json:"snapshotter"`
	Instances   int    `json:"instances"`
}

// Stop is the body of POST /v1/instances/{id}/stop.
type Stop struct {
	DrainMS int64 `json:"drain_ms"`
}

// Dial is the body of POST /v1/instances/{id}/dial; a control socket travels with the request, over
// which the connected socket comes before the answer.
type Dial struct {
	Port int `json:"port"`
}

// Dialed says whether a socket has come, and which addresses are listened on inside.
type Dialed struct {
	Connected bool             `json:"connected"`
	Listening []netip.AddrPort `json:"listening"`
}

// Import is the body of POST /v1/images.
type Import struct {
	Path string `json:"path"` // a layout directory that package image has written
}

// Imported is an image that sandboxes can run.
type Imported struct {
	Digest sandbox.Digest `json:"digest"`
}

// ImageAbout is what an image says of itself, by words for people: "entrypoint", "command", "directory",
// "user", "env NAME", "layer 1". Values are the image's own; hostile.
type ImageAbout struct {
	Words map[string]string `json:"words"`
}

// Install is the body of POST /v1/packages; the wall's socket travels with the request, and the
// answer is a stream of InstallEvent.
type Install struct {
	Ref       sandbox.PackageRef `json:"ref"`
	Want      *sandbox.Package   `json:"want,omitempty"`
	Toolchain string             `json:"toolchain,omitempty"`
	Before    time.Time          `json:"before,omitzero"` // as in sandbox.Package; kept with what is installed
	Young     []string           `json:"young,omitempty"`
	Renew     bool               `json:"renew,omitempty"` // ask the registry whatever is there already
	// Of Python's alone: what the files that Ref names say that it needs, and the interpreter that fits. With a
	// repository a second socket of the wall travels along, by which that can be reached.
	Needs  *pyproject.Needs `json:"needs,omitempty"`
	Python string           `json:"python,omitempty"`
}

// InstallEvent is one line of an install's answer; the last one has Package or Error.
type InstallEvent struct {
	Progress *sandbox.Progress `json:"progress,omitempty"`
	Package  *sandbox.Package  `json:"package,omitempty"`
	Contents []string          `json:"contents,omitempty"` // with Package: "name@version" of all that is installed, sorted
	Error    *Error            `json:"error,omitempty"`
	// Build is, with Error, what has to be built first: its code runs then, and a person is asked.
	Build *sandbox.InstallScript `json:"build,omitempty"`
}

// ExecAnswer answers a question about a program: the body of POST /v1/instances/{id}/execs.
type ExecAnswer struct {
	Ask   uint64 `json:"ask"`
	Allow bool   `json:"allow"`
	Why   string `json:"why,omitempty"` // of a no, in a clause
}

// Sweep counts what is ours and has no owner; all zeroes is the promise after every crash.
type Sweep struct {
	Processes int      `json:"processes"`
	Mounts    int      `json:"mounts"`
	Cgroups   int      `json:"cgroups"`
	Netns     int      `json:"netns"`
	Snapshots int      `json:"snapshots"`
	Sockets   int      `json:"sockets"`
	Details   []string `json:"details"` // what was counted, for a person
}

// Zero reports whether nothing is left.
func (s Sweep) Zero() bool {
	return s.Processes+s.Mounts+s.Cgroups+s.Netns+s.Snapshots+s.Sockets == 0
}

// Since is the answer of POST /v1/workspaces/{id}/mark and the body of …/since and …/advance.
type Since struct {
	Mark sandbox.Mark `json:"mark"`
}

// Advanced is what changed since a mark, and a mark made right after that.
type Advanced struct {
	Changes []sandbox.Change `json:"changes"`
	Mark    sandbox.Mark     `json:"mark"`
}

// Hold is the body of POST /v1/workspaces/{id}/hold.
type Hold struct {
	Paths  []string `json:"paths"`
	Reason string   `json:"reason"`
}

// Paths is the body of …/apply and …/discard; none means everything.
type Paths struct {
	Paths []string `json:"paths"`
	// Seen is a mark made before a person looked: apply leaves out what has changed since.
	Seen sandbox.Mark `json:"seen,omitempty"`
}

// Applied is what was done, and what was left out.
type Applied struct {
	Done []sandbox.Change `json:"done"`
	Left []sandbox.Change `json:"left"`
}
