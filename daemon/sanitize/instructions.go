package sanitize

import (
	"regexp"

	"github.com/garita-dev/garita/daemon/match"
)

// signs are expressions for text that speaks to the model rather than to its reader, each looked at
// where one of its words stands. They are for a label and a question more, not for a wall: whoever
// knows them writes around them.
var signs = []struct {
	words []string
	re    *regexp.Regexp
}{
	{[]string{"ignore", "disregard", "forget", "override"}, regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|your|system|other)\b[^.\n]{0,40}\b(?:instruction|prompt|rule|guideline|direction|context|command|message)s?\b`)},
	{[]string{"tell", "mention", "inform", "notify", "alert", "asking", "reveal"}, regexp.MustCompile(`(?i)\b(?:do not|don't|never|without|must not)\b[^.\n]{0,20}\b(?:tell|mention|inform|notify|alert|reveal|telling|asking|informing|notifying)\b[^.\n]{0,40}\b(?:user|person|human|anyone|anybody)\b`)},
	{[]string{"<important", "<information", "<hidden", "<system", "important:", "important instruction", "important message", "important note", "attention:", "urgent:", "system message", "system note", "system override", "new instruction"}, regexp.MustCompile(`(?is)(?:<important|<information|<hidden|<system|important:|important (?:instruction|message|note)|attention:|urgent:|system (?:message|note|override)|new instruction).{0,300}?(?:\b(?:call|invoke|use|run|execute|send|delete|forward|upload|read|write|transfer|follow)\b.{0,60}?(?:\b[a-z]+_[a-z_]+\b|\b(?:tool|function|e-?mail|command|password|secret|credential|token|file|money|transaction|instructions?|steps?)s?\b)|please do|you must|do the following)`)},
	{[]string{"<|im_start|>", "<|im_end|>", "<|system|>", "<|endoftext|>", "<|assistant|>", "<|user|>", "[inst]", "[/inst]", "<<sys>>"}, regexp.MustCompile(`(?i)<\|(?:im_start|im_end|system|assistant|user|endoftext)\|>|\[/?inst\]|<<sys>>`)},
	{[]string{"before you", "before using", "before answering", "after you"}, regexp.MustCompile(`(?i)\bbefore (?:you|using|answering)\b[^\n]{0,120}\b(?:please|must|need to|have to|always)\b[^\n]{0,60}\b(?:do|call|read|use|run|send|first)\b`)},
	{[]string{"you must", "you need to", "you have to", "you should now", "you are required"}, regexp.MustCompile(`(?i)\byou (?:must|need to|have to|should now|are required to)\b[^.\n]{0,40}\b(?:call|invoke|send|forward|upload|exfiltrate|use the)\b[^.\n]{0,60}(?:\b[a-z]+_[a-z_]+\b|\b(?:tool|function|e-?mail)\b)`)},
}

const (
	// maxLooks bounds how many places of a text are looked at; more than that and it is labeled unread.
	maxLooks = 2000
	// lookBehind and lookAhead are how far around a word a sign is looked for, in bytes.
	lookBehind, lookAhead = 60, 500
)

var (
	signWords = func() (words [][]byte) {
		for _, s := range signs {
			for _, w := range s.words {
				words = append(words, []byte(w))
			}
		}
		return words
	}()
	signOf = func() (of []int) {
		for i, s := range signs {
			for range s.words {
				of = append(of, i)
			}
		}
		return of
	}()
	signFinder = match.New(signWords, true)
)

// instructs is the first stretch of text that reads like instructions to a model, "" when none does.
func instructs(text []byte) string {
	found, looks, last := "", 0, [16]int{}
	signFinder.Run(0, text, func(word int32, end int) {
		i := signOf[word]
		if found != "" || end < last[i] {
			return
		}
		if looks++; looks > maxLooks {
			found = "more words that could be instructions than can be read"
			return
		}
		from, to := max(0, end-signFinder.Size(word)-lookBehind), min(len(text), end+lookAhead)
		if m := signs[i].re.Find(text[from:to]); m != nil {
			found = string(m[:min(len(m), 200)])
		}
		last[i] = end + lookBehind/2
	})
	return found
}
