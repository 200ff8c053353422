package protocol

import (
	"fmt"
	"strings"
	"unicode"
)

// judged are the methods that Garita, or a server's own dispatcher, does something about.
var judged = plainMethods(`initialize ping server/discover subscriptions/listen
	tools/list tools/call prompts/list prompts/get resources/list resources/templates/list resources/read
	resources/subscribe resources/unsubscribe completion/complete logging/setLevel
	tasks/get tasks/list tasks/result tasks/cancel tasks/update
	roots/list sampling/createMessage elicitation/create
	notifications/initialized notifications/cancelled notifications/progress notifications/message
	notifications/tools/list_changed notifications/prompts/list_changed notifications/resources/list_changed
	notifications/resources/updated notifications/roots/list_changed notifications/tasks/status
	notifications/elicitation/complete notifications/subscriptions/acknowledged`)

// plainMethods are methods by their letters alone.
func plainMethods(list string) map[string]string {
	all := map[string]string{}
	for _, m := range strings.Fields(list) {
		all[letters(m)] = m
	}
	return all
}

// refuseMethodLike refuses a method that is none we judge, but that a lax reader could take for one:
// "Tools/Call", "tools/call ", "/tools/call". It would pass unjudged.
func refuseMethodLike(method string) error {
	if known, like := judged[letters(method)]; like && known != method {
		return invalid(fmt.Sprintf("the method %q could be taken for %q", clip(method), known))
	}
	return nil
}

// Known says whether a method is one that a revision of the protocol has.
func Known(method string) bool { return judged[letters(method)] == method && method != "" }

// letters is the letters and digits of s in lower case, as a reader that folds case folds them. Of
// a text longer than any method nothing is left.
func letters(s string) string {
	if len(s) > 4*len("notifications/subscriptions/acknowledged") {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		for r > unicode.MaxASCII { // the long s and the Kelvin sign fold to ASCII
			next := unicode.SimpleFold(r)
			if next <= r {
				r = next
				break
			}
			r = next
		}
		return unicode.ToLower(r)
	}, s)
}

func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
