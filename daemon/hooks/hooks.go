// Package hooks says what a client's own tools do: those that no server lists and no wall is around, of
// which its hooks tell before they run. It is pure. What it does not know it takes for a change.
package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
	"github.com/garita-dev/garita/sandbox"
)

// Server is the name under which a client's own tools stand in questions and in the record.
const Server sandbox.ServerName = "claude-code"

// version changes whenever what we think of a tool does: what was permitted of it ends then.
const version = "garita hooks 1 claude-code"

// Spec stands for the definition of Server. No server that is configured has it.
func Spec() sandbox.Digest { return digest(version) }

// Ours says whether a call came in by a hook.
func Ours(c approvals.Call) bool { return c.Server == Server && c.Spec == Spec() }

// Use is one use of a tool, as the hook tells it; hostile.
type Use struct {
	Tool  string
	Input []byte // one JSON object
}

// Told is what a use does.
type Told struct {
	Class     approvals.Class
	Why       string // one sentence
	Sensitive string // why a read shows what is not for everybody, one clause
	Sentence  string
	Outside   bool           // it leaves the machine, or nobody here knows what stands behind the name: reads ask, too
	Pin       sandbox.Digest // "" where a longer yes can be for the session only: whoever asks makes one of it
}

// Judge says what u does. secret says whether keys or passwords are kept at a path. InvalidArgument:
// what was told cannot be understood without doubt, and must not run.
func Judge(u Use, secret func(path string) bool) (Told, error) {
	if u.Tool == "" || len(u.Tool) > maxName {
		return Told{}, fmt.Errorf("the hook names no tool: %w", errdefs.ErrInvalidArgument)
	}
	members, err := protocol.Members(u.Input)
	if err != nil {
		return Told{}, fmt.Errorf("the arguments of %s cannot be read: %w: %w", u.Tool, err, errdefs.ErrInvalidArgument)
	}
	t, known := builtin[u.Tool]
	if !known {
		return stranger(u.Tool), nil
	}
	told := Told{Class: t.class, Why: t.why, Outside: t.outside, Sentence: t.say(members), Pin: digest(version, u.Tool)}
	if t.class == approvals.Read {
		told.Sensitive = sensitive(members, secret)
	}
	return told, nil
}

// maxName bounds a tool's name, in bytes.
const maxName = 256

// stranger is a tool that is not known.
func stranger(name string) Told {
	return Told{
		Class: approvals.Write, Why: "Garita does not know this tool.", Outside: true,
		Sentence: "use " + name,
	}
}

// MCP takes the name of a tool of an MCP server apart: "mcp__SERVER__TOOL". ok is false for others.
func MCP(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// Through says whether a tool is one of the server called name in the client's settings.
func Through(tool, name string) bool {
	return name != "" && strings.HasPrefix(tool, "mcp__"+plain(name)+"__")
}

// plain is a server's name as the client writes it in the names of tools.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

func digest(parts ...string) sandbox.Digest {
	h := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return sandbox.Digest("sha256:" + hex.EncodeToString(h[:]))
}

// tool is what we know of one of the client's own.
type tool struct {
	class   approvals.Class
	why     string
	verb    string
	object  []string // the members that name what it is about, the most telling first
	outside bool
}

// say tells a use as a person would.
func (t tool) say(members map[string]jsontext.Value) string {
	for _, name := range t.object {
		if text := protocol.Text(members[name]); text != "" {
			return t.verb + " " + line(text)
		}
	}
	return t.verb
}

// line is the beginning of text, for a sentence; all of it stands in the arguments.
func line(text string) string {
	const limit = 120
	first, _, more := strings.Cut(text, "\n")
	if len(first) > limit {
		first, more = strings.ToValidUTF8(first[:limit], ""), true
	}
	if more {
		first += " …"
	}
	return first
}
