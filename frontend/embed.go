// Package frontend embeds the built web UI, the one screen of both the browser and the window.
//
// The daemon and every test build without Node: before `npm run build` only dist/.gitkeep is
// there, and a plain page that says how to build it stands in.
package frontend

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

//go:embed unbuilt
var unbuilt embed.FS

// Dist is the UI's files with index.html at the root. Every path that is not a file belongs to
// the page's own router: serve index.html for it.
func Dist() fs.FS {
	if Built() {
		return sub(dist, "dist")
	}
	return sub(unbuilt, "unbuilt")
}

// Built says whether the real UI is embedded, not the page that says how to build it.
func Built() bool {
	_, err := fs.Stat(dist, "dist/index.html")
	return err == nil
}

// sub cannot fail: its names are constants that fs.ValidPath accepts.
func sub(f fs.FS, dir string) fs.FS {
	s, err := fs.Sub(f, dir)
	if err != nil {
		panic(err)
	}
	return s
}
