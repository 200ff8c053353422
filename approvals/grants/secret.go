package grants

import (
	"fmt"
	"strconv"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
)

// secretPath is where a grant that is about the use of a secret names it, in JSON; hostPath is beside
// it. Such a grant names no tool, so it covers no call, and it is about more than a host, so it lets
// none be reached.
const secretPath = "/secret"

// makeSecret is the grant that follows from a yes to a server's use of one secret toward one host.
func makeSecret(r approvals.Request, g approvals.Grant, p approvals.Permission, now time.Time) (approvals.Grant, error) {
	wants := r.Subject.Secret
	if wants == nil || wants.Secret == "" || len(wants.Hosts) != 1 {
		return approvals.Grant{}, fmt.Errorf("allow more than this once: it is not about one secret toward one host: %w", errdefs.ErrInvalidArgument)
	}
	return makeTimed(r, g, p, now,
		approvals.Argument{Path: secretPath, Equals: strconv.Quote(wants.Secret)},
		approvals.Argument{Path: hostPath, Equals: strconv.Quote(wants.Hosts[0])},
	)
}

// Secret is the secret that g lets its server use, and toward which host and port; "" for another grant.
func Secret(g approvals.Grant) (name, host string) {
	if g.Tool != "" || g.Scope == approvals.ScopeCollect || len(g.Arguments) != 2 || g.Arguments[0].Path != secretPath || g.Arguments[1].Path != hostPath {
		return "", ""
	}
	if name, host = unquoted(g.Arguments[0]), unquoted(g.Arguments[1]); name == "" || host == "" {
		return "", ""
	}
	return name, host
}
