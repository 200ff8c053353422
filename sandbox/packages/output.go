package packages

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// Output understands what npm or pip writes on its standard error, line by line.
type Output struct {
	Node   string   // node's version, once npm has said it: "v20.20.2"
	code   string   // npm's name for what went wrong; pip's words for it
	errors []string // npm's first words about it
	last   []string // the newest other lines: node's own, when npm cannot even start
}

var (
	usingNode = regexp.MustCompile(`^npm info using node@(v[0-9A-Za-z.+-]+)$`)
	errorCode = regexp.MustCompile(`^npm (?:error|ERR!) code ([A-Z0-9_]+)$`)
	errorText = regexp.MustCompile(`^npm (?:error|ERR!) (.+)$`)
	pipError  = regexp.MustCompile(`^ERROR: (.+)$`)
	gitError  = regexp.MustCompile(`^git: (?:fatal|error|remote): (.+)$`)
)

const (
	maxErrorLines = 6
	maxLastLines  = 4
)

// Line takes one line.
func (o *Output) Line(line string) {
	if m := usingNode.FindStringSubmatch(line); m != nil {
		o.Node = m[1]
	}
	if m := errorCode.FindStringSubmatch(line); m != nil {
		o.code = m[1]
		return
	}
	if m := errorText.FindStringSubmatch(line); m != nil {
		o.complaint(strings.TrimSpace(m[1]))
		return
	}
	if m := pipError.FindStringSubmatch(line); m != nil {
		o.code = pipCode(m[1], o.code)
		o.complaint(strings.TrimSpace(m[1]))
		return
	}
	if m := gitError.FindStringSubmatch(line); m != nil {
		o.complaint(strings.TrimSpace(m[1]))
		return
	}
	if line = strings.TrimSpace(line); line != "" {
		o.last = append(o.last, line)
		o.last = o.last[max(0, len(o.last)-maxLastLines):]
	}
}

// pipCode names what went wrong as npm would.
func pipCode(text, code string) string {
	for words, is := range map[string]string{
		"No matching distribution found": "E404", "DO NOT MATCH THE HASHES": "EINTEGRITY", "ResolutionImpossible": "ERESOLVE",
		"is not a supported wheel on this platform": "EBADPLATFORM", "requires a different Python": "EBADPLATFORM",
	} {
		if strings.Contains(text, words) {
			return is
		}
	}
	return code
}

// complaint keeps the lines that say something about this failure.
func (o *Output) complaint(text string) {
	for _, idle := range []string{"Log files were not written", "A complete log", "In most cases", "This is probably not a problem"} {
		if strings.Contains(text, idle) {
			return
		}
	}
	if len(o.errors) < maxErrorLines {
		o.errors = append(o.errors, text)
	}
}

// Err says why an npm that has failed did so; what is what it was to do.
func (o *Output) Err(what string, exit sandbox.Exit) error {
	why := strings.Join(o.errors, "; ")
	if why == "" {
		why = fmt.Sprintf("it ended with code %d: %s", exit.Code, strings.Join(o.last, "; "))
	}
	if exit.Reason != "" {
		why = exit.Reason
	}
	return fmt.Errorf("%s: %s: %w", what, why, o.kind())
}

func (o *Output) kind() error {
	switch o.code {
	case "E404", "ETARGET", "ENOVERSIONS":
		return errdefs.ErrNotFound
	case "EBADENGINE", "EBADPLATFORM", "ERESOLVE", "EINTEGRITY", "E403", "E401", "EINVALIDTAGNAME", "EINVALIDPACKAGENAME":
		return errdefs.ErrFailedPrecondition
	}
	return errdefs.ErrUnavailable
}
