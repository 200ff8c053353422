package main

import (
	"fmt"
	"io"

	harmless "github.com/garita-dev/garita/app/safe"
)

// safe makes foreign text harmless on a terminal and honest to a reader. The result is one line.
func safe(text string) string { return harmless.Line(text) }

// safeLines is safe for text of several lines: line ends and tabs stay.
func safeLines(text string) string { return harmless.Lines(text) }

// safeJSON escapes inside JSON text what a terminal could take for a command. The JSON means the same.
func safeJSON(text []byte) []byte { return harmless.JSON(text) }

// printTo prints to a person's screen; one that is gone is no fault of the command.
func printTo(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...)
}
