package keyring

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/godbus/dbus/v5"
)

// What a keyring may have to say.
var (
	ErrNone     = errors.New("there is no keyring")
	ErrNotFound = errors.New("it is not in the keyring")
	ErrLocked   = errors.New("the keyring is locked")
	ErrSilent   = errors.New("the keyring does not answer")
	ErrWaiting  = errors.New("the keyring is locked, and asks its owner")
	ErrDeclined = errors.New("the keyring's question was declined")
)

// saying makes one of the above of what came of an exchange that ctx bounds.
func saying(ctx context.Context, err error) error {
	var said dbus.Error
	switch {
	case err == nil, errors.Is(err, ErrNone), errors.Is(err, ErrNotFound), errors.Is(err, ErrLocked), errors.Is(err, ErrDeclined):
		return err
	case ctx.Err() != nil:
		return ErrSilent
	case errors.As(err, &said):
		return bySaying(said)
	}
	return fmt.Errorf("%w: %w", ErrNone, err)
}

func bySaying(e dbus.Error) error {
	kind := ErrNone // whatever has the service's name is no keyring that we know
	switch name := strings.TrimPrefix(e.Name, "org.freedesktop."); name {
	case "Secret.Error.IsLocked":
		kind = ErrLocked
	case "Secret.Error.NoSuchObject":
		kind = ErrNotFound
	case "DBus.Error.NoReply", "DBus.Error.Timeout", "DBus.Error.TimedOut", "DBus.Error.LimitsExceeded":
		kind = ErrSilent
	case "DBus.Error.ServiceUnknown", "DBus.Error.NameHasNoOwner":
		return ErrNone
	}
	return fmt.Errorf("%w (%s)", kind, e.Name)
}
