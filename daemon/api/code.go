package api

import "strings"

// AnswerCode is what a person types at a terminal to answer the question with this binding. It is
// no secret: it makes a person look at what they answer, and differs with what is asked. "" for a
// binding that is none.
func AnswerCode(binding string) string {
	_, digits, ok := strings.Cut(binding, ":")
	if !ok || len(digits) < 4 {
		return ""
	}
	return strings.ToUpper(digits[:4])
}
