package config

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/containerd/errdefs"
)

// workspaceVar stands in a declaration for the folder a session is opened on.
const workspaceVar = "${workspace}"

// splitWords takes a command line apart as a shell would, without being one: quotes and
// backslashes group, nothing is expanded. What only a shell could do is refused rather than
// passed on as text. ${workspace} is left in place.
func splitWords(line string) ([]string, error) {
	s := splitter{rest: line}
	for s.rest != "" {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	s.end()
	if len(s.words) == 0 {
		return nil, fmt.Errorf("an empty command: %w", errdefs.ErrInvalidArgument)
	}
	return s.words, nil
}

type splitter struct {
	rest  string
	word  strings.Builder
	open  bool // a word has begun, perhaps an empty quoted one
	words []string
}

func (s *splitter) step() error {
	switch c := s.rest[0]; {
	case strings.IndexByte(" \t\r\n", c) >= 0:
		s.end()
		s.rest = s.rest[1:]
	case c == '\'':
		return s.single()
	case c == '"':
		return s.double()
	case c == '\\':
		return s.escape(len(s.rest) > 1)
	case c == '$':
		return s.dollar()
	case strings.IndexByte("|&;<>()`", c) >= 0:
		return fmt.Errorf("%q needs a shell and none runs this; quote it if the server shall see it: %w", string(c), errdefs.ErrInvalidArgument)
	default:
		s.take(1)
	}
	return nil
}

func (s *splitter) take(n int) {
	s.word.WriteString(s.rest[:n])
	s.rest, s.open = s.rest[n:], true
}

func (s *splitter) end() {
	if s.open {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.open = false
}

func (s *splitter) escape(more bool) error {
	if !more {
		return fmt.Errorf("a backslash at the end: %w", errdefs.ErrInvalidArgument)
	}
	s.rest = s.rest[1:]
	s.take(1)
	return nil
}

func (s *splitter) single() error {
	end := strings.IndexByte(s.rest[1:], '\'')
	if end < 0 {
		return fmt.Errorf("a quote that does not end: %w", errdefs.ErrInvalidArgument)
	}
	s.rest = s.rest[1:]
	s.take(end)
	s.rest = s.rest[1:]
	return nil
}

func (s *splitter) double() error {
	s.rest, s.open = s.rest[1:], true
	for s.rest != "" {
		switch {
		case s.rest[0] == '"':
			s.rest = s.rest[1:]
			return nil
		case s.rest[0] == '\\' && len(s.rest) > 1 && strings.IndexByte("\"\\$`", s.rest[1]) >= 0:
			s.rest = s.rest[1:]
			s.take(1)
		case s.rest[0] == '$':
			if err := s.dollar(); err != nil {
				return err
			}
		case s.rest[0] == '`':
			return fmt.Errorf("a backtick needs a shell and none runs this: %w", errdefs.ErrInvalidArgument)
		default:
			s.take(1)
		}
	}
	return fmt.Errorf("a quote that does not end: %w", errdefs.ErrInvalidArgument)
}

func (s *splitter) dollar() error {
	if !strings.HasPrefix(s.rest, workspaceVar) {
		return fmt.Errorf("variables are not expanded, but for %s: %w", workspaceVar, errdefs.ErrInvalidArgument)
	}
	s.take(len(workspaceVar))
	return nil
}

// plainWord needs no quoting, neither for us nor, read by a person, in a shell.
var plainWord = regexp.MustCompile(`^(?:[A-Za-z0-9@%+=:,./_-]|\$\{workspace\})+$`)

// joinWords writes words so that splitWords gives them back.
func joinWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteWord(w)
	}
	return strings.Join(quoted, " ")
}

func quoteWord(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
