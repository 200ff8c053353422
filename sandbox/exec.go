package sandbox

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// ExecRules say which programs a server's sandbox may execute, by patterns of command lines. What Deny
// has is denied, what Ask has is asked about, what Allow has may run, in this order; anything else is
// denied. The zero ExecRules deny everything; no rules at all are a nil *ExecRules.
//
// A pattern is compared with the program's base name and its arguments, joined by blanks: "git push*".
// One that begins with a slash is compared with its path instead. "*" stands for anything, "?" for one
// character, and a backslash takes the next one for itself. " *" at the end also stands for nothing at
// all: "git *" is git with whatever arguments. Words that a line would hide are quoted, as CommandLine
// writes them.
type ExecRules struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	// AskElse asks about what no pattern has instead of denying it: while a person watches.
	AskElse bool `json:"ask_else,omitempty"`
}

// ExecEffect is what is done about a program.
type ExecEffect string

// The effects.
const (
	ExecAllow ExecEffect = "allow"
	ExecAsk   ExecEffect = "ask"
	ExecDeny  ExecEffect = "deny"
)

// anyCommand is the one pattern that also has programs without a name.
const anyCommand = "*"

// Execution is one program that is about to be executed in a sandbox.
type Execution struct {
	Path string // absolute, as inside; "" for one that has no path: a file in memory
	Real string // the file, without symlinks; "" likewise
	Argv []string
	// Fixed says that the sandbox can write neither where the program is nor where it is named: it is the
	// one of that name. Another one is known by the path of its file only.
	Fixed bool
	// Via is how the kernel executes a script: its interpreter, with arguments. ViaReal is the file.
	Via     []string
	ViaReal string
	Cut     bool // Argv is longer than it could be read
}

// ExecVerdict is what follows from ExecRules. Pattern is the one that says so; "" for none.
type ExecVerdict struct {
	Effect  ExecEffect
	Pattern string
}

// Decide says what is done about x. It is pure.
func (r ExecRules) Decide(x Execution) ExecVerdict {
	said := x.said()
	if p, ok := firstOf(r.Deny, said); ok {
		return ExecVerdict{ExecDeny, p}
	}
	if x.Cut && len(r.Deny)+len(r.Ask) > 0 { // what it ends with might be denied
		return ExecVerdict{Effect: ExecDeny}
	}
	if p, ok := firstOf(r.Ask, said); ok && (x.Path != "" || p == anyCommand) {
		return ExecVerdict{ExecAsk, p}
	}
	if p, ok := r.allows(x); ok {
		return ExecVerdict{ExecAllow, p}
	}
	if r.AskElse && !x.Cut {
		return ExecVerdict{Effect: ExecAsk}
	}
	return ExecVerdict{Effect: ExecDeny}
}

// Allows says whether a pattern, as one of Allow, has x.
func (x Execution) Allows(pattern string) bool {
	_, ok := ExecRules{Allow: []string{pattern}}.allows(x)
	return ok
}

// allows finds the pattern by which x may run. Its name must be its own, and what it calls itself, by
// which some programs are several, must be allowed too.
func (r ExecRules) allows(x Execution) (string, bool) {
	if slices.Contains(r.Allow, anyCommand) {
		return anyCommand, true
	}
	if x.Path == "" || x.Cut || len(x.Argv) == 0 {
		return "", false
	}
	words := x.Argv[1:]
	names := []string{CommandLine(x.Real, words)}
	if x.Fixed {
		names = append(names, CommandLine(x.Path, words), CommandLine(path.Base(x.Path), words), CommandLine(path.Base(x.Real), words))
	}
	p, ok := firstOf(r.Allow, names)
	if own := strings.TrimPrefix(path.Base(x.Argv[0]), "-"); ok && own != path.Base(x.Path) && own != "" {
		_, ok = firstOf(r.Allow, []string{CommandLine(own, words)})
	}
	return p, ok && x.Argv[0] != ""
}

// said is every line that x could be known by.
func (x Execution) said() (lines []string) {
	words := x.Argv[min(1, len(x.Argv)):]
	add := func(program string, words []string) {
		if program == "" {
			return
		}
		for _, name := range []string{program, path.Base(program)} {
			lines = append(lines, CommandLine(name, words), strings.Join(append([]string{name}, words...), " "))
		}
	}
	add(x.Path, words)
	add(x.Real, words)
	if len(x.Argv) > 0 {
		add(strings.TrimPrefix(x.Argv[0], "-"), words)
	}
	if len(x.Via) > 0 {
		add(x.Via[0], x.Via[1:])
		add(x.ViaReal, x.Via[1:])
	}
	return append(lines, "")
}

// firstOf is the first pattern that has one of the lines. A line that begins with a slash is had by
// patterns that do, and by "*", only.
func firstOf(patterns, lines []string) (string, bool) {
	for _, p := range patterns {
		if p == anyCommand {
			return p, true
		}
		for _, line := range lines {
			if strings.HasPrefix(p, "/") == strings.HasPrefix(line, "/") && execMatches(p, line) {
				return p, true
			}
		}
	}
	return "", false
}

// execMatches compares a line with a pattern. It takes time in the order of both lengths multiplied.
func execMatches(pattern, line string) bool {
	if bare, ok := strings.CutSuffix(pattern, " *"); ok && glob(bare, line) {
		return true
	}
	return glob(pattern, line)
}

func glob(pattern, text string) bool {
	p, t, star, from := 0, 0, -1, 0
	for t < len(text) {
		width, fits := one(pattern[p:], text[t])
		switch {
		case width > 0 && pattern[p] == '*':
			star, from = p, t
			p++
		case fits:
			p += width
			t++
		case star < 0:
			return false
		default:
			from++
			p, t = star+1, from
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// one says whether a pattern begins with what fits one byte, and how long that is.
func one(pattern string, c byte) (width int, fits bool) {
	switch {
	case pattern == "":
		return 0, false
	case pattern[0] == '?':
		return 1, true
	case pattern[0] == '\\' && len(pattern) > 1:
		return 2, pattern[1] == c
	}
	return 1, pattern[0] == c
}

// CommandLine is a program and its arguments as one line. Words that could be taken for several, or do
// not show what they are, are quoted, so that two commands never have one line.
func CommandLine(program string, arguments []string) string {
	var b strings.Builder
	for i, w := range append([]string{program}, arguments...) {
		if i > 0 {
			b.WriteByte(' ')
		}
		if plainWord(w) {
			b.WriteString(w)
		} else {
			b.WriteString(quoted(w))
		}
	}
	return b.String()
}

func plainWord(w string) bool {
	return w != "" && !strings.ContainsFunc(w, func(r rune) bool { return r == ' ' || r == '"' || r == '\\' || !Seen(r) })
}

// Seen says whether a person sees a character, and sees it as what it is. Some that count as letters or
// marks show nothing, or a blank.
func Seen(r rune) bool {
	return unicode.IsPrint(r) && r != unicode.ReplacementChar && r != '\u2800' &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// quoted is a word in quotes, with what is not seen written out.
func quoted(w string) string {
	if q := strconv.Quote(w); !strings.ContainsFunc(q, func(r rune) bool { return !Seen(r) }) {
		return q
	}
	return strconv.QuoteToASCII(w)
}

// ExecPattern is the pattern that has just this line.
func ExecPattern(line string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(line)
}

// ExecPatternWords is a pattern in words, for a person.
func ExecPatternWords(p string) string {
	if line, exact := literal(p); exact {
		return line
	}
	return "whatever is like " + p
}

// literal is the one line that a pattern has; exact is false where it has more.
func literal(p string) (line string, exact bool) {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch {
		case p[i] == '*' || p[i] == '?':
			return "", false
		case p[i] == '\\' && i+1 < len(p):
			i++
		}
		b.WriteByte(p[i])
	}
	return b.String(), true
}

// NamesProgram says whether the first word of a pattern is one program's.
func NamesProgram(word string) bool {
	_, exact := literal(word)
	return exact && word != ""
}

// maxPattern bounds a pattern, in bytes.
const maxPattern = 1024

// CheckExecPattern says what is wrong with a pattern.
func CheckExecPattern(p string) error {
	switch {
	case strings.TrimSpace(p) != p || p == "":
		return fmt.Errorf("%q is no pattern of commands: it is empty, or begins or ends with a blank", p)
	case len(p) > maxPattern:
		return fmt.Errorf("a pattern of commands is longer than %d bytes", maxPattern)
	case strings.ContainsFunc(p, func(r rune) bool { return !Seen(r) }):
		return fmt.Errorf("%q is no pattern of commands: it holds what cannot be seen", p)
	case strings.HasSuffix(strings.ReplaceAll(p, `\\`, ""), `\`):
		return fmt.Errorf("%q is no pattern of commands: it ends in a backslash", p)
	case strings.HasPrefix(p, "/") && path.Clean(strings.Fields(p)[0]) != strings.Fields(p)[0]:
		return fmt.Errorf("%q is no pattern of commands: write its path without dots", p)
	case !strings.HasPrefix(p, "/") && strings.Contains(strings.Fields(p)[0], "/"):
		return fmt.Errorf("%q is no pattern of commands: the program is a name, or a path from / on", p)
	}
	return nil
}
