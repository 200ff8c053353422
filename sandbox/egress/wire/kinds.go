package wire

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
)

// ErrorKind is one kind of error and the name it travels by.
type ErrorKind struct {
	Name string
	Err  error
	Is   func(error) bool
}

// Kinds is every kind that keeps its meaning on the way to the daemon.
var Kinds = []ErrorKind{
	{"invalid", errdefs.ErrInvalidArgument, errdefs.IsInvalidArgument},
	{"not_found", errdefs.ErrNotFound, errdefs.IsNotFound},
	{"denied", errdefs.ErrPermissionDenied, errdefs.IsPermissionDenied},
	{"precondition", errdefs.ErrFailedPrecondition, errdefs.IsFailedPrecondition},
	{"unavailable", errdefs.ErrUnavailable, errdefs.IsUnavailable},
	{"canceled", context.Canceled, errdefs.IsCanceled},
}

// Err is the failure as an error of its kind again.
func (f *Failure) Err() error {
	for _, k := range Kinds {
		if k.Name == f.Kind {
			return &remoteError{f.Message, k.Err}
		}
	}
	return &remoteError{f.Message, errdefs.ErrInternal}
}

// remoteError says what the wall said; its kind is in the text already.
type remoteError struct {
	message string
	kind    error
}

// Error is the wall's sentence.
func (e *remoteError) Error() string { return fmt.Sprintf("the wall: %s", e.message) }

// Unwrap is the kind.
func (e *remoteError) Unwrap() error { return e.kind }
