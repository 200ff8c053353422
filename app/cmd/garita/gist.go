package main

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/api"
)

// gist tells in a few words what an event's body says; of kinds it does not know it shows the body.
func gist(e api.AuditEvent) string {
	b := body(e.Body)
	tool := b.text("call", "tool")
	switch e.Kind {
	case "call.decided":
		return words(tool+":", b.text("decision", "effect"), "by", b.text("decision", "rule"))
	case "call.finished":
		return words(tool+":", b.text("outcome"), b.text("error"))
	case "approval.asked":
		return words(tool+":", b.text("call", "sentence"), "("+short(b.text("request"))+")")
	case "approval.answered":
		return words(short(b.text("request")), b.text("outcome"), b.text("by"))
	case "approval.refused":
		return words(b.text("what")+":", b.text("why"))
	case "tool.demoted":
		return words(b.text("tool")+":", b.text("reason"))
	case "session.opened", "session.closed":
		return words(b.text("workspace"), b.text("error"))
	case "instance.started":
		return b.text("sandbox")
	case "instance.ended":
		return words(b.text("sandbox")+":", b.text("reason"))
	case "package.installed":
		return words(b.text("package", "name"), b.text("package", "version"))
	case "record.dropped":
		return b.text("why")
	case "server.unhealthy":
		return words("it writes over and over:", b.text("line"))
	case "access.refused":
		return b.text("why")
	default:
		return oneLine(e.Body)
	}
}

// body is an event's JSON object.
type body []byte

// text is the string at a path of member names, made safe; "" when there is none.
func (b body) text(path ...string) string {
	raw := jsontext.Value(b)
	for _, name := range path {
		var members map[string]jsontext.Value
		if json.Unmarshal(raw, &members) != nil {
			return ""
		}
		raw = members[name]
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return safe(text)
}

// words joins what is not empty.
func words(parts ...string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " ")
}
