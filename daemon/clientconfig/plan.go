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
}

// NewPlan reads data, the bytes of the settings file at path file, and judges its entries. It is pure but
// for what host looks at. existing are the servers declared already. Errors are InvalidArgument with line
// and column; they quote no values.
func NewPlan(data []byte, file, client string, existing []sandbox.Server, host Host) (Plan, error) {
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
	j := judge{host: host, scope: scope{home: host.Home, project: projectFolder(file, host.Home)}, client: client}
	for _, e := range entries {
		out := j.entry(e, ours[e.name])
		if out.Imported() {
			settle(&out, existing)
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

// settle finds whether the server is declared already, and another name for it where its own is
// taken by something else.
func settle(e *Entry, existing []sandbox.Server) {
	for _, s := range existing {
		if s.Name != e.Server.Name {
			continue
		}
		if slices.Equal(s.Source.Command, e.Server.Source.Command) {
			e.Server, e.Kept = s, true
			e.keep(s)
			e.Warnings = append(e.Warnings, fmt.Sprintf("a server %s with this command is declared already and stays as it is", s.Name))
			return
		}
		other := sandbox.ServerName(string(s.Name) + "-" + short(fmt.Sprint(e.Name, e.Server.Source.Command)))
		e.Warnings = append(e.Warnings, fmt.Sprintf("another server is called %s; this one becomes %s", s.Name, other))
		e.Server.Name = other
		settle(e, slices.DeleteFunc(slices.Clone(existing), func(x sandbox.Server) bool { return x.Name == s.Name }))
		return
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
