package approvals

import (
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// ItemKind is a sort of thing a server shows of itself.
type ItemKind string

// The kinds of items. The zero ItemKind is not valid.
const (
	ItemTool         ItemKind = "tool"
	ItemPrompt       ItemKind = "prompt"
	ItemResource     ItemKind = "resource"
	ItemTemplate     ItemKind = "template"     // of resources
	ItemInstructions ItemKind = "instructions" // what a server says of itself when it is met
)

// Item is one thing a server shows of itself, as it was listed. All of it is the server's own words.
type Item struct {
	Kind ItemKind
	// Name is what the item is called by: a name, a resource's URI, a template's pattern, and for
	// instructions the method whose answer they stood in.
	Name       string
	Definition []byte // JSON, as the server wrote it
}

// Pin is an item as it was accepted. An item is what its pin is of if their digests are equal.
type Pin struct {
	Kind       ItemKind
	Name       string
	Digest     sandbox.Digest // of Definition
	Definition []byte         // canonical JSON: see approvals/pins
	Accepted   time.Time
	By         string // who accepted it: "first use", "cli pid 4242", "page"
}

// FindingKind is a sort of thing that a person should see before a model does.
type FindingKind string

// The kinds of findings.
const (
	FoundHidden       FindingKind = "hidden"       // characters that are not seen
	FoundInstructions FindingKind = "instructions" // words that tell a model what to do beyond the tool
	FoundReference    FindingKind = "reference"    // another server's tool, a file, an address
	FoundLookalike    FindingKind = "lookalike"    // a name that can be taken for another
	FoundName         FindingKind = "name"         // a name that is none as names go
	FoundSchema       FindingKind = "schema"       // a schema that costs, or leads outside
	FoundEncoded      FindingKind = "encoded"      // text that has to be decoded to be read
)

// PinFinding is one thing found in an item.
type PinFinding struct {
	Kind    FindingKind `json:"kind"`
	Field   string      `json:"field"`   // RFC 6901 pointer into the definition; "/name" where it is the item's name
	Excerpt string      `json:"excerpt"` // the words themselves, with what is not seen written as ⟨U+200B⟩
	Why     string      `json:"why"`     // one clause
	Holds   bool        `json:"holds"`   // a person sees it before the item is shown; others are only told of
}

// DriftKind is how far an item has moved from its pin.
type DriftKind string

// The kinds of drift, mildest first. Widened is a change that lets more through, asks for more or
// claims to be milder.
const (
	NoDrift  DriftKind = ""
	Cosmetic DriftKind = "cosmetic" // spacing, case, punctuation, a slip of the pen
	Changed  DriftKind = "changed"
	Widened  DriftKind = "widened"
)

// Drift is the difference between an item and its pin.
type Drift struct {
	Kind   DriftKind
	Fields []FieldDiff // in the order of their pointers
}

// FieldDiff is one field before and after, with what is not seen made visible. "" means that there
// was, or is, none.
type FieldDiff struct {
	Field string    `json:"field"`
	Old   string    `json:"old"`
	New   string    `json:"new"`
	Kind  DriftKind `json:"drift"`
	Why   string    `json:"why,omitempty"` // one clause; "" where the texts say it
}
