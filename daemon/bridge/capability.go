package bridge

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// question is what a server may ask a client, in either era.
type question struct {
	method string
	params jsontext.Value // nil when absent
}

// needs is the capability that a client must have declared to be asked, as a path of members; nil
// for what no client can be asked.
func (q question) needs() []string {
	switch q.method {
	case methodElicit:
		if q.byURL() {
			return []string{"elicitation", "url"}
		}
		return []string{"elicitation", "form"}
	case methodSample:
		if p := members(q.params); p["tools"] != nil || p["toolChoice"] != nil {
			return []string{"sampling", "tools"}
		}
		return []string{"sampling"}
	case methodRoots:
		return []string{"roots"}
	}
	return nil
}

func (q question) byURL() bool {
	return q.method == methodElicit && protocol.Text(members(q.params)["mode"]) == "url"
}

// declaredIn reports whether the client's capabilities allow the question. An empty "elicitation"
// is one by form, as it was before there were modes.
func (q question) declaredIn(capabilities jsontext.Value) bool {
	path := q.needs()
	if path == nil {
		return false
	}
	if at(capabilities, path...) != nil {
		return true
	}
	return path[len(path)-1] == "form" && isObject(at(capabilities, "elicitation")) && at(capabilities, "elicitation", "url") == nil
}

// required is the capability as an object, as an error of the modern era names it.
func (q question) required() jsontext.Value {
	v := emptyObject
	path := q.needs()
	for i := len(path) - 1; i >= 0; i-- {
		v = fmt.Appendf(nil, "{%s:%s}", protocol.Quote(path[i]), v)
	}
	return v
}

// name is the capability in words.
func (q question) name() string {
	path := q.needs()
	if len(path) == 0 {
		return q.method
	}
	if path[len(path)-1] == "url" {
		return "elicitation by URL"
	}
	return path[0]
}

// withoutTasks is capabilities of either side and era without what they say of tasks.
func withoutTasks(capabilities jsontext.Value) (jsontext.Value, error) {
	edits := []protocol.Member{drop("tasks")}
	if at(capabilities, "extensions", extensionTasks) != nil {
		rest, err := protocol.Edit(at(capabilities, "extensions"), drop(extensionTasks))
		if err != nil {
			return nil, err
		}
		edits = append(edits, set("extensions", rest))
	}
	return protocol.Edit(capabilities, edits...)
}
