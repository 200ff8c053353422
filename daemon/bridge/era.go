package bridge

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// EraOfDiscover is the era of a server that gave this answer to a server/discover which probed it:
// modern where it discovers, or fails as only a modern server does; legacy after any other error
// (there is no one code for it) and where it names legacy revisions alone. Unknown is no answer.
func EraOfDiscover(answer protocol.Message) protocol.Era {
	versions := Supported(answer)
	code := codeOf(answer.Error)
	switch {
	case answer.Kind != protocol.Response:
		return protocol.Unknown
	case slices.Contains(versions, protocol.V20260728):
		return protocol.ModernEra
	case slices.ContainsFunc(versions, isLegacy):
		return protocol.LegacyEra
	case len(versions) > 0, code <= protocol.CodeHeaderMismatch && code >= protocol.CodeUnsupportedVersion:
		return protocol.ModernEra
	}
	return protocol.LegacyEra
}

// Supported is the revisions that an answer to server/discover, or an error that says which
// revisions there are, names; nil where it names none.
func Supported(answer protocol.Message) []protocol.Revision {
	named := texts(members(answer.Result)["supportedVersions"])
	if answer.Error != nil {
		named = texts(at(answer.Error, "data", "supported"))
	}
	var all []protocol.Revision
	for _, v := range named {
		all = append(all, protocol.Revision(v))
	}
	return all
}

// ModernOnly reports whether an answer to initialize is the refusal of a server that knows no
// initialize: that it names modern revisions, or an error as of a method or a request it does not
// know. A refusal that names legacy revisions is not, nor is one of the params, as old servers
// refuse a version, unless it speaks of what the modern era alone has.
func ModernOnly(initializeAnswer protocol.Message) bool {
	if initializeAnswer.Kind != protocol.Response || initializeAnswer.Error == nil {
		return false
	}
	versions := Supported(initializeAnswer)
	switch code := codeOf(initializeAnswer.Error); {
	case slices.ContainsFunc(versions, isLegacy):
		return false
	case len(versions) > 0, speaksModern(initializeAnswer.Error):
		return true
	default:
		return code == protocol.CodeNoMethod || code == protocol.CodeInvalidRequest || code <= protocol.CodeHeaderMismatch && code >= protocol.CodeUnsupportedVersion
	}
}

func isLegacy(r protocol.Revision) bool { return r.Era() == protocol.LegacyEra }

func speaksModern(object jsontext.Value) bool {
	for _, word := range []string{string(protocol.V20260728), "io.modelcontextprotocol/", protocol.MethodDiscover} {
		if bytes.Contains(object, []byte(word)) {
			return true
		}
	}
	return false
}
