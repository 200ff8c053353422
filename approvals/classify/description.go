package classify

import (
	"slices"
	"strings"
	"unicode"
)

// Words of descriptions.
var (
	// tells begin descriptions of tools that tell something.
	tells = set(`get list show describe return view retrieve read display count search find fetch look query check
		calculate compute estimate analyze explain convert translate suggest recommend validate provide gather
		detect identify determine answer summarize compare inspect wait browse explore discover lookup extract examine
		map research preview render forecast predict verify`)

	// reading are what is run or performed when something is only read.
	reading = set(`find search searches lookup lookups query queries read reads research request requests`)

	// doesForms are what a description says a tool does, wherever it says it.
	doesForms = set(`creates deletes removes writes saves modifies overwrites sends publishes uploads executes
		installs inserts replaces renames resets kills erases truncates terminates submits transfers deploys
		destroys acknowledges consumes purges wipes revokes appends mutates persists archives`)

	// softVerbs may say of a read how it comes by what it returns. They are no grounds against one.
	softVerbs = set(`fetch query convert compute calculate extract sort filter track resolve parse format test download
		load open render generate capture review handle manage plan complete order vote rate select go decode
		answer authenticate acknowledge give monitor scan connect take refresh compress use perform build go label tag tags
		clear copy record post log print watch scrape crawl draw split wait`)

	// imperatives begin a clause that says what a tool does to something, whether or not softVerbs has them.
	imperatives = set(`store post clear copy open download generate manage record build place`)

	// strong are verbs that are no things: in "list, create and delete tags" nothing else shows what they are.
	strong = set(`create delete remove write modify edit add insert rename save overwrite replace send publish upload
		execute install uninstall drop reset kill terminate submit deploy merge erase truncate append persist purge wipe
		revoke destroy toggle enable disable archive restore accept approve assign update move apply mark`)

	// done are forms that tell what becomes of something.
	done = set(`deleted removed destroyed erased wiped marked overwritten written saved stored persisted sent published
		charged billed consumed archived closed moved modified claimed locked created updated reset`)

	// languages are those in which a query may also write; SELECT in capitals is another sign.
	languages = set(`sql sqlite mysql mariadb postgres postgresql graphql cypher sparql soql psql`)

	// negations before a form take it back: "does not modify", "never writes".
	negations = set(`not never without no cannot can't doesn't don't won't nor neither`)

	// determiners tell that the word before them is a verb: "mark the", "claims it".
	determiners = set(`a an the it them this that these those all any every each its their your another new one what whatever`)
)

// foreign is the first stretch of a description that is in no language read here, "" when there is
// none: what it says of the tool is then not known, whatever the name says.
func foreign(description string) string {
	for sentence := range strings.FieldsFuncSeq(description, func(r rune) bool { return strings.ContainsRune(".;!?\n。！？；", r) }) {
		if words := strings.FieldsFunc(strings.ToLower(sentence), notWord); otherScript(words) || len(words) >= 5 && !slices.ContainsFunc(words, english) {
			return strings.TrimSpace(sentence)
		}
	}
	return ""
}

// otherScript says whether most letters are of no script that English is written in.
func otherScript(words []string) bool {
	other, all := 0, 0
	for _, w := range words {
		for _, r := range w {
			all++
			if unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) {
				other++
			}
		}
	}
	return all > 0 && 2*other > all
}

// common are words that hardly an English sentence of five words does without.
var common = set(`the an of to for and in by with from is are all on this that these or if it its as be
	given using based into at when which not can new use your you only also e g i about between via per
	supports optional default example note returns list get`)

func english(w string) bool { return common[w] || tells[w] || tells[stem(w)] || readVerbs[stem(w)] }

// telling is the word with which a description begins as one of a tool that only tells; "" for none.
func telling(description string) string {
	words := strings.FieldsFunc(strings.ToLower(description), notWord)
	if len(words) == 0 {
		return ""
	}
	first := words[0]
	if tells[first] || tells[stem(first)] {
		return first
	}
	if (stem(first) == "run" || stem(first) == "perform" || stem(first) == "execute" || stem(first) == "conduct") && harmless(words, 0) {
		return first
	}
	return ""
}

func notWord(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '-' && r != '_' }

// contradiction is the first word in what a tool says of itself that no read would say; "" for none.
func contradiction(title, description string) string {
	if words, _ := split(title); len(words) > 0 && readsSurely(words) == "" && !mayRead(words) {
		if w := verbIn(words); w != "" {
			return w
		}
	}
	for _, s := range clauses(description) {
		if w := s.doing(); w != "" {
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

// clause is a stretch of a description at whose beginning a verb may stand.
type clause struct {
	words []string
	leads bool // it begins a sentence, not only what follows a comma
}

// clauses cuts a text where a new clause may begin with a verb.
func clauses(text string) (all []clause) {
	for _, s := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(".;!?\n•*", r) }) {
		for i, part := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",:/()", r) }) {
			if words := strings.FieldsFunc(part, notWord); len(words) > 0 {
				all = append(all, clause{words, i == 0})
			}
		}
	}
	return all
}

// doing is the word in a clause that says the tool changes something.
func (c clause) doing() string {
	for i, w := range c.words {
		switch {
		case negated(c.words[:i]):
		case doesForms[w] && !harmless(c.words, i), c.acts(i), c.becomes(i), c.markets(i):
			return w
		case stem(w) == "mark" && slices.Contains(c.words[i:min(len(c.words), i+5)], "as"):
			return w
		}
	}
	return ""
}

// acts says whether the word at i is a verb with which the tool does something: at a sentence's
// beginning, after a comma, or joined to what comes before.
func (c clause) acts(i int) bool {
	w := c.words[i]
	verb := stem(w)
	begins := i == 0 && c.leads
	switch {
	case i > 0 && c.words[i-1] == "by" && strings.HasSuffix(w, "ing"):
		return strong[verb]
	case i > 0 && !joins(c.words[i-1]) && c.words[i-1] != "will":
		return false
	case !isVerb(verb) || readVerbs[verb] || tells[verb] && !(imperatives[verb] && c.object(i)) || harmless(c.words, i):
		return false
	case softVerbs[verb]:
		return imperatives[verb] && (begins || c.object(i))
	case begins || c.object(i):
		return true
	}
	return strong[verb] && !alsoNouns[w]
}

// object says whether what follows the word at i shows that it is a verb.
func (c clause) object(i int) bool { return i+1 < len(c.words) && determiners[c.words[i+1]] }

// becomes says whether the words at i tell what becomes of something: "will be marked", "is deleted
// afterwards".
func (c clause) becomes(i int) bool {
	if !done[c.words[i]] || i == 0 {
		return false
	}
	before := c.words[max(0, i-3):i]
	if slices.Contains(before, "will") && slices.Contains(before, "be") {
		return true
	}
	if !slices.ContainsFunc(before, func(w string) bool { return w == "is" || w == "are" || w == "gets" }) {
		return false
	}
	after := c.words[i+1:]
	return len(after) > 0 && (after[0] == "afterwards" || after[0] == "after" || after[0] == "automatically" || after[0] == "then")
}

// markets says whether to list means here to put up: "lists an item for sale".
func (c clause) markets(i int) bool {
	w := c.words
	if stem(w[i]) != "list" || i+3 >= len(w) || w[i+1] != "a" && w[i+1] != "an" && w[i+1] != "your" {
		return false
	}
	return slices.Contains([]string{"on", "for", "at"}, w[i+3])
}

func joins(w string) bool {
	return w == "and" || w == "then" || w == "also" || w == "or" || w == "automatically"
}

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
	if alsoNouns[words[i]] && i > 0 && !(i+1 < len(words) && determiners[words[i+1]]) {
		return true
	}
	switch stem(words[i]) {
	case "run", "perform", "execute", "conduct", "make":
	default:
		return false
	}
	rest := words[i+1:]
	return slices.ContainsFunc(rest[:min(5, len(rest))], func(w string) bool { return reading[w] })
}

// stem is a verb without the ending of its third person or of its -ing form, as far as the words
// above need it.
func stem(w string) string {
	for _, ending := range []struct{ from, to string }{{"ies", "y"}, {"s", ""}, {"es", ""}, {"ing", ""}, {"ing", "e"}} {
		if s, ok := strings.CutSuffix(w, ending.from); ok && known(s+ending.to) {
			return s + ending.to
		}
	}
	return w
}

func known(w string) bool {
	return w == "conduct" || w == "perform" || isVerb(w) || readVerbs[w] || weakVerbs[w] || tells[w]
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
