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
)

// Sighting is something that programs in an observed sandbox did, as often as they did it. Path and
// Argv are their own words: hostile, but bounded and valid UTF-8. They are what was asked of the
// kernel a moment before it was done, and a program can change them in between: good for a person
// to look at, and no wall.
type Sighting struct {
	Seq   int64        `json:"seq"` // counts what is seen in a sandbox; that of the last time
	Kind  SightingKind `json:"kind"`
	Path  string       `json:"path"`            // absolute, as inside
	Argv  []string     `json:"argv,omitempty"`  // of a command
	Write bool         `json:"write,omitempty"` // of a path: it was to be written
	Count int          `json:"count"`
	First time.Time    `json:"first"`
	Last  time.Time    `json:"last"`
}

// Sightings is what was seen in one observed sandbox behind some Seq, in the order of Seq.
type Sightings struct {
	List []Sighting `json:"list"`
	Lost int        `json:"lost,omitempty"` // seen and not kept, for there was too much
	// Blind is why commands and paths cannot be seen here; "" while they are.
	Blind string `json:"blind,omitempty"`
	Over  bool   `json:"over,omitempty"` // the sandbox has ended: nothing more will be seen
}
