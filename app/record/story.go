package record

import (
	"fmt"
	"strings"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

// Step is one event of a session as a person reads it. Its texts are hostile: they come from
// clients and servers.
type Step struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Call string    `json:"call,omitempty"`
	// What is the step in a few words; Details is what else there is to it, a line each.
	What    string   `json:"what"`
	Details []string `json:"details,omitempty"`
}

// Tell is an event's step.
func Tell(e api.AuditEvent) Step {
	s, b := Step{Seq: e.Seq, At: e.At, Kind: e.Kind, Call: e.Call}, read(e.Body)
	switch e.Kind {
	case "session.opened":
		s.What = "session opened"
		s.add("agent", e.Principal).add("server", e.Server).add("workspace", b.Workspace)
	case "session.closed":
		s.What = words("session closed", b.Error)
	case "instance.started":
		s.What = words("sandbox", b.Sandbox, "started")
		s.add("package", packageOf(b))
	case "instance.ended":
		s.What = words("sandbox", b.Sandbox, "ended:", b.Reason)
		if b.Code != nil {
			s.add("exit status", fmt.Sprint(*b.Code))
		}
	case "call.decided":
		s.What = words(b.Call.Tool+":", verdict(b.Decision.Effect), "by", b.Decision.Rule)
		s.add("which", b.Call.Sentence).add("class", b.Decision.Class).add("because", b.Decision.Reason).add("sensitive", b.Call.Sensitive)
	case "approval.asked":
		s.What = words(b.Call.Tool + ": a person is asked")
		s.add("which", b.Call.Sentence).add("because", b.Why.Reason).add("question", b.Request)
	case "approval.answered":
		s.What = words("the question is", b.Outcome)
		s.add("by", b.By).add("after", duration(b.WaitedUS)).add("question", b.Request)
	case "call.finished":
		s.finished(b)
	case "tool.demoted":
		s.What = words(b.Tool, "may no longer pass as a read")
		s.add("because", b.Reason)
	case "workspace.unattributed":
		s.What = "files changed while no call was under way"
		s.changes(b.Changes)
	case "server.unhealthy":
		s.What = "the server writes the same over and over"
		s.add("line", b.Line)
	default:
		s.What = e.Kind
	}
	return s
}

// finished tells how a call ended and what it did.
func (s *Step) finished(b body) {
	s.What = words(b.Call.Tool+":", b.Outcome, "after", duration(b.DurationUS))
	s.add("error", b.Error)
	if b.ResultDigest != "" {
		s.add("result", fmt.Sprintf("%d bytes, %s", b.ResultSize, b.ResultDigest))
	}
	s.changes(b.Changes)
	s.each("host", b.Hosts).each("artifact", b.Artifacts).each("found", b.Findings)
}

func (s *Step) changes(changes []change) {
	for _, c := range changes {
		s.add(c.Kind, words(c.Folder+"/"+c.Path, c.Held))
	}
}

func (s *Step) each(name string, texts []string) *Step {
	for _, t := range texts {
		s.add(name, t)
	}
	return s
}

func (s *Step) add(name, text string) *Step {
	if text != "" {
		s.Details = append(s.Details, name+": "+text)
	}
	return s
}

// verdict is an effect in the past.
func verdict(effect string) string {
	switch effect {
	case "allow":
		return "allowed"
	case "deny":
		return "denied"
	}
	return effect
}

// packageOf is the package a sandbox runs from, as "name@version".
func packageOf(b body) string {
	var p struct{ Name, Version string }
	if len(b.Package) == 0 || unmarshal(b.Package, &p) != nil || p.Name == "" {
		return ""
	}
	return p.Name + "@" + p.Version
}

func duration(us int64) string {
	return (time.Duration(us) * time.Microsecond).Round(10 * time.Microsecond).String()
}

// words joins what is not empty.
func words(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " ")
}
