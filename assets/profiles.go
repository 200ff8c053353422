package assets

import (
	"embed"
	"io/fs"
)

//go:embed profiles/*.json
var profiles embed.FS

// Profiles are what we know of well-known servers: one JSON file each, NAME.json, in the format of
// approvals/classify.Profile. They are knowledge, never a grant.
func Profiles() fs.FS {
	dir, err := fs.Sub(profiles, "profiles")
	if err != nil {
		return profiles // cannot be: the name is a constant that was embedded
	}
	return dir
}
