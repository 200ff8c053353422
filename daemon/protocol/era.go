package protocol

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Revision is one revision of MCP, by its date.
type Revision string

// The revisions, oldest first. Up to V20251125 a connection begins with initialize ("legacy");
// from V20260728 on each request says for itself what it is ("modern").
const (
	V20241105 Revision = "2024-11-05"
	V20250326 Revision = "2025-03-26"
	V20250618 Revision = "2025-06-18"
	V20251125 Revision = "2025-11-25"
	V20260728 Revision = "2026-07-28"
)

// Legacy are the revisions that begin with initialize, newest first.
var Legacy = []Revision{V20251125, V20250618, V20250326, V20241105}

// Era is how a peer speaks: Unknown until it has shown it.
type Era string

// The eras.
const (
	Unknown   Era = ""
	LegacyEra Era = "legacy"
	ModernEra Era = "modern"
)

// Era is the era of a revision; of one that is not known, Unknown.
func (r Revision) Era() Era {
	switch {
	case slices.Contains(Legacy, r):
		return LegacyEra
	case r == V20260728:
		return ModernEra
	}
	return Unknown
}

// The keys of _meta that the modern era reserves.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClientInfo   = "io.modelcontextprotocol/clientInfo"
	MetaServerInfo   = "io.modelcontextprotocol/serverInfo"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// Error codes of the modern era that a server answers with; a gateway never invents others in
// -32020…-32099.
const (
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

// Meta is the members of params' (or a result's) _meta, nil when there is none. The error is a *ParseError.
func Meta(body jsontext.Value) (map[string]jsontext.Value, error) {
	if body == nil {
		return nil, nil
	}
	members, err := Members(body, "_meta")
	if err != nil || members["_meta"] == nil {
		return nil, err
	}
	return Members(members["_meta"])
}

// VersionOf is the revision a modern request says it is of; "" for a legacy one.
func VersionOf(params jsontext.Value) Revision {
	meta, err := Meta(params)
	if err != nil {
		return ""
	}
	return Revision(Text(meta[MetaVersion]))
}

// WithMeta is body (params or a result, an object; nil means {}) with one member of its _meta set.
func WithMeta(body jsontext.Value, key string, value jsontext.Value) (jsontext.Value, error) {
	members, err := Members(orEmpty(body), "_meta")
	if err != nil {
		return nil, err
	}
	meta, err := With(orEmpty(members["_meta"]), key, value)
	if err != nil {
		return nil, err
	}
	return With(orEmpty(body), "_meta", meta)
}

func orEmpty(object jsontext.Value) jsontext.Value {
	if object == nil {
		return jsontext.Value("{}")
	}
	return object
}
