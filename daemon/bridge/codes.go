package bridge

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// Error codes that one era has and the other has not.
const (
	codeNotFound    = -32002 // a resource, up to 2025-11-25
	codeURLRequired = -32042 // elicitation by URL, 2025-11-25 alone
)

// codeOf is an error object's code, 0 when it has none.
func codeOf(object jsontext.Value) int {
	n, err := strconv.Atoi(string(members(object)["code"]))
	if err != nil {
		return 0
	}
	return n
}

// reserved reports whether the specification keeps the code for itself.
func reserved(code int) bool { return code <= -32020 && code >= -32099 }

// legacyCode is what a code of a modern server is to a legacy client.
func legacyCode(code int, method string, revision protocol.Revision) int {
	switch {
	case code == protocol.CodeInvalidParams && method == methodRead:
		return codeNotFound
	case code == codeURLRequired && revision == protocol.V20251125:
		return code
	case reserved(code):
		return protocol.CodeInternal
	}
	return code
}

// modernCode is what a code of a legacy server is to a modern client.
func modernCode(code int, method string) int {
	switch {
	case code == codeNotFound && method == methodRead:
		return protocol.CodeInvalidParams
	case code == codeNotFound, reserved(code):
		return protocol.CodeInternal
	}
	return code
}

// withCode is an error answer with another code, its message and data as they were.
func withCode(m protocol.Message, code int) protocol.Message {
	if codeOf(m.Error) == code {
		return m
	}
	object, err := protocol.Edit(m.Error, set("code", jsontext.Value(strconv.Itoa(code))))
	if err != nil {
		return m
	}
	return m.WithBody(object)
}
