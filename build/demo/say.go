package main

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// acts counts the headings.
type acts struct{ n int }

var (
	told   acts                                                               //nolint:gochecknoglobals // one narrator
	pretty = term.IsTerminal(int(os.Stdout.Fd()))                             //nolint:gochecknoglobals // asked once
	plain  = strings.NewReplacer("\x1b[1m", "", "\x1b[2m", "", "\x1b[0m", "") //nolint:gochecknoglobals // a constant
)

func write(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !pretty {
		line = plain.Replace(line)
	}
	fmt.Println(line)
}

// act begins a step.
func act(format string, args ...any) {
	told.n++
	write("\n\x1b[1m%d. %s\x1b[0m", told.n, fmt.Sprintf(format, args...))
}

// say tells one thing.
func say(format string, args ...any) { write("   "+format, args...) }

// quote shows what a program said, which may be anything: control characters become visible.
func quote(text string) {
	text = strings.TrimRight(text, "\n")
	for line := range strings.SplitSeq(text, "\n") {
		write("   \x1b[2m│\x1b[0m %s", strings.Map(visible, short(line)))
	}
}

// short cuts a line that would fill the screen.
func short(line string) string {
	const most = 180
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + "…"
	}
	return line
}

func visible(r rune) rune {
	if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
		return '�'
	}
	return r
}
