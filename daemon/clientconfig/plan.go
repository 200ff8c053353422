package clientconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/sandbox"
)

// Plan is what a settings file declares and what Garita would make of it. Its sentences are for a
// person; they contain text from the file, made printable, and no secrets.
type Plan struct {
	File    string // the file itself: absolute, symlinks resolved
	Named   string // the path asked for, where symlinks led from it to File; else ""
	Client  string // the id its rewired entries carry: "claude-desktop"
	Entries []Entry
	Notices []string
	Sum     string // SHA-256 of the bytes that were read, in hex
}

// Entry is one server in a client's settings. Exactly one of three holds: it is Skipped, it goes
// through Garita already (Ours), or Server is what would be declared for it.
type Entry struct {
	Name     string // the client's
	Line     int
	Server   sandbox.Server
	Command  []string // as the client runs it, to be shown: secrets are blanked
	Grants   []string // what the server would be given
	Warnings []string
	Secrets  []Secret           // that are to be stored before Server is declared
	Skipped  string             // why it is not imported
	Ours     sandbox.ServerName // the server of ours it already goes through
	Kept     bool               // Server is declared already, by that name and command; the declaration stays as it is
}

// Servers lists what has to be declared.
func (p Plan) Servers() []sandbox.Server {
	var out []sandbox.Server
	for _, e := range p.Entries {
		if e.Imported() && !e.Kept {
			out = append(out, e.Server)
		}
	}
	return out
}

// Imported says whether the entry becomes, or is, a declared server that can be rewired to.
func (e Entry) Imported() bool { return e.Skipped == "" && e.Ours == "" }

// Kind is what a path leads to.
type Kind int

// The kinds of path.
const (
	Missing Kind = iota
	File
	Dir
	Special // a socket, a device, a pipe, or what cannot be looked at
)

// Seen is what was found at a path. Real is where it is once all symlinks are followed.
type Seen struct {
	Kind Kind
	Real string
}

// Host is what a plan needs to know of this machine.
type Host struct {
	Home  string
	Guard config.Guard
	Look  func(path string) Seen
	// Read is a file's content, of maxEnvFile bytes at most. nil: no file can be read.
	Read func(path string) ([]byte, error)
}

// Known is what was there before a plan, and stays as it is.
type Known struct {
	Servers []sandbox.Server // declared
	Secrets []string         // stored, by their names
}

// secrets are the names that no new secret may have: of those that are stored, and of those a server waits for.
func (k Known) secrets() map[string]bool {
	taken := map[string]bool{}
	for _, name := range k.Secrets {
		taken[name] = true
	}
	for _, s := range k.Servers {
		for _, g := range s.Spec.Secrets {
			taken[g.Secret] = true
		}
	}
	return taken
}

// NewPlan reads data, the bytes of the settings file at path file, and judges its entries. It is pure but
// for what host looks at. Errors are InvalidArgument with line and column; they quote no values.
func NewPlan(data []byte, file, client string, known Known, host Host) (Plan, error) {
	p := Plan{File: file, Client: client, Sum: digest(data)}
	d, err := parse(data)
	if err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	var entries []entry
	var names []string
	for _, m := range d.servers.Members {
		if e, ok := d.read(m); ok {
			entries = append(entries, e)
			names = append(names, e.name)
		}
	}
	p.Notices = d.notices(len(entries))
	ours := serverNames(names)
	j := judge{host: host, scope: scope{home: host.Home, project: projectFolder(file, host.Home)}, client: client, taken: known.secrets()}
	servers := slices.Clone(known.Servers)
	for _, e := range entries {
		out := j.settled(e, ours[e.name], servers)
		if out.Imported() && !out.Kept {
			servers = append(servers, out.Server)
		}
		for _, s := range out.Secrets {
			j.taken[s.Name] = true
		}
		p.Entries = append(p.Entries, out)
	}
	return p, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// notices are remarks about the file as a whole.
func (d *document) notices(entries int) []string {
	var out []string
	if entries == 0 {
		out = append(out, "There are no servers in this file.")
	}
	if d.enc >= utf16LE {
		out = append(out, "The file is UTF-16, as Windows PowerShell writes; it stays so.")
	}
	if v := member(d.root, "projects"); v != nil && d.key == "mcpServers" {
		out = append(out, "Servers that the file declares for single projects are not read yet.")
	}
	if member(d.root, "enableAllProjectMcpServers") != nil {
		out = append(out, "enableAllProjectMcpServers is not carried over: every server is asked about on its own.")
	}
	return out
}

// settled judges an entry by the name it gets in the end: its own, or another one where that is taken by
// something else. What is declared already stays as it is.
func (j judge) settled(e entry, name sandbox.ServerName, existing []sandbox.Server) Entry {
	out := j.entry(e, name)
	if !out.Imported() {
		return out
	}
	free, declared := place(out, existing)
	if declared != nil {
		j.declared = declared.Spec.Secrets
		out = j.entry(e, free)
		out.keep(*declared)
		return out
	}
	if free != name {
		out = j.entry(e, free)
		out.Warnings = append(out.Warnings, fmt.Sprintf("another server is called %s; this one becomes %s", name, free))
	}
	out.saySecrets()
	return out
}

// place finds the declared server that an entry is, by name and command, or else a name that none has.
func place(e Entry, existing []sandbox.Server) (free sandbox.ServerName, declared *sandbox.Server) {
	name := e.Server.Name
	for {
		i := slices.IndexFunc(existing, func(s sandbox.Server) bool { return s.Name == name })
		if i < 0 {
			return name, nil
		}
		if slices.Equal(existing[i].Source.Command, e.Server.Source.Command) && existing[i].Source.URL == e.Server.Source.URL {
			return name, &existing[i]
		}
		name = sandbox.ServerName(string(name) + "-" + short(fmt.Sprint(e.Name, e.Server.Source.Command)+e.Server.Source.URL))
	}
}

// projectFolder is the folder whose settings file is; "" for settings of a user.
func projectFolder(file, home string) string {
	dir := filepath.Dir(file)
	if filepath.Base(file) == ".mcp.json" && dir != home {
		return dir
	}
	switch filepath.Base(dir) {
	case ".vscode", ".cursor", ".roo", ".kiro", ".amazonq", ".gemini", ".zed", ".claude":
	case "settings":
		if dir = filepath.Dir(dir); filepath.Base(dir) != ".kiro" {
			return ""
		}
	default:
		return ""
	}
	if parent := filepath.Dir(dir); parent != home && parent != "/" {
		return parent
	}
	return ""
}
