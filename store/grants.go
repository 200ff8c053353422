package store

import "github.com/garita-dev/garita/approvals"

// The kinds of event about what a person has permitted beyond one call.
const (
	GrantCreated Kind = "grant.created"
	GrantRevoked Kind = "grant.revoked"
)

// Prompts is how often one agent's calls had to be asked about lately.
type Prompts struct {
	Principal approvals.Principal
	Calls     int
	Asked     int // of these, put to a person
}
