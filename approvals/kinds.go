package approvals

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path"
	"strconv"

	"github.com/garita-dev/garita/sandbox"
)

// Kind is what a question is about.
type Kind string

// The kinds of question.
const (
	KindCall    Kind = "call"    // a tool call
	KindCommand Kind = "command" // a tool call that runs commands or code; or a program that a server wants to execute
	KindTool    Kind = "tool"    // a tool whose definition is new or has changed
	KindApply   Kind = "apply"   // a workspace's changes, to the person's files
	KindNetwork Kind = "network" // a host that a server wants to reach
	KindInstall Kind = "install" // a package that a server wants installed
	KindSecret  Kind = "secret"  // the use of a secret
)

// Kind is what a question about c is about.
func (c Call) Kind() Kind {
	if c.Class == Execute {
		return KindCommand
	}
	return KindCall
}

// Subject is what a question that is not about a call is about: exactly one is set.
type Subject struct {
	Tool    *ToolChange    `json:"tool,omitempty"`
	Apply   *Application   `json:"apply,omitempty"`
	Network *NetworkAccess `json:"network,omitempty"`
	Install *Installation  `json:"install,omitempty"`
	Secret  *SecretUse     `json:"secret,omitempty"`
	Exec    *Execution     `json:"exec,omitempty"`
}

// ToolChange is a tool that is new, or defined otherwise than the person accepted it. Texts are the
// server's own words, made visible; hostile.
type ToolChange struct {
	Tool     string         `json:"tool"`
	Before   sandbox.Digest `json:"before,omitempty"` // the accepted pin; "" when it is new
	After    sandbox.Digest `json:"after,omitempty"`  // the pin to be accepted; "" when it is gone
	Diff     string         `json:"diff,omitempty"`   // unified
	Findings []string       `json:"findings,omitempty"`
}

// Application is a workspace's changes as they are shown to the person.
type Application struct {
	Workspace sandbox.WorkspaceID `json:"workspace"`
	Seen      sandbox.Mark        `json:"seen"`  // the state that was shown: what comes after it is not approved
	Paths     []string            `json:"paths"` // absolute; none means everything that is not held
}

// NetworkAccess is a host that a server wants to reach, or has reached in a call that was let run
// because it would not.
type NetworkAccess struct {
	Hosts []string `json:"hosts"` // host:port, or what else it reached
	Call  CallID   `json:"call,omitempty"`
	After bool     `json:"after,omitempty"` // it has happened: what is asked is whether the result may be used
	// Addresses are the hosts' real ones, where they are known: a name is looked up once it may be reached,
	// and not before, for the lookup itself tells its name server something. They are checked then.
	Addresses []string `json:"addresses,omitempty"`
	// Upload is set where the host is reached already, and what is asked is whether something may be sent there.
	Upload *Upload `json:"upload,omitempty"`
	// HostKey is set where the host may be reached, by SSH, and what is asked is whether this is its key.
	HostKey *HostKey `json:"host_key,omitempty"`
}

// HostKey is a key by which a host that is reached by SSH has named itself.
type HostKey struct {
	Type        string `json:"type"`        // "ssh-ed25519"
	Fingerprint string `json:"fingerprint"` // "SHA256:…"
}

// Upload is what a server is about to send.
type Upload struct {
	Bytes int64    `json:"bytes,omitempty"` // so far, beyond what came back
	Kinds []string `json:"kinds,omitempty"` // what was found in it: "a GitHub token"
}

// Installation is a package that a server wants installed, or the install script of one that is.
type Installation struct {
	Package   string `json:"package"` // "npm:left-pad@1.3.0"
	Integrity string `json:"integrity,omitempty"`
	// Script is the whole text of an install script that would run: the package's own words, made
	// visible; hostile. "" when it is the package that is asked about.
	Script string `json:"script,omitempty"`
	// Doubts are why a person is asked, a sentence each.
	Doubts []string `json:"doubts,omitempty"`
}

// SecretUse is a secret that a server wants to use towards hosts.
type SecretUse struct {
	Secret string   `json:"secret"` // its name
	Hosts  []string `json:"hosts"`
	// Agent is set where the secret is a key of the person's own ssh agent; Secret is its fingerprint then.
	Agent *AgentUse `json:"agent,omitempty"`
}

// AgentUse is one signature that a server wants of the person's ssh agent, to sign in at a host.
type AgentUse struct {
	User    string `json:"user"`     // as whom; the server's own word
	Comment string `json:"comment"`  // of the key, in the person's agent
	HostKey string `json:"host_key"` // the fingerprint of the host's
}

// Execution is a program that a server wants to execute, as sandbox.Execution has it. Texts are the
// program's own words; hostile.
type Execution struct {
	Path   string   `json:"path,omitempty"` // as inside; "" for a file in memory
	File   string   `json:"file,omitempty"` // the same without symlinks
	Argv   []string `json:"argv"`
	Dir    string   `json:"dir,omitempty"`
	Script string   `json:"script,omitempty"` // how the kernel executes it, where it is one
	Fixed  bool     `json:"fixed,omitempty"`  // the server could not have put it there
	Cut    bool     `json:"cut,omitempty"`    // it is not all there is
	Call   CallID   `json:"call,omitempty"`
}

// Line is the command line: with the program's name, or with its path where the server could have put it there.
func (x Execution) Line() string {
	switch {
	case len(x.Argv) == 0:
		return sandbox.CommandLine(x.Path, nil)
	case x.Path == "":
		return sandbox.CommandLine(x.Argv[0], x.Argv[1:])
	case x.Fixed:
		return sandbox.CommandLine(path.Base(x.Path), x.Argv[1:])
	}
	return sandbox.CommandLine(x.File, x.Argv[1:])
}

// Seen is x as rules see it.
func (x Execution) Seen() sandbox.Execution {
	return sandbox.Execution{Path: x.Path, Real: x.File, Argv: x.Argv, Fixed: x.Fixed, Cut: x.Cut}
}

func (x *Execution) fields() []string {
	fields := []string{x.Path, x.File, x.Dir, x.Script, string(x.Call), strconv.FormatBool(x.Fixed), strconv.FormatBool(x.Cut)}
	return append(fields, x.Argv...)
}

// Kind is the kind of question s is the subject of; "" when it is none's, or several's.
func (s Subject) Kind() Kind {
	var kind Kind
	for _, one := range [...]struct {
		kind Kind
		set  bool
	}{
		{KindTool, s.Tool != nil},
		{KindApply, s.Apply != nil},
		{KindNetwork, s.Network != nil},
		{KindInstall, s.Install != nil},
		{KindSecret, s.Secret != nil},
		{KindCommand, s.Exec != nil},
	} {
		switch {
		case one.set && kind != "":
			return ""
		case one.set:
			kind = one.kind
		}
	}
	return kind
}

// fields are what is approved, in an order that never changes.
func (s Subject) fields() []string {
	switch s.Kind() { //nolint:exhaustive // calls have no subject
	case KindTool:
		return []string{s.Tool.Tool, string(s.Tool.Before), string(s.Tool.After), s.Tool.Diff}
	case KindApply:
		return append([]string{string(s.Apply.Workspace), string(s.Apply.Seen)}, s.Apply.Paths...)
	case KindNetwork:
		return append(s.Network.fields(), s.Network.Hosts...)
	case KindInstall:
		return append([]string{s.Install.Package, s.Install.Integrity, s.Install.Script}, s.Install.Doubts...)
	case KindSecret:
		return append([]string{s.Secret.Secret}, s.Secret.Hosts...)
	case KindCommand:
		return s.Exec.fields()
	}
	return nil
}

func (n *NetworkAccess) fields() []string {
	fields := []string{string(n.Call), strconv.FormatBool(n.After)}
	if n.Upload != nil {
		fields = append(fields, "upload", strconv.FormatInt(n.Upload.Bytes, 10), strconv.Itoa(len(n.Upload.Kinds)))
		fields = append(fields, n.Upload.Kinds...)
	}
	return fields
}

// Question is something to be asked of a person that is not about a call.
type Question struct {
	// About says who asks and which server it is about: Principal, Session, Server, Spec, Workspace,
	// and in Sentence what is wanted, as the end of "NAME wants to …". Its ID and Tool stay empty.
	About   Call
	Subject Subject
	Why     Decision // its rule and reason; the class is what a yes allows
}

// Binding is what exactly an approval of q approves: a digest over its kind, the principal, the
// session, the server's name and definition, and all of its subject, each written with its length
// before it. No call has the binding of a question that is none.
func (q Question) Binding() sandbox.Digest {
	h := sha256.New()
	fields := q.Subject.fields()
	for _, field := range append([]string{
		"garita question binding 1",
		string(q.Subject.Kind()),
		strconv.Itoa(q.About.Principal.UID),
		q.About.Principal.Client,
		q.About.Principal.Token,
		string(q.About.Session),
		string(q.About.Server),
		string(q.About.Spec),
	}, fields...) {
		writeField(h, []byte(field))
	}
	var count [8]byte
	binary.BigEndian.PutUint64(count[:], uint64(len(fields)))
	h.Write(count[:])
	return sandbox.Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))
}
