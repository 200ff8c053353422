package approvals

import (
	"strings"

	"github.com/garita-dev/garita/sandbox"
)

// Credential is a stretch of text that looks like a secret.
type Credential = sandbox.Credential

// FindCredentials is sandbox.FindCredentials.
func FindCredentials(b []byte) []Credential { return sandbox.FindCredentials(b) }

// secretNames are names whose values are secrets, in lower case without separators.
var secretNames = map[string]bool{
	"password": true, "passwd": true, "passphrase": true, "secret": true, "clientsecret": true,
	"token": true, "accesstoken": true, "refreshtoken": true, "authtoken": true, "bearertoken": true,
	"apikey": true, "apitoken": true, "secretkey": true, "privatekey": true, "accesskey": true,
	"authorization": true, "credential": true, "credentials": true, "connectionstring": true,
	"sessioncookie": true, "setcookie": true, "cookie": true, "xapikey": true, "secretaccesskey": true,
	"githubtoken": true, "proxyauthorization": true,
}

// SecretName says whether a member of this name is taken to hold a secret: password, api_key,
// X-Api-Key, Authorization …
func SecretName(name string) bool {
	if len(name) > 40 {
		return false
	}
	plain := strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || r == ' ' || r == '.':
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, name)
	return secretNames[plain]
}
