package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker in releases.
var version = "" //nolint:gochecknoglobals // the linker sets package variables only

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version",
		Args: usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			printTo(c.out, "garita %s (%s, %s/%s)\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

// versionText is the release, or what the go command noted about the build.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision := "development"
	dirty := ""
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			revision = s.Value[:12]
		}
		if s.Key == "vcs.modified" && s.Value == "true" {
			dirty = "+changes"
		}
	}
	return revision + dirty
}
