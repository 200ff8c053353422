package pins

import (
	"strings"

	"github.com/garita-dev/garita/approvals"
)

// rule finds words in their order, each at most gap words behind the one before and in its sentence.
type rule struct {
	kind  approvals.FindingKind
	why   string
	holds bool
	gap   int
	steps []set
	// unlessNot leaves it where one says that it is not to be done.
	unlessNot bool
}

type set map[string]bool

// of is the sets of words a rule goes through, each written as one text.
func of(steps ...string) []set {
	out := make([]set, len(steps))
	for i, s := range steps {
		out[i] = set{}
		for w := range strings.FieldsSeq(s) {
			out[i][w] = true
		}
	}
	return out
}

// Words that the rules share.
const (
	dismiss  = "ignore disregard forget override bypass overrule"
	nots     = "not never dont without shouldnt mustnt cannot"
	persons  = "user users human person owner operator anyone anybody"
	transfer = "send pass include put insert append attach add provide copy paste place write encode embed supply forward leak upload exfiltrate post transmit submit"
	target   = anURL + " " + aMail + " " + aPhone
)

// rules are what makes text in a definition speak to the model about something else than its tool.
// They are sequences of words, so that each costs one look at each word, whatever is written.
var rules = []rule{
	instructs("it tells the model to leave its instructions aside", 3, dismiss,
		"previous prior above earlier preceding other all any every system your existing original", "instruction instructions prompt prompts directive directives guideline guidelines guardrails restrictions"),
	instructs("it tells the model to leave its rules aside", 3, dismiss,
		"previous prior above earlier preceding system safety security", "rules rule policy policies constraints checks"),
	instructs("it tells the model to forget what it was told", 3, "ignore disregard forget", "everything", "above before said told earlier"),
	instructs("it tells the model to leave its instructions aside", 3, "ignoriere ignorieren vergiss missachte", "vorherigen bisherigen obigen alle deine", "anweisungen instruktionen regeln"),
	instructs("it tells the model to leave its instructions aside", 4, "ignora olvida omite ignorez oubliez oublie ignore", "instrucciones instructions consignes istruzioni", "anteriores previas précédentes precedentes précédent precedenti"),
	instructs("it asks to keep something from the person", 4, nots, "tell telling mention mentioning inform informing notify notifying reveal revealing disclose disclosing alert alerting", persons),
	instructs("it asks to keep something from the person", 5, "hide conceal withhold keep", "from", persons),
	instructs("it asks to keep something from the person", 2, persons, "must should shall may can need", "not never", "know notice see be learn find"),
	instructs("it asks to do something unseen", 3, "secretly covertly stealthily silently quietly unnoticed discreetly",
		"send read include copy forward pass upload call add append bcc cc email post transmit run execute invoke write change replace exfiltrate store"),
	instructs("it asks for what was said in the conversation", 5, transfer, "full entire whole complete previous prior past", "conversation conversations chat transcript messages"),
	instructs("it asks for what was said in the conversation", 6, transfer, "conversation chat", "history transcript"),
	instructs("it asks for the model's own instructions", 5, transfer+" reveal repeat print output show", "system developer initial hidden", "prompt prompts instructions"),
	{
		kind: approvals.FoundInstructions, why: "it asks for secrets", holds: true, gap: 5, unlessNot: true,
		steps: of(transfer, "secret secrets credential credentials password passwords passphrase", "here argument parameter sidenote note context"),
	},
	instructs("it sends the model to do something else first", 4, "before prior whenever when after", "using calling invoking use call running executing", "this any the other every a", "tool tools function",
		"read open cat load access print dump collect send upload email post forward"),
	instructs("it adds a recipient", 8, "always also must automatically secretly", "bcc cc forward copy send email", target),
	instructs("it changes a recipient", 6, "replace change set modify", "recipient recipients destination address phone number", "to with", target),
	instructs("it sends data to an address", 6, "send post upload forward transmit exfiltrate leak deliver email", "data content contents everything result results output outputs copy credentials secrets conversation information", target),
	instructs("it gives the model another role", 0, "you", "are", "now"),
	instructs("it gives the model other rules", 0, "from", "now", "on"),
	instructs("it gives the model other rules", 0, "new updated revised", "system", "instructions prompt"),
	instructs("it gives the model another role", 1, "pretend", "to", "be"),
	instructs("it tells the model not to ask", 2, "not never dont", "ask request seek wait", "for", "confirmation permission approval consent"),
	tells("it says that nobody is asked", 3, "without skip skipping bypass bypassing", "approval permission confirmation consent"),
	tells("it wants to be preferred to other tools", 2, "instead before rather", "any other all every", "tool tools server servers mcp"),
	tells("it wants to be preferred to other tools", 2, "not never dont", "use call invoke trust", "any other", "other tool tools server servers mcp"),
}

// instructs is a rule about words that a person sees first.
func instructs(why string, gap int, steps ...string) rule {
	return rule{kind: approvals.FoundInstructions, why: why, holds: true, gap: gap, steps: of(steps...)}
}

// tells is a rule about words that a person is only told of.
func tells(why string, gap int, steps ...string) rule {
	return rule{kind: approvals.FoundInstructions, why: why, gap: gap, steps: of(steps...), unlessNot: true}
}

// begins finds the rules that a word may begin.
var begins = func() map[string][]*rule {
	out := map[string][]*rule{}
	for i := range rules {
		for w := range rules[i].steps[0] {
			out[w] = append(out[w], &rules[i])
		}
	}
	return out
}()

// match is the word behind the last that the rule takes, when it begins with all[at]; 0 when it does not match.
func (r *rule) match(all []word, at int) int {
	if r.unlessNot && denied(all, at) {
		return 0
	}
	i := at + 1
	for _, step := range r.steps[1:] {
		if i = r.step(step, all, i); i == 0 {
			return 0
		}
	}
	return i
}

// step is the word behind the first of step's that comes in time.
func (r *rule) step(step set, all []word, from int) int {
	for i := from; i < len(all) && i <= from+r.gap && all[i].text != stop; i++ {
		if step[all[i].text] {
			return i + 1
		}
	}
	return 0
}

var denials = of("not never dont doesnt cannot cant avoid shouldnt mustnt no nor")[0]

// denied says whether the words shortly before say that something is not to be done.
func denied(all []word, at int) bool {
	for i := at - 1; i >= 0 && i >= at-5 && all[i].text != stop; i-- {
		if denials[all[i].text] {
			return true
		}
	}
	return false
}

// phrase is text that is looked for as it stands, in lower case.
type phrase struct {
	text  string
	kind  approvals.FindingKind
	why   string
	holds bool
}

// marks are written to look like something else than a description.
var marks = phrases(approvals.FoundInstructions, "it is written as a message to the model", true,
	"<important", "<system", "<critical", "<hidden", "<admin", "<assistant", "<instruction", "<secret", "</important", "<|im_", "<|system", "[inst]", "[/inst]", "<<sys>>", "[system]", "### system", "### instruction",
	"忽略之前", "忽略以上", "忽略所有", "指示を無視", "指示は無視")

// comments are not seen where text is rendered.
var comments = phrases(approvals.FoundHidden, "a comment is not seen where the text is rendered", true, "<!--")

// keepsakes are files that no description has to speak of.
var keepsakes = append(phrases(approvals.FoundReference, "it speaks of a file with secrets", true,
	".ssh/", "id_rsa", "id_ed25519", "id_ecdsa", ".aws/credentials", ".netrc", ".git-credentials", "/etc/passwd", "/etc/shadow", ".gnupg", "mcp.json", "claude_desktop_config", ".claude.json", ".bash_history", ".zsh_history",
	"wallet.dat", "/proc/self/environ", "authorized_keys", ".pgpass", "login.keychain", "cookies.sqlite", "docker.sock"),
	phrases(approvals.FoundReference, "it speaks of a file that may hold secrets", false, ".kube/config", ".docker/config.json", ".npmrc", ".pypirc")...)

func phrases(kind approvals.FindingKind, why string, holds bool, texts ...string) []phrase {
	out := make([]phrase, len(texts))
	for i, t := range texts {
		out[i] = phrase{t, kind, why, holds}
	}
	return out
}
