package main

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// facts prints named facts, one a line, their names in a column.
type facts struct{ c *cli }

const factWidth = 12

// say prints one fact; its value may be foreign text.
func (f facts) say(name, value string) {
	if value != "" {
		f.line(name, safe(value))
	}
}

// line prints one fact whose value is ours, and may be colored.
func (f facts) line(name, value string) {
	pad := strings.Repeat(" ", max(1, factWidth-utf8.RuneCountInString(name)))
	printTo(f.c.out, "%s%s%s\n", f.c.style.dim(name), pad, value)
}

// list prints one fact of several values below each other.
func (f facts) list(name string, values []string) {
	for i, v := range values {
		if i > 0 {
			name = ""
		}
		f.say(name, v)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// sandboxes says 1 sandbox, 2 sandboxes.
func sandboxes(n int) string {
	if n == 1 {
		return "1 sandbox"
	}
	return itoa(n) + " sandboxes"
}
