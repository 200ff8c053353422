// Package workspace keeps what an agent's servers wrote apart from the host's folders until a
// person applies it: one overlay per workspace and folder, compared with the host by content.
//
// It runs inside the engine's user and mount namespace, where uid 0 is the host's user. On disk a
// workspace is a directory named by its WorkspaceID:
//
//	workspace.json   version, the folders in the order they were first given, the holds
//	<n>/upper        what was written over folder n, as overlayfs keeps it (userxattr)
//	<n>/work         overlayfs' own
//	<n>/base.jsonl   fingerprints of the host's files as they were when they first differed,
//	                 one a line, the last line of a path counting
//
// # Rules of the overlay
//
// Nothing here writes the upper directory of a mounted overlay: what has to change there is
// changed through the merged mount, as any process in a sandbox would. An unmounted upper holds
// only what differs from the host: entries that became equal are dropped with the last release,
// so that the next mount shows the host's newest files.
//
// # Paths
//
// A path in a Change is relative to its folder and printable: a backslash is written \\, and
// bytes that are not valid UTF-8, control characters and bidirectional controls are written \xHH,
// byte by byte. EncodePath and DecodePath convert; two different names never look the same, and
// every path survives JSON. Paths given to Hold, Apply and Discard are in this form, relative to
// any folder, or the host folder, a slash and such a path.
//
// # Hostile neighbors
//
// Whatever runs in a sandbox may change the upper and merged trees at any moment. Every file that
// is opened here is reached component by component beneath an open directory, with no symbolic
// link on the way, and is a regular file before a byte of it is read.
package workspace
