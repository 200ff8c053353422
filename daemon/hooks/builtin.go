package hooks

import (
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/protocol"
)

const (
	runsShell = "It runs a shell command with your rights."
	runsText  = "It loads instructions that may run commands as they are loaded."
	writes    = "It changes a file."
	reads     = "It reads files."
	ownLists  = "It only keeps the agent's own notes."
	ownTurns  = "It only asks you, or changes how the agent works; what it does then is asked about by itself."
)

// builtin is Claude Code's own tools, by the names it uses in hooks.
var builtin = map[string]tool{
	"Bash":       {class: approvals.Execute, why: runsShell, verb: "run", object: []string{"command"}},
	"PowerShell": {class: approvals.Execute, why: runsShell, verb: "run", object: []string{"command"}},
	"Monitor":    {class: approvals.Execute, why: runsShell, verb: "run and watch", object: []string{"command"}},
	"REPL":       {class: approvals.Execute, why: "It runs code with your rights.", verb: "run code", object: []string{"code"}},

	"Skill":        {class: approvals.Execute, why: runsText, verb: "load the skill", object: []string{"skill", "command"}},
	"SlashCommand": {class: approvals.Execute, why: runsText, verb: "run the command", object: []string{"command"}},

	"Write":        {class: approvals.Write, why: "It writes a whole file.", verb: "write", object: []string{"file_path"}},
	"Edit":         {class: approvals.Write, why: writes, verb: "change", object: []string{"file_path"}},
	"MultiEdit":    {class: approvals.Write, why: writes, verb: "change", object: []string{"file_path"}},
	"NotebookEdit": {class: approvals.Write, why: writes, verb: "change", object: []string{"notebook_path"}},

	"Read":         {class: approvals.Read, why: reads, verb: "read", object: []string{"file_path"}},
	"NotebookRead": {class: approvals.Read, why: reads, verb: "read", object: []string{"notebook_path"}},
	"Glob":         {class: approvals.Read, why: reads, verb: "look for files", object: []string{"pattern"}},
	"Grep":         {class: approvals.Read, why: reads, verb: "search for", object: []string{"pattern"}},
	"LS":           {class: approvals.Read, why: reads, verb: "list", object: []string{"path"}},
	"LSP":          {class: approvals.Read, why: reads, verb: "look up code in", object: []string{"filePath", "file_path"}},

	"WebSearch": {class: approvals.Read, why: "It asks a search engine.", verb: "search the web for", object: []string{"query"}},
	"WebFetch": {
		class: approvals.Read, why: "It sends an address of the agent's choosing to a host outside.",
		verb: "fetch", object: []string{"url"}, outside: true,
	},

	"Task":            {class: approvals.Read, why: ownTurns, verb: "start a helper", object: []string{"description"}},
	"Agent":           {class: approvals.Read, why: ownTurns, verb: "start a helper", object: []string{"description"}},
	"AskUserQuestion": {class: approvals.Read, why: ownTurns, verb: "ask you something"},
	"EnterPlanMode":   {class: approvals.Read, why: ownTurns, verb: "begin to plan"},
	"ExitPlanMode":    {class: approvals.Read, why: ownTurns, verb: "show its plan"},
	"ToolSearch":      {class: approvals.Read, why: ownTurns, verb: "look for tools", object: []string{"query"}},

	"TodoRead":   {class: approvals.Read, why: ownLists, verb: "read its list"},
	"TodoWrite":  {class: approvals.Read, why: ownLists, verb: "write its list"},
	"TaskCreate": {class: approvals.Read, why: ownLists, verb: "write its list"},
	"TaskUpdate": {class: approvals.Read, why: ownLists, verb: "write its list"},
	"TaskGet":    {class: approvals.Read, why: ownLists, verb: "read its list"},
	"TaskList":   {class: approvals.Read, why: ownLists, verb: "read its list"},

	"BashOutput":  {class: approvals.Read, why: "It reads what a command it had started wrote.", verb: "read a command's output"},
	"TaskOutput":  {class: approvals.Read, why: "It reads what a command it had started wrote.", verb: "read a command's output"},
	"KillShell":   {class: approvals.Write, why: "It ends a command that it had started.", verb: "end a command"},
	"TaskStop":    {class: approvals.Write, why: "It ends a command that it had started.", verb: "end a command"},
	"CronCreate":  {class: approvals.Execute, why: "It has the agent do something at a later time.", verb: "do later", object: []string{"prompt"}},
	"CronDelete":  {class: approvals.Write, why: "It ends what was to be done later.", verb: "not do later"},
	"CronList":    {class: approvals.Read, why: ownLists, verb: "read what is to be done later"},
	"SendMessage": {class: approvals.Write, why: "It tells another agent something.", verb: "send a message"},

	"ListMcpResourcesTool": {class: approvals.Read, why: "It lists what servers offer.", verb: "list resources", outside: true},
	"ReadMcpResourceTool":  {class: approvals.Read, why: "It reads from a server.", verb: "read", object: []string{"uri"}, outside: true},
}

// places are the members that name where a read looks.
var places = []string{"file_path", "notebook_path", "path", "pattern", "glob", "filePath"}

// sensitive says why what a read shows is not for everybody, in a clause.
func sensitive(members map[string]jsontext.Value, secret func(string) bool) string {
	for _, name := range places {
		at := protocol.Text(members[name])
		if at != "" && (secret(at) || secretName(at)) {
			return "keys or passwords are kept there"
		}
	}
	return ""
}

// secretNames are files that hold keys wherever they lie, as path.Match patterns of their names.
var secretNames = []string{
	".env", ".env.*", "*.env", ".envrc", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx", "*.jks", "*.keystore",
	"credentials", "credentials.*", "secrets.*", "*.tfstate", "kubeconfig", "shadow", "environ",
}

// harmless are names that secretNames would match and that hold no secrets.
var harmless = []string{".env.example", ".env.sample", ".env.template", "*.pub"}

// secretName says whether a path, or a pattern of paths, names a file that holds keys.
func secretName(at string) bool {
	name := strings.ToLower(path.Base(strings.ReplaceAll(at, `\`, "/")))
	return matches(secretNames, name) && !matches(harmless, name)
}

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); err == nil && ok {
			return true
		}
	}
	return false
}
