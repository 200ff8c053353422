package classify

import (
	"path"
	"slices"
	"strings"
)

// Words of what is not for everybody.
var (
	secretWords = set(`secret secrets credential credentials password passwords passphrase keychain cookie cookies dsn dsns
		apikey apikeys env dotenv totp otp clipboard pasteboard`)
	mailWords     = set(`email emails mail mails inbox mailbox dm dms sms voicemail voicemails imessage`)
	personalWords = set(`message messages thread threads chat chats conversation conversations replies contacts contact history`)
	// people are words by which a text shows that its messages are people's and not a log's.
	people = set(`email emails e-mail mail gmail outlook inbox mailbox whatsapp telegram signal sms imessage imessages slack
		discord teams chat chats direct dm dms conversation conversations phone mattermost messenger`)
	// keyKinds are words before "key" or "token" that make it a credential.
	keyKinds = set(`api access anon private service secret auth ssh signing license encryption session refresh bearer oauth
		publishable deploy personal id jwt`)
	// aboutThem end names of tools that tell about such things without showing them.
	aboutThem = set(`label labels folder folders filter filters template templates settings count stats status domain
		domains address addresses type types account accounts`)
)

// sensitive says why a tool that reads shows what is not for everybody, in a clause; "" when it does not.
func sensitive(d Definition, words []string) string {
	last := words[max(0, len(words)-1):]
	if len(last) == 0 || aboutThem[last[0]] {
		return ""
	}
	for i, w := range words {
		switch {
		case secretWords[w] && w != "env", w == "env" && i+1 >= len(words)-1:
			return "it returns " + thing(w)
		case (w == "environment" || w == "env") && i+1 < len(words) && strings.HasPrefix(words[i+1], "var"):
			return "it returns environment variables"
		case i > 0 && keyKinds[words[i-1]] && slices.Contains([]string{"key", "keys", "token", "tokens"}, w):
			return "it returns keys or tokens"
		case i > 0 && w == "storage" && (words[i-1] == "session" || words[i-1] == "local"):
			return "it returns what pages keep, tokens among it"
		case i > 0 && strings.HasPrefix(words[i-1], "connection") && strings.HasPrefix(w, "string"):
			return "it returns the way into a database, password and all"
		}
	}
	switch {
	case len(words) == 2 && (last[0] == "token" || last[0] == "tokens") && !slices.Contains([]string{"count", "design"}, words[0]):
		return "it returns keys or tokens"
	case mailWords[last[0]]:
		return "it returns people's mail"
	case personalWords[last[0]] && ofPeople(d, words):
		return "it returns what people wrote to each other, or who they know"
	}
	return saysSensitive(d.Description)
}

func thing(w string) string {
	switch w {
	case "env", "dotenv":
		return "environment variables"
	case "clipboard", "pasteboard":
		return "what was copied last, which may be a password"
	case "cookie", "cookies":
		return "cookies, which are as good as passwords"
	}
	return "secrets"
}

// ofPeople says whether a tool's messages or contacts are people's.
func ofPeople(d Definition, words []string) bool {
	if slices.ContainsFunc(words, func(w string) bool { return people[w] }) || words[len(words)-1] == "contacts" {
		return true
	}
	if slices.Contains(words, "channel") && words[len(words)-1] == "history" {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(d.Description), notWord), func(w string) bool { return people[w] })
}

// saysSensitive looks at how a description begins.
func saysSensitive(description string) string {
	words := strings.FieldsFunc(strings.ToLower(description), notWord)
	words = words[:min(8, len(words))]
	for i, w := range words {
		switch {
		case (w == "environment" || w == "env") && i+1 < len(words) && strings.HasPrefix(words[i+1], "var"):
			return "it returns environment variables"
		case i > 0 && (w == "credentials" || w == "passwords" || w == "secrets"):
			return "it returns secrets"
		}
	}
	return ""
}

// keyFiles are names of files that hold credentials, and keyFolders of folders that do.
var (
	keyFiles = set(`.env .envrc .netrc _netrc .npmrc .pypirc .pgpass .git-credentials .htpasswd .my.cnf id_rsa id_dsa id_ecdsa
		id_ed25519 credentials credentials.json credentials.toml credentials.yaml secrets.json secrets.yaml secrets.yml secrets.toml
		.dockercfg kubeconfig shadow gshadow environ cookies.sqlite logins.json key4.db login_data hosts.yml
		application_default_credentials.json service-account.json service_account.json terraform.tfstate wallet.dat`)
	keyFolders = set(`.ssh .aws .gnupg .kube .azure .docker .password-store gcloud .secrets keyrings`)
	keyEndings = []string{".pem", ".key", ".p12", ".pfx", ".kdbx", ".keystore", ".jks", ".ppk", ".asc"}
)

// sensitiveArguments says why what a call reads is not for everybody whatever the tool: a file that
// usually holds credentials.
func sensitiveArguments(args []argument) string {
	for _, a := range args {
		for _, text := range a.texts() {
			if strings.ContainsAny(text, "/.\\_") && len(text) < 4096 && holdsKeys(text) {
				return "it reads " + limit(text, maxPart) + ", where credentials usually are"
			}
		}
	}
	return ""
}

// holdsKeys says whether a path leads to credentials.
func holdsKeys(p string) bool {
	p = strings.ToLower(path.Clean(strings.ReplaceAll(p, "\\", "/")))
	base := path.Base(p)
	if keyFiles[base] && (base[0] == '.' || base[0] == '_' || strings.Contains(p, "/") || strings.Contains(base, ".") || strings.HasPrefix(base, "id_")) {
		return true
	}
	if strings.HasPrefix(base, ".env.") && !strings.HasSuffix(base, "example") && !strings.HasSuffix(base, "sample") && !strings.HasSuffix(base, "template") {
		return true
	}
	if strings.Contains(p, "/") && slices.ContainsFunc(keyEndings, func(e string) bool { return strings.HasSuffix(base, e) }) {
		return true
	}
	return strings.Contains(p, "/") && slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return keyFolders[part] })
}
