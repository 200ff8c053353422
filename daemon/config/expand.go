package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// NeedsWorkspace says whether s is declared for a folder that each session names.
func NeedsWorkspace(s sandbox.Server) bool { return slices.Contains(s.Spec.Folders, workspaceVar) }

// Expand puts workspace, an absolute folder, where s says ${workspace}. A server that names none
// is returned as it is. Errors are InvalidArgument: no folder, or one that guard refuses.
func Expand(s sandbox.Server, workspace string, guard Guard) (sandbox.Server, error) {
	if !NeedsWorkspace(s) {
		return s, nil
	}
	if workspace == "" {
		return s, fmt.Errorf("server %s needs a folder: give --workspace DIR: %w", s.Name, errdefs.ErrInvalidArgument)
	}
	if why := guard.Refuse(workspace); why != "" {
		return s, fmt.Errorf("workspace %s is refused: %s: %w", workspace, why, errdefs.ErrInvalidArgument)
	}
	workspace = filepath.Clean(workspace)
	s.Source.Command = replaceAll(s.Source.Command, workspace)
	s.Source.Args = replaceAll(s.Source.Args, workspace)
	s.Spec.Folders = replaceAll(s.Spec.Folders, workspace)
	slices.Sort(s.Spec.Folders)
	s.Spec.Folders = slices.Compact(s.Spec.Folders)
	return s, nil
}

func replaceAll(words []string, workspace string) []string {
	out := slices.Clone(words)
	for i, w := range out {
		out[i] = strings.ReplaceAll(w, workspaceVar, workspace)
	}
	return out
}
