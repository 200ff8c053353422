package assets

import _ "embed"

// NPMPackages and PyPIPackages are the names of well-known MCP servers' packages, one a line; lines
// that begin with "#" are remarks. They are knowledge, never a grant.
var (
	//go:embed packages/npm.txt
	NPMPackages string
	//go:embed packages/pypi.txt
	PyPIPackages string
)
