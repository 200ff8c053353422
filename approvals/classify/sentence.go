package classify

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/approvals"
)

// Names of arguments by the part they play, in lower case without separators.
var (
	pathNames = set(`path paths file files filepath filepaths filename filenames directory dir folder absolutepath
		relativepath targetfile notebookpath root rootdir`)
	sourceNames = set(`source src from oldpath oldname sourcepath`)
	targetNames = set(`destination dest dst to newpath newname targetpath destinationpath`)
	runNames    = set(`command cmd commands commandline script code sql statement javascript python function expression
		initscript shell`)
	seekNames = set(`query pattern q search searchterm searchquery regex term keyword keywords`)
	bulkNames = set(`content contents text body data edits newcontent newtext newstring filetext`)
	nameNames = set(`title name subject key id issuenumber pullnumber number url uri repo repository channel recipient
		to branch remote tag collection database table object entitynames names`)
)

// sentence tells a call of class as a person would: what is done, to what.
func (p Prepared) sentence(class approvals.Class, args []argument, summary string) string {
	if p.known != nil {
		if s := p.known.say(args); s != "" {
			return limit(Visible(s), maxSentence)
		}
	}
	if summary != "" {
		return limit(Visible(summary), maxSentence)
	}
	r := parts(args)
	verb := ""
	if len(p.words) > 0 {
		verb = p.words[0]
	}
	var s string
	switch {
	case r.run != "":
		s = "run " + r.run
	case verb == "git":
		s = "run " + strings.Join(append(p.words, r.gitWords()...), " ")
	case r.source != "" && r.target != "" && p.has("move", "rename", "mv", "copy", "cp"):
		s = p.one("move", "rename", "mv", "copy", "cp") + " " + r.source + " to " + r.target
	case p.has("search", "find", "grep") && r.seek != "":
		s = p.about() + in(r.path) + " for “" + r.seek + "”"
	case r.path != "":
		s = p.onPath(class, r)
	case r.name != "":
		s = p.about() + ": " + r.name
	case r.seek != "":
		s = p.about() + ": “" + r.seek + "”"
	default:
		s = p.about()
	}
	return limit(Visible(s), maxSentence)
}

// maxSentence and maxPart bound a sentence and one value in it, in characters.
const (
	maxSentence = 200
	maxPart     = 120
)

// onPath tells what is done to a path.
func (p Prepared) onPath(class approvals.Class, r roles) string {
	switch {
	case p.has("delete", "remove", "rm", "unlink"):
		return "delete " + r.path
	case p.has("mkdir") || p.has("create", "make") && p.has("directory", "dir", "folder"):
		return "create directory " + r.path
	case p.has("list", "ls"):
		return "list " + r.path
	case class == approvals.Read && p.has("read", "get", "view", "show", "cat") && p.has("file", "files", "text", "contents"):
		return "read " + r.path
	case p.has("write", "create", "edit", "update", "save", "append", "patch", "insert", "replace", "modify", "put") || r.bulk > 0:
		return "change " + r.path + r.size()
	}
	return p.about() + ": " + r.path
}

// about is the tool's name in words.
func (p Prepared) about() string {
	if len(p.words) == 0 {
		return "call a tool without a name"
	}
	return strings.Join(p.words, " ")
}

func (p Prepared) has(words ...string) bool { return p.one(words...) != "" }

// one is the first of the name's words that is among words.
func (p Prepared) one(words ...string) string {
	for _, w := range p.words {
		for _, x := range words {
			if w == x {
				return w
			}
		}
	}
	return ""
}

func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// roles are a call's arguments by the part they play, each bounded.
type roles struct {
	path, source, target, run, seek, name string
	remote, branch                        string
	bulk                                  int // bytes of content
}

func parts(args []argument) roles {
	var r roles
	for _, a := range args {
		words, _ := split(a.name)
		name := strings.Join(words, "")
		text := a.short()
		switch {
		case bulkNames[name] && a.kind != 'n':
			r.bulk += a.size()
		case text == "":
		case runNames[name]:
			r.run = first(r.run, text)
		case sourceNames[name]:
			r.source = first(r.source, text)
		case targetNames[name]:
			r.target = first(r.target, text)
		case pathNames[name]:
			r.path = first(r.path, text)
		case seekNames[name]:
			r.seek = first(r.seek, text)
		case nameNames[name]:
			r.name = first(r.name, text)
		}
		switch name {
		case "remote":
			r.remote = text
		case "branch", "target":
			r.branch = text
		}
	}
	return r
}

func first(have, next string) string {
	if have != "" {
		return have
	}
	return next
}

func (r roles) gitWords() (words []string) {
	for _, w := range []string{r.remote, r.branch} {
		if w != "" {
			words = append(words, w)
		}
	}
	return words
}

func (r roles) size() string {
	if r.bulk == 0 {
		return ""
	}
	return " (" + Size(r.bulk) + ")"
}

// short is an argument's value as it stands in a sentence: a string, a number, or the first of a
// list and how many more there are.
func (a argument) short() string {
	switch a.kind {
	case '"':
		return limit(a.text, maxPart)
	case '0':
		return limit(string(a.raw), maxPart)
	case '[':
		var list []string
		if json.Unmarshal(a.raw, &list) != nil || len(list) == 0 {
			return ""
		}
		if len(list) == 1 {
			return limit(list[0], maxPart)
		}
		return limit(list[0], maxPart) + fmt.Sprintf(" and %d more", len(list)-1)
	default:
		return ""
	}
}

// size is how many bytes an argument's value has: a string's own, anything else's JSON text.
func (a argument) size() int {
	if a.kind == '"' {
		return len(a.text)
	}
	return len(a.raw)
}

// Size is a number of bytes for people: "512 B", "2.1 kB", "3.0 MB".
func Size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000/1000)
}
