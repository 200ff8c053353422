package sandbox

// ChangeKind says what happened to one path of a workspace.
type ChangeKind string

// The kinds of change.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified"
	Deleted  ChangeKind = "deleted"
)

// Change is one path that differs from the host's folder, compared by content.
type Change struct {
	Folder string     `json:"folder"` // the host folder
	Path   string     `json:"path"`   // relative to Folder, slash-separated
	Kind   ChangeKind `json:"kind"`
	Type   string     `json:"type"` // file | dir | symlink | other
	Size   int64      `json:"size"` // bytes afterwards; 0 when deleted
	Held   string     `json:"held"` // why apply leaves it out ("made by get_report, allowed as a read"); "" when it may be applied
	// Stale: the host's file has changed since the workspace first copied it; apply refuses the path.
	Stale bool `json:"stale"`
}

// FileDiff is one change with its unified diff.
type FileDiff struct {
	Change
	Unified string `json:"unified"` // "" for binary, too large (over 1 MiB) or non-regular files
	Note    string `json:"note"`    // why Unified is empty
}

// Mark is a point in a workspace's history that Effects can be asked against.
type Mark string
