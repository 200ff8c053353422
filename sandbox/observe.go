package sandbox

import "time"

// HomeInside is HOME in every sandbox.
const HomeInside = "/home/user"

// SightingKind is what was seen in an observed sandbox.
type SightingKind string

// The kinds of Sighting.
const (
	SawCommand SightingKind = "command" // a program was executed
	SawMissing SightingKind = "missing" // a path was looked for that is not there inside
	SawUsed    SightingKind = "used"    // something in a mount was looked for; Path is where that is
	SawDenied  SightingKind = "denied"  // a program was not executed, for the rules, a person, or what it is
	SawAsked   SightingKind = "asked"   // a program waits to be executed until Ask is answered
	SawGone    SightingKind = "gone"    // nobody waits for the answer to Ask any more
)

// Sighting is something that programs in a sandbox did, as often as they did it, where a person watches it
// or ExecRules hold. Path and Argv are their own words: hostile, but bounded and valid UTF-8. Without rules
// they are what was asked of the kernel a moment before it was done, and a program can change them in
// between: good for a person to look at, and no wall.
type Sighting struct {
	Seq   int64        `json:"seq"` // counts what is seen in a sandbox; that of the last time
	Kind  SightingKind `json:"kind"`
	Path  string       `json:"path"`            // absolute, as inside
	Argv  []string     `json:"argv,omitempty"`  // of a command
	Write bool         `json:"write,omitempty"` // of a path: it was to be written

	// The rest is of programs under ExecRules. What is told of those as a command was executed just so.

	File    string `json:"file,omitempty"`    // without symlinks; "" for what is in memory alone
	Script  string `json:"script,omitempty"`  // how the kernel executes a script
	Dir     string `json:"dir,omitempty"`     // the working directory
	Pattern string `json:"pattern,omitempty"` // of the rules, that says so
	Why     string `json:"why,omitempty"`     // a clause, where no pattern does
	Fixed   bool   `json:"fixed,omitempty"`   // as in Execution
	Cut     bool   `json:"cut,omitempty"`     // it is not told of in full, or not as it is
	Ask     uint64 `json:"ask,omitempty"`     // names the question

	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// Execution is what rules would see of a sighting of a program.
func (s Sighting) Execution() Execution {
	return Execution{Path: s.Path, Real: s.File, Argv: s.Argv, Fixed: s.Fixed, Cut: s.Cut}
}

// Sightings is what was seen in one sandbox behind some Seq, in the order of Seq.
type Sightings struct {
	List []Sighting `json:"list"`
	Lost int        `json:"lost,omitempty"` // seen and not kept, for there was too much
	// Blind is why commands and paths cannot be seen here; "" while they are.
	Blind string `json:"blind,omitempty"`
	Over  bool   `json:"over,omitempty"` // the sandbox has ended: nothing more will be seen
}
