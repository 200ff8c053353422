package rootless

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
)

// Check is one state of the machine, what follows from it and what mends it.
type Check struct {
	Name        string `json:"name"`
	State       string `json:"state"` // ok | warn | fail
	Found       string `json:"found"`
	Consequence string `json:"consequence"` // "" when ok
	Mend        string `json:"mend"`        // a command or a step; "" when nothing is to be done
}

// The states of a check.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
)

// Subject is what Checks looks at besides the host.
type Subject struct {
	Self string // this program, which must call Probe when its first argument is ProbeCommand
	Data string // Garita's data directory; "" leaves the disk out
	Runc string // "" means that there is none
	Shim string // the same
	Init string // the same
}

// Checks looks at what this host lets us do. It changes nothing, starts one short-lived process
// in namespaces of its own, and takes some tens of milliseconds.
func Checks(s Subject) []Check {
	checks := []Check{checkUser(), checkKernel(), checkIDs()}
	checks = append(checks, checkNamespaces(s.Self)...)
	checks = append(checks, checkCgroups(), checkRunc(s.Runc), checkParts(s), checkNode())
	if s.Data != "" {
		checks = append(checks, checkDisk(s.Data))
	}
	return checks
}

// PrintChecks writes the checks as a JSON array.
func PrintChecks(w io.Writer, s Subject) error { return json.NewEncoder(w).Encode(Checks(s)) }

func checkUser() Check {
	c := Check{Name: "user", State: OK, Found: "an ordinary user (" + userName() + ")"}
	if os.Geteuid() == 0 {
		c.State, c.Found = Warn, "root"
		c.Consequence = "Sandboxes keep their own user namespaces, but a flaw in Garita itself would have all rights."
		c.Mend = "run garita as an ordinary user; as root only in containers and CI"
	}
	return c
}

func checkIDs() Check {
	c := Check{Name: "subordinate ids", State: OK}
	if os.Geteuid() == 0 {
		c.Found = "not needed as root"
		return c
	}
	n, err := SubordinateIDs()
	tool := findTool("newuidmap")
	switch {
	case err != nil:
		c.State, c.Found = Fail, err.Error()
		c.Mend = fmt.Sprintf("sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s", userName())
	case tool == "":
		c.State, c.Found = Fail, "newuidmap is not installed"
		c.Mend = "sudo apt install uidmap"
	case n < MinIDs:
		c.State, c.Found = Warn, fmt.Sprintf("%d ids", n)
		c.Consequence = "Images that use higher ids cannot be unpacked."
		c.Mend = fmt.Sprintf("give %s a range of %d in /etc/subuid and /etc/subgid", userName(), MinIDs)
	default:
		c.Found = fmt.Sprintf("%d ids, by %s", n, tool)
	}
	if c.State == Fail {
		c.Consequence = "No sandbox can start."
	}
	return c
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprint(os.Getuid())
}

// setting reads a one-line kernel setting; "" where the kernel does not have it.
func setting(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
