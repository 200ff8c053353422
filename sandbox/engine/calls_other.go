//go:build !amd64 && !arm64

package engine

// calls are not known here: nothing is seen of them.
var calls map[archCall]place
