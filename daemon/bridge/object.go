package bridge

import (
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/daemon/protocol"
)

// Methods and notifications in which the eras differ, beside those of package protocol.
const (
	methodSetLevel     = "logging/setLevel"
	methodSubscribe    = "resources/subscribe"
	methodUnsubscribe  = "resources/unsubscribe"
	methodRead         = "resources/read"
	methodPrompt       = "prompts/get"
	methodElicit       = "elicitation/create"
	methodSample       = "sampling/createMessage"
	methodRoots        = "roots/list"
	noteMessage        = "notifications/message"
	notePromptsChange  = "notifications/prompts/list_changed"
	noteResourceChange = "notifications/resources/list_changed"
	noteUpdated        = "notifications/resources/updated"
	noteRootsChange    = "notifications/roots/list_changed"
	noteElicited       = "notifications/elicitation/complete"
	noteAcknowledged   = "notifications/subscriptions/acknowledged"
	extensionTasks     = "io.modelcontextprotocol/tasks"
)

var (
	// mayAsk are the requests whose answer may be "input_required".
	mayAsk = []string{protocol.MethodToolsCall, methodPrompt, methodRead}
	// cacheable are the requests whose results carry ttlMs and cacheScope.
	cacheable = []string{protocol.MethodDiscover, protocol.MethodToolsList, "prompts/list", "resources/list", "resources/templates/list", methodRead}
	// tasks are the requests of either era's tasks, which are not bridged.
	tasks = []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"}
	// levels are the log levels, from all there is to say to the least.
	levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
)

// maxURI bounds a resource that is subscribed to, in bytes.
const maxURI = 64 << 10

const noTasks = "tasks cannot be passed between the eras of MCP that this client and this server speak"

// modernMeta are the keys of a request's _meta that the modern era alone has.
var modernMeta = []string{protocol.MetaVersion, protocol.MetaCapabilities, protocol.MetaClientInfo, protocol.MetaLogLevel}

var emptyObject = jsontext.Value("{}")

func set(name string, value jsontext.Value) protocol.Member {
	return protocol.Member{Name: name, Value: value}
}

func setText(name, value string) protocol.Member { return set(name, protocol.Quote(value)) }
func drop(name string) protocol.Member           { return protocol.Member{Name: name} }

func dropAll(names []string) []protocol.Member {
	all := make([]protocol.Member, len(names))
	for i, n := range names {
		all[i] = drop(n)
	}
	return all
}

// object is v where it is one, and an empty one where it is absent or null.
func object(v jsontext.Value) jsontext.Value {
	if v == nil || v.Kind() == 'n' {
		return emptyObject
	}
	return v
}

func isObject(v jsontext.Value) bool { return v != nil && v.Kind() == '{' }

// members are those of an object, none when v is no object.
func members(v jsontext.Value, want ...string) map[string]jsontext.Value {
	if !isObject(v) {
		return nil
	}
	m, err := protocol.Members(v, want...)
	if err != nil {
		return nil
	}
	return m
}

// at is what stands at a path of members, nil where nothing does.
func at(v jsontext.Value, path ...string) jsontext.Value {
	for _, name := range path {
		v = members(v)[name]
	}
	return v
}

// editMeta changes members of body's _meta, which goes when it becomes empty, and more of body.
func editMeta(body jsontext.Value, meta []protocol.Member, more ...protocol.Member) (jsontext.Value, error) {
	all, err := protocol.Members(body, "_meta")
	if err != nil {
		return nil, err
	}
	edited, err := protocol.Edit(object(all["_meta"]), meta...)
	if err != nil {
		return nil, err
	}
	if len(members(edited)) == 0 {
		edited = nil
	}
	return protocol.Edit(body, append(more, set("_meta", edited))...)
}

// withParams is the message with other params, whether it had any or not.
func withParams(m protocol.Message, params jsontext.Value) protocol.Message {
	if m.Params != nil {
		return m.WithBody(params)
	}
	raw, err := protocol.With(m.Raw, "params", params)
	if err != nil {
		return m
	}
	with, err := protocol.Parse(raw)
	if err != nil {
		return m
	}
	return with
}

// elements are those of an array, each as its bytes are; none when v is no array.
func elements(v jsontext.Value) []jsontext.Value {
	var all []jsontext.Value
	if v == nil || v.Kind() != '[' || json.Unmarshal(v, &all) != nil {
		return nil
	}
	return all
}

// texts are the strings of an array; what is no string in it is left out.
func texts(v jsontext.Value) []string {
	var out []string
	for _, s := range elements(v) {
		if s.Kind() == '"' {
			out = append(out, protocol.Text(s))
		}
	}
	return out
}

func quoteAll(all []string) jsontext.Value {
	quoted := make([]jsontext.Value, len(all))
	for i, s := range all {
		quoted[i] = protocol.Quote(s)
	}
	return arrayOf(quoted)
}

// names are a map's, in an order that stays.
func names[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }

// objectOf is an object with these members, each as its bytes are.
func objectOf(of map[string]jsontext.Value) jsontext.Value {
	all := make([]protocol.Member, 0, len(of))
	for _, name := range names(of) {
		all = append(all, set(name, of[name]))
	}
	v, _ := protocol.Edit(nil, all...) // of an object
	return v
}

// arrayOf is an array of these elements, each as its bytes are.
func arrayOf(elements []jsontext.Value) jsontext.Value {
	out := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}

// digest is the same for two calls that say the same, however their JSON is laid out: numbers
// alone are compared as they are written.
func digest(method string, params jsontext.Value) ([sha256.Size]byte, error) {
	said, err := protocol.Edit(params, drop("_meta"), drop("inputResponses"), drop("requestState"), drop("task"))
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	said = said.Clone()
	if err := said.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return [sha256.Size]byte{}, err
	}
	return sha256.Sum256(append([]byte(method+"\x00"), said...)), nil
}

// unguessable is a name that nobody can guess.
func unguessable() string { return rand.Text() }
