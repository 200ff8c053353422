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

// compounds joins words that mean something else together: a pull request is nothing pulled, and
// who checks out a book does more than check.
func compounds(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		if i+1 < len(words) && together(words[i], words[i+1]) {
			out = append(out, words[i]+" "+words[i+1])
			i++
			continue
		}
		out = append(out, words[i])
	}
	return out
}

func together(a, b string) bool {
	switch b {
	case "request", "requests":
		return a == "pull" || a == "merge"
	case "up", "down", "in", "out", "off", "on", "rid", "back":
		return phrasal[a+" "+b]
	}
	return false
}

// phrasal are verbs of two words whose first alone would say less.
var phrasal = map[string]bool{}

func init() {
	for _, p := range strings.Split("check out,check in,count down,sign in,sign up,sign out,sign off,log in,log out,log off,"+
		"set up,clean up,back up,roll back,shut down,turn on,turn off,turn up,turn down,opt in,opt out,get rid,"+
		"show off,power on,power off,spin up,tear down,hand off,read back,call back,write back,pay back,take down,take over", ",") {
		phrasal[p] = true
	}
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
		preview summarize compare diff grep ls cat tail stat peek whoami geocode echo examine enumerate`)

	// weakVerbs read when the description says so as well: to fetch an issue is a read, to fetch a
	// remote is not.
	weakVerbs = set(`fetch query check validate verify calculate compute estimate analyze explain convert translate
		suggest recommend extract detect resolve wait scan determine identify research explore discover browse lint
		predict forecast ask trace locate parse aggregate map lookup`)

	// nounsToo are read verbs that are things as well: list_sort may sort a list.
	nounsToo = set(`list search view count show preview summary diff`)

	// screens are what is shown to the person and not to the caller.
	screens = set(`modal dialog popup notification alert toast window message banner prompt`)

	// packed are what is extracted into files, not into an answer.
	packed = set(`archive archives zip tar tarball rar`)

	// executeVerbs run something wherever they stand in a name.
	executeVerbs = set(`exec execute eval evaluate run runs shell bash zsh sh powershell pwsh terminal
		spawn invoke launch script scripts cmd command commands repl sql rpc ssh sudo cron crontab macro python
		javascript node compile simulate`)

	// destroyVerbs end something, or carry it out where it cannot be fetched back.
	destroyVerbs = set(`delete del rm drop remove destroy purge wipe erase truncate reset clean kill terminate
		uninstall unpublish publish deploy send merge push transfer revoke rollback rebase prune flush
		overwrite replace discard abort cancel shutdown reboot format pay buy purchase sell refund charge
		cleanup bet gamble assume disburse unlock donate withdraw deposit email mail sms tweet broadcast notify invite grant approve impersonate ban expire
		unlink empty export upload release share submit announce obliterate nuke vaporize annihilate eradicate destruct
		exterminate decimate trash scrub expunge rm rf rmdir`)

	// writeVerbs change something.
	writeVerbs = set(`write create add set put insert update upsert edit modify change append prepend save store
		move rename copy cp mv mkdir touch make new build generate install upgrade apply patch post
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
		accept reject decline join leave adopt advance amend annotate arrange ban block book boost bypass calibrate
		checkpoint clone collapse compact configure confirm consume correct customize define delegate demote deprecate detach
		dial distribute donate duplicate eject elevate enforce engage enroll escalate evict exclude exempt expand expose fail
		flag flip freeze unfreeze fulfill hide unhide import  initialize inject instruct integrate invalidate  join
		 lower mirror nuke offer override park patch pledge prepare process promote propose protect provision quarantine
		raise reassign rebalance reclaim recover recreate redeem redeploy reject relocate remap remind remount
		reprocess requeue rerun resubmit retire retrain reveal revert rewrite seal seize ship shred shrink skip solve
		squash stamp stream suspend tap throttle transition trash trim tune unban unblock unload unmount unset unshare unsuspend
		untag upscale void warm yank zap scan
		pop shift unshift extend mode compute ensure reindex rebuild refresh reload rotate
		place ring make repair fix mute unmute unlock renew mint allocate claim acquire obtain ack acknowledge consume poll receive`)

	// alsoNouns are verbs that are things as well: after a leading read verb they are what is read.
	alsoNouns = set(`release releases log logs commit commits tag tags branch branches fork forks star comment
		comments reply replies request requests review reviews change changes update updates build builds test tests patch
		copy plan plans schedule schedules order orders vote rate rates record records link links message messages mail
		email emails post posts run runs command commands script scripts terminal label labels node nodes format share
		shares store stores stage stages file queue queues archive archives book books open backup backups watch call calls
		subscription pins invites sort size feedback cron scan scans transition transitions route routes stream streams
		offer offers flag flags limit limits hold scale stamp trash mirror mirrors index block blocks leave leaves note
		notes draft drafts invoice invoices bookmark bookmarks campaign campaigns profile trace traces alert alerts import
		imports export exports job jobs task tasks map clone clones deposit deposits charge charges refund refunds purchase
		purchases grant grants lock locks bid bids trade trades transfer transfers payment document documents template pay
		model models reservation deploy deploys merge merges pull pulls ban bans mute mutes crawl trigger triggers
		query queries search searches view views filter filters extension restore track tracks play pin download downloads upload uploads
		issue issues report reports schema poll polls return returns macro macros repl sms tweet tweets broadcast
		mount mounts process connect attachment recording sample samples stash stashes sync syncs repair`)

	// joiners tie a second verb to a first.
	joiners = set(`and or then also plus after before`)
)

// byName classifies by the words of a name, and by how the description begins where the name
// alone does not say that it reads.
func byName(words []string, description string) (approvals.Class, string) {
	if len(words) == 0 {
		return approvals.Write, "It has no name that says what it does."
	}
	if verb := readsSurely(words); verb != "" {
		return approvals.Read, "Its name says that it reads (" + verb + ")."
	}
	if tell := telling(description); tell != "" && mayRead(words) && !leadsAstray(words) {
		return approvals.Read, "Nothing in its name changes anything, and its description tells of reading (" + tell + ")."
	}
	return byWorstVerb(words)
}

// readsSurely is the verb by which a name alone says that it reads; "" for none.
func readsSurely(words []string) string {
	first, last := words[0], words[len(words)-1]
	switch {
	case readVerbs[first] && onlyNouns(words[1:]) && !leadsAstray(words):
		return first
	case named(words) != "":
		return named(words)
	case readVerbs[last] && len(words) > 1 && noVerbs(words[:len(words)-1]):
		return last
	case first == "resolve" && len(words) > 1 && set(`id ids name names`)[last] && onlyNouns(words[1:]):
		return first + " " + last
	}
	return ""
}

// leadsAstray says whether a leading read verb may be meant otherwise: list_share may share a list,
// show_message shows one on the screen, list_for_sale sells.
func leadsAstray(words []string) bool {
	first, last := words[0], words[len(words)-1]
	if nounsToo[first] && isVerb(last) && !strings.HasSuffix(last, "s") {
		return true
	}
	if len(words) > 1 && destroyVerbs[participle(last)] {
		return true
	}
	for _, w := range words[1:] {
		if first == "show" && screens[w] || first == "extract" && packed[w] || w == "sale" || w == "sell" {
			return true
		}
	}
	return false
}

// participle is the verb of a past participle: "deleted" tells of what becomes of a thing where it
// ends a name, as in get_user_deleted.
func participle(w string) string {
	for _, ending := range []string{"d", "ed"} {
		if verb, ok := strings.CutSuffix(w, ending); ok && isVerb(verb) {
			return verb
		}
	}
	return ""
}

// named is the read verb of a name that begins with whose tool it is: slack_list_channels,
// API-get-user. What may be a thing itself, as a list, is leaned on only where nothing that follows
// may be a verb.
func named(words []string) string {
	for i := 1; i <= 3 && i < len(words); i++ {
		w := words[i]
		if !readVerbs[w] || !noVerbs(words[:i]) {
			continue
		}
		rest := words[i+1:]
		if len(rest) > 0 && noVerbs(rest) || !nounsToo[w] && onlyNouns(rest) || onlyPlurals(rest) {
			return w
		}
	}
	return ""
}

// onlyNouns says whether words can be what a leading read verb reads. A joiner may only join things:
// users and groups, not list and archive.
func onlyNouns(words []string) bool {
	for i, w := range words {
		switch {
		case joiners[w] && (i == 0 || i+1 == len(words) || isVerb(words[i+1]) || w != "and"):
			return false
		case isVerb(w) && !alsoNouns[w]:
			return false
		}
	}
	return true
}

// onlyPlurals is onlyNouns where every word that may be a verb stands in the plural.
func onlyPlurals(words []string) bool {
	for _, w := range words {
		if isVerb(w) && !strings.HasSuffix(w, "s") {
			return false
		}
	}
	return len(words) > 0 && onlyNouns(words)
}

// mayRead says whether a name says nothing against reading: it has a weak verb or none.
func mayRead(words []string) bool {
	for i, w := range words {
		switch {
		case weakVerbs[w] || readVerbs[w]:
		case joiners[w] && (w != "and" || i+1 == len(words) || i < 2 || isVerb(words[i+1]) || weakVerbs[words[i-1]] || readVerbs[words[i-1]]):
			return false
		case isVerb(w) && !(alsoNouns[w] && i > 0):
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

func isVerb(w string) bool {
	return executeVerbs[w] || destroyVerbs[w] || writeVerbs[w] || phrasal[w]
}

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
