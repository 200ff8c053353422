package door

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// extensionTasks is what clients and servers of the modern era call tasks in their capabilities.
const extensionTasks = "io.modelcontextprotocol/tasks"

// taskMethods are not for all servers together: a task's id is its server's own.
var taskMethods = []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"}

// noTasks is what a client that asks for one is told.
const noTasks = "tasks are each server's own and not for all servers together: use the server's own address, /mcp/SERVER"

// withoutTasks is a client's request as one that has never heard of tasks would send it: what comes back
// is to be the result, since nobody could be asked for it later.
func withoutTasks(m protocol.Message) protocol.Message {
	switch m.Method {
	case protocol.MethodInitialize:
		if less := untasked(memberOf(m.Params, "capabilities")); less != nil {
			return edited(m, protocol.Member{Name: "capabilities", Value: less})
		}
	case protocol.MethodToolsCall:
		if memberOf(m.Params, "task") != nil {
			m = edited(m, protocol.Member{Name: "task"})
		}
	}
	meta, err := protocol.Meta(m.Params)
	if less := untasked(meta[protocol.MetaCapabilities]); err == nil && less != nil {
		if params, err := protocol.WithMeta(m.Params, protocol.MetaCapabilities, less); err == nil {
			return m.WithBody(params)
		}
	}
	return m
}

// edited is m with one member of its params replaced, or taken out where it has no value.
func edited(m protocol.Message, by protocol.Member) protocol.Message {
	params, err := protocol.Edit(m.Params, by)
	if err != nil {
		return m
	}
	return m.WithBody(params)
}

// untasked is capabilities without tasks; nil when there is nothing to take out.
func untasked(capabilities jsontext.Value) jsontext.Value {
	extension := memberOf(capabilities, "extensions", extensionTasks) != nil
	if memberOf(capabilities, "tasks") == nil && !extension {
		return nil
	}
	edits := []protocol.Member{{Name: "tasks"}}
	if extension {
		rest, err := protocol.Edit(memberOf(capabilities, "extensions"), protocol.Member{Name: extensionTasks})
		if err != nil {
			return nil
		}
		edits = append(edits, protocol.Member{Name: "extensions", Value: rest})
	}
	less, err := protocol.Edit(capabilities, edits...)
	if err != nil {
		return nil
	}
	return less
}

func isTask(method string) bool { return slices.Contains(taskMethods, method) }
