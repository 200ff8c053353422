package gateway

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// wire is the answer to a request, as the client gets it.
func (a answer) wire(id protocol.ID, err error, era protocol.Era) []byte {
	var p *protocol.ParseError
	switch {
	case errors.As(err, &p):
		return protocol.NewError(id, p.Code, p.Why)
	case err != nil:
		return protocol.NewError(id, protocol.CodeInternal, err.Error())
	case a.result != nil && era == protocol.ModernEra:
		whole, _ := protocol.With(a.result, "resultType", jsontext.Value(`"complete"`)) // our own words parse
		return protocol.NewResult(id, whole)
	case a.result != nil:
		return protocol.NewResult(id, a.result)
	}
	return a.message.Raw
}

// refused is what the model is told about a call that did not happen: denial, expiry and
// withdrawal are different things to do next.
func refused(c approvals.Call, d approvals.Decision) answer {
	switch d.Outcome { //nolint:exhaustive // the others did not keep the call from running
	case approvals.Denied:
		return refusal("denied", "The person denied this call to %s. It did not run. Do not try it again unasked; ask the person what they would like instead.", c.Tool)
	case approvals.Expired:
		return refusal("expired", "Nobody answered the request to call %s in time. It did not run. The person can be asked to look at Garita, and the call made again.", c.Tool)
	case approvals.Pending:
		return refusal("pending", "A person has been asked about this call to %s and has not answered yet. It has not run. Call again with exactly the same arguments to wait for the answer; the question stays open for some minutes.", c.Tool)
	case approvals.Withdrawn:
		return refusal("withdrawn", "The request to call %s was withdrawn before anyone answered. It did not run.", c.Tool)
	}
	return refusal("refused", "Garita refused this call to %s: %s (%s). It did not run.", c.Tool, d.Reason, d.Rule)
}

func refusal(outcome, format string, args ...any) answer {
	return answer{result: protocol.NewRefusal(fmt.Sprintf(format, args...), outcome)}
}

// withheld is what the model is told about a read that did more than read.
func withheld(why string) answer {
	return refusal("withheld", "Garita kept the result of this call back: %s.", why)
}

// list names the first few changed paths.
func list(changes []sandbox.Change) string {
	const shown = 3
	var names []string
	for _, c := range changes[:min(len(changes), shown)] {
		names = append(names, fmt.Sprintf("%s (%s)", c.Path, c.Kind))
	}
	if rest := len(changes) - shown; rest > 0 {
		names = append(names, fmt.Sprintf("%d more", rest))
	}
	return strings.Join(names, ", ")
}

// isToolError says whether a result has "isError": true.
func isToolError(result jsontext.Value) bool {
	members, err := protocol.Members(result, "isError")
	return err == nil && string(members["isError"]) == "true"
}

func digest(result jsontext.Value) store.ResultDigest {
	if result == nil {
		return store.ResultDigest{}
	}
	return store.ResultDigest{Digest: sum(result), Size: int64(len(result))}
}

// bounded cuts text that goes into a record.
func bounded(s string) string {
	const limit = 500
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

func newCallID() approvals.CallID {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return approvals.CallID("c" + hex.EncodeToString(b[:]))
}
