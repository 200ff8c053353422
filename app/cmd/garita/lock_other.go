//go:build !linux

package main

import "os"

// lockHeld takes the lock file's being there for its being held.
func lockHeld(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
