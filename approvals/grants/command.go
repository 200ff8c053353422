package grants

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"github.com/garita-dev/garita/approvals"
	"github.com/go-json-experiment/json/jsontext"
)

// maxLine bounds a shell line that is taken apart, in bytes; a longer one asks.
const maxLine = 4 << 10

// commands takes a shell line apart into its simple commands, each a list of plain words. ok is
// false where the line is anything but plain commands joined by &&, ||, ;, | or line ends: a
// redirection, a substitution, a variable, a pattern, a background job.
func commands(line string) (all [][]string, ok bool) {
	if len(line) > maxLine {
		return nil, false
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || len(f.Stmts) == 0 {
		return nil, false
	}
	for _, s := range f.Stmts {
		if all, ok = statement(s, all); !ok {
			return nil, false
		}
	}
	return all, true
}

func statement(s *syntax.Stmt, all [][]string) ([][]string, bool) {
	if s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Redirs) > 0 {
		return nil, false
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		words, ok := plainWords(c)
		return append(all, words), ok
	case *syntax.BinaryCmd:
		if c.Op == syntax.PipeAll {
			return nil, false
		}
		all, ok := statement(c.X, all)
		if !ok {
			return nil, false
		}
		return statement(c.Y, all)
	}
	return nil, false
}

func plainWords(c *syntax.CallExpr) (words []string, ok bool) {
	if len(c.Assigns) > 0 || len(c.Args) == 0 {
		return nil, false
	}
	for _, w := range c.Args {
		if len(w.Parts) != 1 {
			return nil, false
		}
		lit, isLit := w.Parts[0].(*syntax.Lit)
		if !isLit || !plainWord(lit.Value) {
			return nil, false
		}
		words = append(words, lit.Value)
	}
	return words, true
}

// plainWord says whether every shell takes a word for itself.
func plainWord(w string) bool {
	return w != "" && !strings.ContainsFunc(w, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./:@,+", r)
	})
}

// pattern is the words of a permission for a command, nil when it is none. Its last word may be a
// folder that ends in a slash: then any path below it follows, and "./" is any path below the
// folder the command runs in.
func pattern(command string) []string {
	words := strings.Fields(command)
	if len(words) == 0 || !slices.ContainsFunc(words, func(w string) bool { return w != "" }) {
		return nil
	}
	for i, w := range words {
		if !plainWord(w) || i == 0 && strings.ContainsRune(w, '/') && strings.HasSuffix(w, "/") {
			return nil
		}
	}
	return words
}

// fits says whether one simple command is covered by a pattern: the same words, a place below the
// pattern's folder, and behind them nothing but counts such as -5.
func fits(words, pattern []string) bool {
	if len(pattern) == 0 || len(words) < len(pattern) {
		return false
	}
	for i, p := range pattern {
		if words[i] != p && !(i > 0 && below(words[i], p)) {
			return false
		}
	}
	for _, rest := range words[len(pattern):] {
		if !count(rest) {
			return false
		}
	}
	return true
}

// below says whether a word is a path in a pattern's folder.
func below(word, folder string) bool {
	if !strings.HasSuffix(folder, "/") || strings.Contains(word, "..") || strings.HasPrefix(word, "-") {
		return false
	}
	if folder == "./" {
		return !strings.HasPrefix(word, "/") && !strings.HasPrefix(word, "@") && !strings.Contains(word, ":")
	}
	return strings.HasPrefix(word, folder)
}

// count says whether a word is a dash and digits, which no command takes for more than a number.
func count(word string) bool {
	digits, ok := strings.CutPrefix(word, "-")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// line is the shell line that arguments hold where a points.
func line(a approvals.Argument, arguments []byte) (string, bool) {
	value := at(arguments, a.Path)
	if value == nil || value.Kind() != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, value)
	return string(s), err == nil
}
