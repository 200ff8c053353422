package gateway

import (
	"context"
	"fmt"
	"strings"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
)

// strayed says why the result of a call that was let run because it changes nothing but its
// workspace's files has to be kept back: it did more, or nobody can tell, and a person, who is asked
// then, does not want the result used. "" when it may pass. ctx outlives the client.
func (s *Session) strayed(ctx context.Context, call approvals.Call, d approvals.Decision, req protocol.Message, seen Seen, seenErr error) string {
	switch {
	case !d.Collect:
		return ""
	case seenErr != nil:
		return "allowed as long as it changes its workspace only, but what it did could not be checked: " + seenErr.Error()
	case len(seen.Hosts) == 0:
		return ""
	}
	finding := "allowed as long as it changes its workspace only, but it reached " + strings.Join(seen.Hosts, ", ")
	if !s.accepted(ctx, call, req, seen.Hosts, finding) {
		return finding
	}
	return ""
}

// accepted asks a person whether what came back from hosts may be used all the same.
func (s *Session) accepted(ctx context.Context, call approvals.Call, req protocol.Message, hosts []string, finding string) bool {
	defer s.keepAlive(progressToken(req))()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)() // a session that ends withdraws it

	about := call
	about.ID, about.Tool, about.Arguments = "", "", nil
	about.Sentence = fmt.Sprintf("use what %s brought back from %s", call.Tool, strings.Join(hosts, ", "))
	d, err := s.Gate.Ask(ctx, approvals.Question{
		About: about, Subject: approvals.Subject{Network: &approvals.NetworkAccess{Hosts: hosts, Call: call.ID, After: true}},
		Why: approvals.Decision{Class: call.Class, Rule: "collected changes stay in their workspace", Reason: call.Tool + " was " + finding + "."},
	})
	return err == nil && d.Allowed()
}
