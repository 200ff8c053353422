package classify

import (
	"strings"
	"unicode"
)

// Words of descriptions.
var (
	// tells begin descriptions of tools that tell how something is.
	tells = set(`get gets list lists show shows describe describes return returns view views retrieve retrieves
		read reads display displays count counts`)

	// doesForms are what a description says a tool does, wherever it says it.
	doesForms = set(`creates deletes removes writes saves modifies overwrites sends publishes uploads executes
		installs inserts replaces renames resets kills erases truncates terminates submits transfers deploys
		destroys purges wipes revokes appends mutates persists`)

	// imperatives begin a clause that says what a tool does to something.
	imperatives = set(`create delete remove write update modify edit set add insert move rename save store overwrite
		replace send publish upload download execute run install uninstall drop reset kill terminate submit deploy
		merge push clear erase truncate mark append persist purge wipe revoke perform start stop trigger register
		evaluate invoke change apply post commit clone fork transfer destroy toggle enable disable close open`)

	// languages are those in which a query may also write; SELECT in capitals is another sign.
	languages = set(`sql sqlite mysql mariadb postgres postgresql graphql cypher sparql soql psql kql promql`)

	// negations before a form take it back: "does not modify", "never writes".
	negations = set(`not never without no cannot can't doesn't don't won't nor neither`)
)

// tellsState says whether a description begins as one of a tool that only tells.
func tellsState(description string) bool {
	words := strings.FieldsFunc(strings.ToLower(description), notWord)
	return len(words) > 0 && tells[words[0]]
}

func notWord(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '-' && r != '_' }

// contradiction is the first word in what a tool says of itself that no read would say; "" for none.
func contradiction(title, description string) string {
	if words, _ := split(title); len(words) > 0 && !onlyNouns(words[1:]) || len(words) > 0 && isVerb(words[0]) && !readVerbs[words[0]] {
		if w := verbIn(words); w != "" {
			return w
		}
	}
	for _, s := range sentences(description) {
		if w := doing(s); w != "" {
			return w
		}
	}
	return ""
}

// verbIn is the first word that changes, destroys or runs something and is no thing as well.
func verbIn(words []string) string {
	for i, w := range words {
		if isVerb(w) && !(alsoNouns[w] && i > 0) {
			return w
		}
	}
	return ""
}

// sentences cuts a text where a new clause may begin with a verb.
func sentences(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return strings.ContainsRune(".;!?\n•*", r)
	})
}

// doing is the word in a sentence that says the tool changes something.
func doing(sentence string) string {
	words := strings.FieldsFunc(sentence, notWord)
	for i, w := range words {
		if negated(words[:i]) {
			continue
		}
		imperative := i == 0 || joins(words[i-1])
		if doesForms[w] || imperative && imperatives[w] && !harmless(words, i) {
			return w
		}
	}
	return ""
}

func joins(w string) bool { return w == "and" || w == "then" || w == "also" }

func negated(before []string) bool {
	for _, w := range before[max(0, len(before)-3):] {
		if negations[w] {
			return true
		}
	}
	return false
}

// harmless says whether the verb at i is used of reading or as a noun: "run a find query",
// "release notes", "commits and tags".
func harmless(words []string, i int) bool {
	if alsoNouns[words[i]] && i > 0 {
		return true
	}
	rest := words[i+1:]
	for len(rest) > 0 && (rest[0] == "a" || rest[0] == "an" || rest[0] == "the") {
		rest = rest[1:]
	}
	return len(rest) > 0 && set(`run perform`)[words[i]] && set(`find search lookup`)[rest[0]]
}

// speaksSQL says whether a text is about a query language, in which a query can do anything.
func speaksSQL(text string) bool {
	for _, w := range strings.FieldsFunc(text, notWord) {
		if w == "SELECT" || languages[strings.ToLower(w)] {
			return true
		}
	}
	return false
}
