package classify

import (
	"strings"
	"unicode"

	"github.com/garita-dev/garita/approvals"
)

// split cuts a name into lower-case words at case changes and at anything that is no letter or
// digit. plain is false for a name that is empty, over 128 bytes, or not ASCII: such a name may
// show one thing and be another.
func split(name string) (words []string, plain bool) {
	plain = name != "" && len(name) <= 128
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case r >= 0x7f || r < 0x20:
			plain = false
			flush()
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return compounds(words), plain && len(words) > 0
}

// compounds joins words that mean something else together: a pull request is nothing pulled.
func compounds(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		if i+1 < len(words) && (words[i] == "pull" || words[i] == "merge") && strings.TrimSuffix(words[i+1], "s") == "request" {
			out = append(out, words[i]+" "+words[i+1])
			i++
			continue
		}
		out = append(out, words[i])
	}
	return out
}

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// The words that names are made of. They are lists because the question is what people call things;
// a word that is missing makes a tool ask, never pass.
var (
	// readVerbs surely read when they lead or end a name.
	readVerbs = set(`get list read search find show describe view count retrieve inspect lookup
		preview summarize compare diff grep ls cat tail stat peek whoami`)

	// nounsToo are read verbs that are things as well: list_sort may sort a list.
	nounsToo = set(`list search view count show preview summary diff tail`)

	// screens are what is shown to the person and not to the caller.
	screens = set(`modal dialog popup notification alert toast window message banner`)

	// stateNouns end names that have no verb, of tools that tell how something is.
	stateNouns = set(`stats statistics status schema schemas indexes indices size info information metadata
		tree logs log history summary version versions details blame diff reflog messages requests top
		capabilities overview usage`)

	// executeVerbs run something wherever they stand in a name.
	executeVerbs = set(`exec execute executes eval evaluate run runs shell bash zsh sh powershell pwsh terminal
		spawn invoke launch script scripts cmd command commands repl sql rpc ssh sudo cron crontab macro python
		javascript node compile simulate`)

	// destroyVerbs end something, or carry it out where it cannot be fetched back.
	destroyVerbs = set(`delete del rm drop remove destroy purge wipe erase truncate reset clean kill terminate
		uninstall unpublish publish deploy send merge push transfer revoke rollback rebase prune flush
		overwrite replace discard abort cancel shutdown reboot format pay buy purchase sell refund charge
		withdraw deposit email mail sms tweet broadcast notify invite grant approve impersonate ban expire
		unlink empty export upload release share submit announce`)

	// writeVerbs change something.
	writeVerbs = set(`write create add set put insert update upsert edit modify change append prepend save store
		move rename copy cp mv mkdir touch make new build generate install upgrade apply patch post publishes
		commit checkout checkin stash cherry pick pull clone init fork tag branch stage unstage assign unassign
		close reopen open lock unlock pin unpin star unstar mark dismiss ignore watch unwatch subscribe
		unsubscribe follow unfollow like comment reply react respond answer request review schedule reschedule
		start stop pause resume restart enable disable toggle switch activate deactivate connect disconnect
		attach detach bind mount unmount register unregister login logout authenticate authorize sign encrypt
		decrypt import load sync restore backup archive unarchive migrate seed record capture take click type
		press fill drag drop hover scroll navigate go select focus resize emulate handle upload download fetch
		crawl scrape render draw convert compress extract zip unzip gzip merge split scale manage configure
		trigger call ask interact give feedback test fix refactor plan complete finish clear increment
		decrement replay retry link order vote rate book reserve cast play queue enqueue dequeue forward
		redirect crop chmod chown log print emit dispatch reorder swap sort organize wait track untrack
		pop shift unshift extend mode compute ensure reindex rebuild refresh reload rotate
		renew mint allocate claim acquire obtain ack acknowledge consume poll receive`)

	// alsoNouns are verbs that are things as well: after a leading read verb they are what is read.
	alsoNouns = set(`release releases log logs commit commits tag tags branch branches fork forks star comment
		comments reply request review reviews change changes update updates build builds test tests patch
		copy plan plans schedule order orders vote rate record records link links message messages mail email
		emails post posts run runs command commands script scripts terminal label node nodes format share shares
		store stage file queue archive book books open backup backups watch call calls subscription pins
		invites sort size feedback cron`)

	// joiners tie a second verb to a first.
	joiners = set(`and or then also plus after before`)
)

// byName classifies by the words of a name, with the description's beginning where there is no verb.
func byName(words []string, description string) (approvals.Class, string) {
	if len(words) == 0 {
		return approvals.Write, "It has no name that says what it does."
	}
	first, last := words[0], words[len(words)-1]
	switch {
	case readVerbs[first] && onlyNouns(words[1:]) && !leadsAstray(first, last):
		return approvals.Read, "Its name says that it reads (" + first + ")."
	case named(words) != "":
		return approvals.Read, "Its name says that it reads (" + named(words) + ")."
	case readVerbs[last] && len(words) > 1 && noVerbs(words[:len(words)-1]):
		return approvals.Read, "Its name says that it reads (" + last + ")."
	case first == "query" && len(words) > 1 && set(`docs documentation knowledge`)[last] && onlyNouns(words[1:]):
		return approvals.Read, "Its name says that it reads (query " + last + ")."
	case first == "resolve" && len(words) > 1 && set(`id ids name names`)[last] && onlyNouns(words[1:]):
		return approvals.Read, "Its name says that it reads (resolve " + last + ")."
	case stateNouns[last] && noVerbs(words[:len(words)-1]) && tellsState(description):
		return approvals.Read, "Its name is a state (" + last + ") and its description tells of reading it."
	}
	return byWorstVerb(words)
}

// leadsAstray says whether a leading read verb may be meant otherwise: list_share may share a list,
// show_message shows one on the screen.
func leadsAstray(first, last string) bool {
	return nounsToo[first] && isVerb(last) && !strings.HasSuffix(last, "s") || first == "show" && screens[last]
}

// named is the read verb of a name that begins with whose tool it is: slack_list_channels,
// API-get-user. There is no leaning on words that may be verbs there.
func named(words []string) string {
	for i := 1; i <= 2 && i < len(words)-1; i++ {
		if readVerbs[words[i]] && noVerbs(words[:i]) && noVerbs(words[i+1:]) {
			return words[i]
		}
	}
	return ""
}

// onlyNouns says whether words can be what a leading read verb reads.
func onlyNouns(words []string) bool {
	for _, w := range words {
		if joiners[w] || isVerb(w) && !alsoNouns[w] {
			return false
		}
	}
	return true
}

// noVerbs says whether none of words can be something that is done.
func noVerbs(words []string) bool {
	for _, w := range words {
		if joiners[w] || isVerb(w) {
			return false
		}
	}
	return true
}

func isVerb(w string) bool { return executeVerbs[w] || destroyVerbs[w] || writeVerbs[w] }

// byWorstVerb classifies a name that does not surely read by the worst that is in it.
func byWorstVerb(words []string) (approvals.Class, string) {
	for _, kind := range []struct {
		verbs map[string]bool
		class approvals.Class
		does  string
	}{
		{executeVerbs, approvals.Execute, "runs something"},
		{destroyVerbs, approvals.Destroy, "destroys or sends something"},
		{writeVerbs, approvals.Write, "changes something"},
	} {
		for _, w := range words {
			if kind.verbs[w] {
				return kind.class, "Its name says that it " + kind.does + " (" + w + ")."
			}
		}
	}
	return approvals.Write, "Nothing in its name says that it only reads."
}
