package approvals

import (
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// Policy is a person's ordered rules: the first that matches a call decides about it, and a call
// that none matches is decided by the default policy. The zero Policy has no rules.
type Policy struct {
	Rules  []Rule
	Digest sandbox.Digest // of the file's bytes; "" for the zero Policy
}

// Rule is one line of a Policy. Empty lists match everything; patterns are path.Match's, matched
// against the whole value.
type Rule struct {
	Name       string // the person's own word for it
	Origin     string // where it stands: "policy.yaml:12"
	Principals []string
	Servers    []string
	Tools      []string
	Classes    []Class
	Modes      []sandbox.WorkspaceMode
	Sensitive  *bool     // nil matches both
	When       Condition // nil always holds
	Effect     Effect
	Reason     string // the person's words for why; may be empty
}

// Condition is what a rule asks of a call beyond names: its arguments, the time. It is pure but for
// now. An error means that it cannot be told; then a rule that allows does not match, and every
// other does.
type Condition interface {
	Holds(c Call, now time.Time) (bool, error)
}
