//go:build !linux

package main

import "os"

// awaitHangup cannot tell.
func awaitHangup(*os.File) bool { return false }
