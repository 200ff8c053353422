// Package policy reads a person's rules about calls (policy.yaml), explains what they do and says
// what they would have done. Nothing here acts: files come in as bytes, calls as values.
//
// A file that has anything wrong with it gives no rules at all, and every problem says where it is,
// what is wrong, why that matters and what to write instead. What a file does not say never allows.
package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
)

// Version is the one version of the file that this Garita reads.
const Version = 1

// What a file may hold at most. The bounds are far above what a person writes and far below what
// would cost anything to read.
const (
	maxFile    = 256 << 10 // bytes
	maxDepth   = 32        // lists and mappings in each other
	maxRules   = 1000
	maxList    = 200  // entries of one list of a rule
	maxPattern = 256  // bytes
	maxText    = 1024 // bytes of a name or a reason
)

// Problem is one thing that is wrong with a file, in the parts of an honest message.
type Problem struct {
	File string `json:"file"`
	Line int    `json:"line"` // 1-based; 0 when it is about the whole file
	What string `json:"what"` // what is wrong there
	Why  string `json:"why"`  // why it is refused
	Next string `json:"next"` // what to write instead
}

// Error is the problem on one line.
func (p *Problem) Error() string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	s := at + ": " + p.What
	if p.Why != "" {
		s += ": " + p.Why
	}
	if p.Next != "" {
		s += "; " + p.Next
	}
	return s
}

// Unwrap makes every Problem an InvalidArgument.
func (p *Problem) Unwrap() error { return errdefs.ErrInvalidArgument }

// Parse reads a policy file. file is what its rules name as their origin. An empty file has no rules.
// The error joins every *Problem found (see Problems); the Policy is the zero one then.
func Parse(file string, data []byte) (approvals.Policy, error) {
	if len(data) > maxFile {
		return approvals.Policy{}, &Problem{
			File: file, What: fmt.Sprintf("the file is %d KiB long", len(data)>>10),
			Why: fmt.Sprintf("a policy has at most %d KiB", maxFile>>10), Next: "write fewer rules with patterns",
		}
	}
	if !utf8.Valid(data) {
		return approvals.Policy{}, &Problem{File: file, What: "the file is not UTF-8 text", Next: "save it as UTF-8"}
	}
	root, err := document(file, data)
	if err != nil {
		return approvals.Policy{}, err
	}
	r := reader{file: file}
	rules := r.policy(root)
	if len(r.problems) > 0 {
		return approvals.Policy{}, joinProblems(r.problems)
	}
	return approvals.Policy{Rules: rules, Digest: Digest(data)}, nil
}

// Digest names a file's bytes.
func Digest(data []byte) sandbox.Digest {
	sum := sha256.Sum256(data)
	return sandbox.Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// Problems are the problems that an error of Parse or ParseCases joins, in the order of the file.
func Problems(err error) []Problem {
	var p *Problem
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []Problem
		for _, e := range joined.Unwrap() {
			all = append(all, Problems(e)...)
		}
		return all
	}
	if errors.As(err, &p) {
		return []Problem{*p}
	}
	return nil
}

// joinProblems is one error for all of them, in the order of the file.
func joinProblems(problems []error) error {
	slices.SortStableFunc(problems, func(a, b error) int { return Problems(a)[0].Line - Problems(b)[0].Line })
	return errors.Join(problems...)
}
