package clientconfig

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/assets"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// Secret is one that an entry holds, or refers to, and that is kept by Garita once it is imported.
type Secret struct {
	Name     string // what it is called here
	Variable string
	Value    store.SecretValue // zero where the entry only refers to it: a person has to give it
	Usual    string            // what it would be called if that name were free
}

// usual is what is known of the secrets in some variables.
type usual struct {
	Profile   string   `json:"profile"`
	Variables []string `json:"variables"`
	Prefixes  []string `json:"prefixes"`
	Hosts     []string `json:"hosts"`
	Headers   []string `json:"headers"`
	Query     []string `json:"query"`
	Body      []string `json:"body"`
	Unless    []string `json:"unless"`
}

// usuals are assets.Secrets.
var usuals = sync.OnceValues(func() (all []usual, err error) {
	err = json.Unmarshal(assets.Secrets, &all, json.RejectUnknownMembers(true))
	return all, err
})

// usually is what is known of a variable of e; ok is false where that is nothing.
func (e *entry) usually(name string) (usual, bool) {
	return usually(name, func(v string) bool { return slices.ContainsFunc(e.env, func(o variable) bool { return o.name == v }) })
}

// usually is what is known of a variable beside those that are set; ok is false where that is nothing.
func usually(name string, set func(variable string) bool) (usual, bool) {
	all, err := usuals()
	if err != nil { // a test reads them
		return usual{}, false
	}
	i := slices.IndexFunc(all, func(u usual) bool { return slices.Contains(u.Variables, name) })
	if i < 0 || slices.ContainsFunc(all[i].Unless, set) {
		return usual{}, false
	}
	return all[i], true
}

// grant is leave to use a secret as it is known to be used, or, where nothing is known, to hold it.
func (e *entry) grant(secret, name string) sandbox.SecretGrant {
	u, known := e.usually(name)
	if !known {
		return sandbox.SecretGrant{Secret: secret, Mode: sandbox.SecretEnv, Env: name}
	}
	return u.grant(secret, name)
}

// grant is leave to use a secret as it usually is.
func (u usual) grant(secret, variable string) sandbox.SecretGrant {
	g := sandbox.SecretGrant{Secret: secret, Mode: sandbox.SecretPlaceholder, Env: variable}
	for _, host := range u.Hosts {
		g.Hosts = append(g.Hosts, sandbox.Endpoint{Host: host, Port: sandbox.DefaultPort})
	}
	if len(u.Headers)+len(u.Query)+len(u.Body) == 0 {
		u.Headers = []string{"Authorization"}
	}
	for _, in := range []struct {
		kind  sandbox.PlaceKind
		names []string
	}{{sandbox.InHeader, u.Headers}, {sandbox.InQuery, u.Query}, {sandbox.InBody, u.Body}} {
		for _, name := range in.names {
			g.Places = append(g.Places, sandbox.SecretPlace{In: in.kind, Name: name})
		}
	}
	return g
}

var notInNames = regexp.MustCompile(`[^a-z0-9.-]+`)

// secretNameFor is what the secret in a server's variable is called: "github-token".
func secretNameFor(server sandbox.ServerName, variable string) string {
	plain := func(s string) string { return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(s), "-"), "-.") }
	name, of := cmp.Or(plain(variable), "secret"), plain(string(server))
	if of != "" && name != of && !strings.HasPrefix(name, of+"-") {
		name = of + "-" + name
	}
	if len(name) > 64 {
		name = strings.Trim(name[:57], "-.") + "-" + short(name)[:6]
	}
	return name
}

// grantOf is leave to use what is in a variable: the leave that its server has already, or leave for a new
// secret. That is never one that is there: a settings file would else reach for another server's secret by
// its name, or replace it.
func (d *draft) grantOf(server sandbox.ServerName, variable string) sandbox.SecretGrant {
	if g, ok := d.hasAlready(variable); ok {
		return g
	}
	return d.e.grant(d.free(secretNameFor(server, variable)), variable)
}

// hasAlready is what the server is declared with for what is found there.
func (d *draft) hasAlready(where string) (sandbox.SecretGrant, bool) {
	i := slices.IndexFunc(d.j.declared, func(g sandbox.SecretGrant) bool { return g.Where() == where })
	if i < 0 {
		return sandbox.SecretGrant{}, false
	}
	return d.j.declared[i], true
}

// free is a name that no other secret has.
func (d *draft) free(first string) string {
	name := first
	for n := 2; d.taken(name); n++ {
		suffix := fmt.Sprintf("-%d", n)
		name = first[:min(len(first), 64-len(suffix))] + suffix
	}
	return name
}

func (d *draft) taken(name string) bool {
	return d.j.taken[name] || slices.ContainsFunc(d.moved, func(s Secret) bool { return s.Name == name })
}

// move takes the secrets out of the variables. A reference without a value becomes one that is missing,
// where it is one.
func (d *draft) move(name sandbox.ServerName) string {
	left := d.e.env[:0:0]
	for _, v := range d.e.env {
		if !d.j.movable(v) {
			left = append(left, v)
			continue
		}
		g := d.grantOf(name, v.name)
		s := Secret{Name: g.Secret, Variable: v.name, Usual: secretNameFor(name, v.name)}
		if value, missing := d.j.scope.expand(v.value); len(missing) == 0 {
			s.Value = store.NewSecretValue([]byte(value))
		}
		d.moved = append(d.moved, s)
		d.granted = append(d.granted, g)
	}
	d.e.env = left
	return d.declarable()
}

// declarable says why the grants could not be declared.
func (d *draft) declarable() string {
	slices.SortFunc(d.granted, func(a, b sandbox.SecretGrant) int { return cmp.Compare(a.Secret, b.Secret) })
	if err := checkGrants(sandbox.Server{Source: sandbox.Source{URL: d.url, Headers: d.headers}, Spec: sandbox.Spec{Secrets: d.granted}}); err != nil {
		return fmt.Sprintf("its secrets cannot be declared: %v", err)
	}
	return ""
}

// movable says whether a variable is, or is to be, a secret that can be kept.
func (j judge) movable(v variable) bool {
	if steers(v.name) || !variableName.MatchString(v.name) || strings.ContainsRune(v.value, 0) {
		return false
	}
	value, missing := j.scope.expand(v.value)
	if len(missing) > 0 {
		return secretName(v.name) || strings.Contains(v.value, "${input:")
	}
	return !harmless.MatchString(value) && (v.fromFile && !plainText(value) || secretName(v.name) || secretValue(value))
}

// saySecrets tells what becomes of the secrets of an entry that is not declared yet.
func (e *Entry) saySecrets() {
	warn := func(format string, args ...any) { e.Warnings = append(e.Warnings, fmt.Sprintf(format, args...)) }
	for _, s := range e.Secrets {
		if s.Value.IsZero() {
			warn("%s refers to a secret that is not here; it is not started before: garita secret set %s", s.Variable, s.Name)
		} else {
			warn("the value of %s becomes the secret %s, sealed; the client's own file holds it until its entry is repointed, and so does the backup until you delete it", s.Variable, s.Name)
		}
		if usual := s.Usual; usual != "" && usual != s.Name {
			warn("the name %s is taken by another secret, which stays as it is and is not given to this server", usual)
		}
		if slices.ContainsFunc(e.Server.Spec.Secrets, func(g sandbox.SecretGrant) bool { return g.Secret == s.Name && g.Weaker() }) {
			warn("the server holds the value of %s itself, which is weaker, for nothing is known of where it is sent; to narrow it: garita secret grant %s %s --env %s --host HOST", s.Name, s.Name, e.Server.Name, s.Variable)
		}
	}
}

// grantWords says what of secrets, and so of hosts, the server gets.
func (d *draft) grantWords() []string {
	var words []string
	for _, g := range d.granted {
		if g.Mode == sandbox.SecretSent {
			words = append(words, fmt.Sprintf("the secret %s, sent to %s by Garita, in the %s", g.Secret, g.Hosts[0], g.Where()))
			continue
		}
		if g.Weaker() {
			words = append(words, fmt.Sprintf("the secret %s itself, in %s", g.Secret, g.Env))
			continue
		}
		var hosts []string
		for _, e := range g.Hosts {
			hosts = append(hosts, e.Host)
		}
		words = append(words, fmt.Sprintf("the secret %s toward %s, and nowhere else", g.Secret, strings.Join(hosts, ", ")))
	}
	return words
}

// Skip leaves an entry as it is after all, and says why.
func (p *Plan) Skip(name, why string) {
	for i := range p.Entries {
		if p.Entries[i].Name == name {
			p.Entries[i] = Entry{Name: name, Line: p.Entries[i].Line, Command: p.Entries[i].Command, Warnings: p.Entries[i].Warnings, Skipped: why}
		}
	}
}

// keep leaves the declaration of an entry's server as it is: nothing is moved. It says what that lacks.
func (e *Entry) keep(declared sandbox.Server) {
	e.Server, e.Kept = declared, true
	for _, s := range e.Secrets {
		if !slices.ContainsFunc(declared.Spec.Secrets, func(g sandbox.SecretGrant) bool { return g.Where() == s.Variable }) {
			e.Warnings = append(e.Warnings, fmt.Sprintf("its secret %s is not taken over, for the server is declared without it: garita secret set %s, then garita secret grant %s %s", s.Variable, s.Name, s.Name, declared.Name))
		}
	}
	e.Secrets = nil
	e.Warnings = append(e.Warnings, fmt.Sprintf("a server %s with this command is declared already and stays as it is", declared.Name))
}

// checkGrants says why the grants of an import could not be declared; nil when they can.
func checkGrants(server sandbox.Server) error {
	for _, g := range server.Spec.Secrets {
		if _, err := config.CheckSecret(g, server); err != nil {
			return err
		}
	}
	return nil
}
