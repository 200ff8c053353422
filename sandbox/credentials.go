package sandbox

import "bytes"

// Credential is a stretch of text that looks like a secret. Kind is for people: "a GitHub token".
type Credential struct {
	Kind       string
	Start, End int // byte offsets, End exclusive
}

// shape is a token that gives itself away by how it begins.
type shape struct {
	kind   string
	prefix string
	least  int // characters of tokenChars that must follow
}

// shapes are prefixes their issuers documented; the lengths are a little under the shortest issued.
var shapes = [...]shape{
	{"a GitHub token", "ghp_", 30},
	{"a GitHub token", "gho_", 30},
	{"a GitHub token", "ghu_", 30},
	{"a GitHub token", "ghs_", 30},
	{"a GitHub token", "ghr_", 30},
	{"a GitHub token", "github_pat_", 30},
	{"a Garita token", "garita_", 40},
	{"a GitLab token", "glpat-", 18},
	{"an npm token", "npm_", 30},
	{"a PyPI token", "pypi-AgEI", 30},
	{"an AWS access key", "AKIA", 16},
	{"an AWS access key", "ASIA", 16},
	{"a Google API key", "AIza", 30},
	{"a Google OAuth token", "ya29.", 20},
	{"a Slack token", "xoxb-", 10},
	{"a Slack token", "xoxp-", 10},
	{"a Slack token", "xoxa-", 10},
	{"a Slack token", "xoxs-", 10},
	{"a Slack token", "xapp-", 10},
	{"a Stripe key", "sk_live_", 16},
	{"a Stripe key", "rk_live_", 16},
	{"an API key", "sk-ant-", 20},
	{"an API key", "sk-proj-", 20},
	{"an API key", "sk-", 32},
	{"a Hugging Face token", "hf_", 30},
	{"a DigitalOcean token", "dop_v1_", 30},
	{"a SendGrid key", "SG.", 40},
	{"a signed token (JWT)", "eyJ", 40},
}

// FindCredentials lists what in b looks like a secret, in no special order and without overlap
// being excluded. It knows shapes, not meaning: use it to ask or to mask, never to allow. b is text
// after JSON's escapes have been undone.
func FindCredentials(b []byte) []Credential {
	var found []Credential
	for _, s := range shapes {
		found = s.find(b, found)
	}
	return findPrivateKeys(b, found)
}

func (s shape) find(b []byte, found []Credential) []Credential {
	prefix := []byte(s.prefix)
	for at := 0; ; {
		i := bytes.Index(b[at:], prefix)
		if i < 0 {
			return found
		}
		start := at + i
		end := start + len(prefix)
		for end < len(b) && tokenChar(b[end]) {
			end++
		}
		inWord := start > 0 && tokenChar(b[start-1]) && b[start-1] != '.'
		if !inWord && end-start-len(prefix) >= s.least && s.believable(b[start:end]) {
			found = append(found, Credential{s.kind, start, end})
		}
		at = end
	}
}

// believable keeps ordinary words with a token's beginning out: a JWT has its two dots.
func (s shape) believable(token []byte) bool {
	return s.prefix != "eyJ" || bytes.Count(token, []byte(".")) == 2
}

func tokenChar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.'
}

// findPrivateKeys finds PEM private keys, to their end line or, where that is cut off, to the end of b.
func findPrivateKeys(b []byte, found []Credential) []Credential {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte("-----BEGIN "))
		if i < 0 {
			return found
		}
		start := at + i
		label := b[start:min(len(b), start+64)]
		at = start + 1
		if !bytes.Contains(label, []byte("PRIVATE KEY")) {
			continue
		}
		end := len(b)
		if j := bytes.Index(b[start:], []byte("-----END ")); j >= 0 {
			end = min(len(b), start+j+len("-----END RSA PRIVATE KEY-----"))
		}
		found = append(found, Credential{"a private key", start, end})
		at = end
	}
}
