package api

import "strings"

// AnswerCode is what a person types at a terminal to approve: four characters of the binding, so
// that the code is of exactly the request that was shown. It is no secret: it proves a look and a
// hand, and the daemon checks that the terminal is a real one.
func AnswerCode(binding string) string {
	digits := strings.TrimPrefix(binding, "sha256:")
	return digits[:min(4, len(digits))]
}
