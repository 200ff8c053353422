package sandbox

// Ecosystem is where packages come from.
type Ecosystem string

// NPM is the registries of npm.
const NPM Ecosystem = "npm"

// PackageRef is a package as a command line asks for it.
type PackageRef struct {
	Ecosystem Ecosystem `json:"ecosystem"`
	Name      string    `json:"name"`  // "@scope/name" or "name"
	Range     string    `json:"range"` // semver range, exact version or dist-tag; "" means latest
	Bin       string    `json:"bin"`   // executable asked for by name; "" means the package's only or eponymous one
}

// Package is an installed, immutable package: what garita.lock remembers.
type Package struct {
	Ecosystem Ecosystem `json:"ecosystem"`
	Name      string    `json:"name"`
	Version   string    `json:"version"`   // exact
	Integrity string    `json:"integrity"` // the registry's, "sha512-…"
	Tree      Digest    `json:"tree"`      // over name, version and integrity of every installed dependency, sorted
	Runtime   string    `json:"runtime"`   // toolchain it was installed with: "node v20.20.2"
	Entry     []string  `json:"entry"`     // argv prefix inside the sandbox: node and the bin's script, absolute paths
}

// PackageRoot is where a package's snapshot is mounted, read-only, inside a sandbox.
const PackageRoot = "/opt/garita/package"
