package grants

import (
	"fmt"
	"strconv"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
)

// hostPath is where a grant that is about a host, and not about calls, names it: "host:port" in JSON.
// Such a grant names no tool, so it covers no call.
const hostPath = "/host"

// uploadPath and tokenPath name a host to which any amount, or what looks like credentials, may be sent.
const (
	uploadPath = "/upload"
	tokenPath  = "/credentials"
)

// keyPath is where a grant that is about a host's key names it by its fingerprint, beside the host. It lets
// no host be reached.
const keyPath = "/host_key"

// HostKey is the host and port, reached by SSH, that g lets name itself by a key, and the fingerprint of
// that; "" for another grant.
func HostKey(g approvals.Grant) (host, fingerprint string) {
	if g.Tool != "" || g.Scope == approvals.ScopeCollect || len(g.Arguments) != 2 || g.Arguments[0].Path != hostPath || g.Arguments[1].Path != keyPath {
		return "", ""
	}
	return unquoted(g.Arguments[0]), unquoted(g.Arguments[1])
}

// pathOf is where a grant that follows from a yes to n names its host.
func pathOf(n *approvals.NetworkAccess) string {
	switch {
	case n.Upload == nil:
		return hostPath
	case len(n.Upload.Kinds) > 0:
		return tokenPath
	}
	return uploadPath
}

// makeHost is the grant that follows from a yes to a server's reaching one host.
func makeHost(r approvals.Request, g approvals.Grant, p approvals.Permission, now time.Time) (approvals.Grant, error) {
	wants := r.Subject.Network
	if wants != nil && wants.HostKey != nil && len(wants.Hosts) == 1 && !wants.After {
		return makeTimed(r, g, p, now,
			approvals.Argument{Path: hostPath, Equals: strconv.Quote(wants.Hosts[0])},
			approvals.Argument{Path: keyPath, Equals: strconv.Quote(wants.HostKey.Fingerprint)},
		)
	}
	if wants == nil || len(wants.Hosts) != 1 || wants.After {
		return approvals.Grant{}, fmt.Errorf("allow more than this once: it is not about reaching one host: %w", errdefs.ErrInvalidArgument)
	}
	return makeTimed(r, g, p, now, approvals.Argument{Path: pathOf(wants), Equals: strconv.Quote(wants.Hosts[0])})
}

// makeTimed is the grant of what is no call, for the time that p says.
func makeTimed(r approvals.Request, g approvals.Grant, p approvals.Permission, now time.Time, about ...approvals.Argument) (approvals.Grant, error) {
	g.Tool, g.Pin, g.Class, g.Sensitive, g.Arguments = "", "", "", false, about
	switch p.Scope {
	case approvals.ScopeSession:
		g.Session = r.Call.Session
	case approvals.ScopeUntil:
		if g.Until = p.Until; !now.Before(g.Until) {
			return approvals.Grant{}, fmt.Errorf("allow more than this once: it would have ended already; name a time to come: %w", errdefs.ErrInvalidArgument)
		}
	case approvals.ScopeAlways:
	case approvals.ScopeOnce, approvals.ScopeCollect:
		return approvals.Grant{}, fmt.Errorf("allow more than this once: choose session, until or always: %w", errdefs.ErrInvalidArgument)
	default:
		return approvals.Grant{}, fmt.Errorf("allow more than this once: %q is no scope; choose session, until or always: %w", p.Scope, errdefs.ErrInvalidArgument)
	}
	g.ID = newID()
	return g, nil
}

// Host is the host and port that g lets its server reach; "" for a grant about anything else.
func Host(g approvals.Grant) string { return hostAt(g, hostPath) }

// UploadHost is the host and port to which g lets its server send any amount; "" for another grant.
func UploadHost(g approvals.Grant) string { return hostAt(g, uploadPath) }

// CredentialsHost is the host and port to which g lets its server send what looks like credentials; ""
// for another grant.
func CredentialsHost(g approvals.Grant) string { return hostAt(g, tokenPath) }

func hostAt(g approvals.Grant, path string) string {
	if g.Tool != "" || g.Scope == approvals.ScopeCollect || len(g.Arguments) != 1 || g.Arguments[0].Path != path {
		return ""
	}
	return unquoted(g.Arguments[0])
}

func unquoted(a approvals.Argument) string {
	text, err := strconv.Unquote(a.Equals)
	if err != nil {
		return ""
	}
	return text
}

// timedOffers are the permissions that can be given with a yes to what is no call: how long it holds.
func timedOffers(r approvals.Request, offers []Offer, now time.Time) []Offer {
	for _, p := range []approvals.Permission{
		{Scope: approvals.ScopeSession},
		{Scope: approvals.ScopeUntil, Until: now.Add(hour).Truncate(time.Minute)},
		{Scope: approvals.ScopeAlways},
	} {
		if g, err := Make(r, p, "", now); err == nil {
			offers = append(offers, Offer{Permission: p, Words: Words(g)})
		}
	}
	return offers
}
