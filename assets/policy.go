package assets

import _ "embed"

// Policy is the policy.yaml to start with: no rules, and the usual ones as comments.
//
//go:embed policy.yaml
var Policy []byte
