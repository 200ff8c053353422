package gateway

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// limited says that the client may use some of the tools and nothing else: its token names them.
func (s *Session) limited() bool { return len(s.Allow) > 0 }

// toolMethods are what a limited client may ask; what is not among them is refused.
var toolMethods = []string{
	protocol.MethodInitialize, protocol.MethodDiscover, protocol.MethodPing, protocol.MethodListen,
	protocol.MethodToolsList, protocol.MethodToolsCall, "logging/setLevel",
	"tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result", // of its calls
}

// wordsLimited is what it is told.
const wordsLimited = "this client's token is limited to tools; a token without --tool sees prompts and resources, too"

// beyond says whether a limited client asks for something it may not have.
func (s *Session) beyond(method string) bool {
	return s.limited() && !slices.Contains(toolMethods, method)
}

// narrowed is a limited client's subscription, to what it may know of.
func (s *Session) narrowed(m protocol.Message) protocol.Message {
	if !s.limited() || m.Method != protocol.MethodListen {
		return m
	}
	members, err := protocol.Members(m.Params)
	if err != nil {
		return m
	}
	kept := jsontext.Value(`{}`)
	if wanted, err := protocol.Members(members["notifications"]); err == nil && wanted["toolsListChanged"] != nil {
		kept, _ = protocol.Edit(nil, protocol.Member{Name: "toolsListChanged", Value: wanted["toolsListChanged"]})
	}
	params, err := protocol.Replace(m.Params, "notifications", kept)
	if err != nil {
		return m
	}
	return m.WithBody(params)
}

// offers is what a server says it can do, as far as it is there for this client.
func (s *Session) offers(m protocol.Message) protocol.Message {
	members, err := protocol.Members(m.Result)
	if !s.limited() || err != nil || members["capabilities"] == nil {
		return m
	}
	less, err := protocol.Edit(members["capabilities"],
		protocol.Member{Name: "prompts"}, protocol.Member{Name: "resources"}, protocol.Member{Name: "completions"})
	if err != nil {
		return unreadable(m, "capabilities", err)
	}
	result, err := protocol.Replace(m.Result, "capabilities", less)
	if err != nil {
		return unreadable(m, "capabilities", err)
	}
	return m.WithBody(result)
}

// hidden says whether a server's notification is about what does not exist for the client.
func (s *Session) hidden(method string) bool {
	return s.limited() && (strings.HasPrefix(method, "notifications/resources/") || strings.HasPrefix(method, "notifications/prompts/"))
}
