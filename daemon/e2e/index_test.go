package e2e

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// pyNotes is a server in Python without dependencies but its own; the tools of its second version are two.
const pyNotes = `
import json, sys
from notes_dep import NAME
TOOLS = [{"name": "read_note", "description": "Reads the note.", "inputSchema": {"type": "object", "properties": {}}, "annotations": {"readOnlyHint": True}}]
def answer(method):
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "py-notes", "version": VERSION}}
    if method == "tools/list":
        return {"tools": TOOLS}
    return {"content": [{"type": "text", "text": "a note of %s, by py-notes %s" % (NAME, VERSION)}]}
def main():
    for line in sys.stdin:
        m = json.loads(line)
        if "id" in m:
            print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": answer(m["method"])}), flush=True)
`

const secondTool = `
TOOLS.append({"name": "count_notes", "description": "Counts the notes.", "inputSchema": {"type": "object", "properties": {}}})
`

// pythonIndex is the command "index": without arguments it starts an index of Python packages that has a
// server; "index next" publishes the next version, "index gone" ends it.
func pythonIndex(t *testing.T) func(*testscript.TestScript, bool, []string) {
	var x *sandboxtest.Index
	return func(ts *testscript.TestScript, neg bool, args []string) {
		switch {
		case neg || len(args) > 1:
			ts.Fatalf("usage: index [next|gone]")
		case len(args) == 0:
			x = sandboxtest.NewIndex(t)
			x.Publish(t, sandboxtest.Wheel{Name: "notes-dep", Version: "3.0", Files: map[string]string{"notes_dep.py": "NAME = 'notes-dep'\n"}})
			publishNotes(t, x, "1.0", "")
			ts.Setenv("UV_DEFAULT_INDEX", x.Simple())
		case args[0] == "next":
			publishNotes(t, x, "1.1", secondTool)
		default:
			x.Close()
		}
	}
}

func publishNotes(t *testing.T, x *sandboxtest.Index, version, more string) {
	x.Publish(t, sandboxtest.Wheel{
		Name: "py-notes", Version: version, Requires: []string{"notes-dep>=3"}, Scripts: map[string]string{"py-notes": "py_notes:main"},
		Files: map[string]string{"py_notes.py": "VERSION = '" + version + "'\n" + pyNotes + more},
	})
}

// shellNotes is a server for the host's shell. What stands for TOOLS are its tools.
const shellNotes = `while IFS= read -r line; do
	id=${line#*'"id":'}; id=${id%%[,\}]*}
	case $line in
	*'"initialize"'*) body='"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}' ;;
	*'"tools/list"'*) body='"tools":[TOOLS]' ;;
	*'"tools/call"'*) body='"content":[{"type":"text","text":"a note of VERSION"}]' ;;
	*) continue ;;
	esac
	printf '{"jsonrpc":"2.0","id":%s,"result":{%s}}\n' "$id" "$body"
done
`

// shellImage is the command "image VERSION": it makes the tag that IMAGE names a server of that version.
func shellImage(t *testing.T) func(*testscript.TestScript, bool, []string) {
	var all *sandboxtest.Images
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: image VERSION")
		}
		if all == nil {
			all = sandboxtest.NewImages(t)
		}
		tools := ""
		for _, tool := range []string{"read_note", "count_notes"}[:len(strings.Split(args[0], "."))] {
			tools += `{"name":"` + tool + `","description":"Reads.","inputSchema":{"type":"object","properties":{}}},`
		}
		script := strings.NewReplacer("TOOLS", strings.TrimSuffix(tools, ","), "VERSION", args[0]).Replace(shellNotes)
		ts.Setenv("IMAGE", all.Push("notes:latest", script, "NOTES_VERSION="+args[0]))
	}
}
