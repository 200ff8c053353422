package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Dialer is an Instance whose servers can be reached where they listen. The engine's instances are,
// and those of sandboxtest.Fake.
type Dialer interface {
	// Dial connects to a TCP port on the sandbox's own loopback, over whichever family is listened
	// on. The caller closes the connection. Calls may overlap. A *DialError when nothing listens
	// there (yet); NotFound when the sandbox has ended.
	Dial(ctx context.Context, port int) (net.Conn, error)
}

// DialError says that nothing listens on a port inside a sandbox.
type DialError struct {
	Port      int
	Listening []netip.AddrPort // what does, in order
}

// Error names what does listen: "nothing listens on 3000; listening: 127.0.0.1:8080".
func (e *DialError) Error() string {
	if len(e.Listening) == 0 {
		return fmt.Sprintf("nothing listens on %d, nor on any other port", e.Port)
	}
	at := make([]string, len(e.Listening))
	for i, l := range e.Listening {
		at[i] = l.String()
	}
	return fmt.Sprintf("nothing listens on %d; listening: %s", e.Port, strings.Join(at, ", "))
}
