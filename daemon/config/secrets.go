package config

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

// declaredSecret is leave to use one secret, as written. Its value is never here.
type declaredSecret struct {
	Name   string   `yaml:"name"`
	Env    string   `yaml:"env,omitempty"`
	File   string   `yaml:"file,omitempty"`
	Arg    string   `yaml:"arg,omitempty"`  // the flag behind which the sentinel stands
	Mode   string   `yaml:"mode,omitempty"` // placeholder where none is given
	Header names    `yaml:"header,omitempty"`
	Query  names    `yaml:"query,omitempty"`
	Body   names    `yaml:"body,omitempty"`
	Scheme string   `yaml:"scheme,omitempty"` // of a server at a url: before the value in Authorization; Bearer where none is given
	Hosts  []string `yaml:"hosts,omitempty"`
	Tools  []string `yaml:"tools,omitempty"`
	Until  string   `yaml:"until,omitempty"` // a time of RFC 3339, or a day that it lasts through, UTC
	Ask    bool     `yaml:"ask,omitempty"`
}

// names is one name or a list of them.
type names []string

// UnmarshalYAML reads either.
func (n *names) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if err := unmarshal(&one); err == nil {
		*n = names{one}
		return nil
	}
	var list []string
	err := unmarshal(&list)
	*n = list
	return err
}

const (
	maxSecrets = 100 // of one server
	maxPlaces  = 20  // of one secret
)

// secrets reads the grants, sorted by name. spec is as far as it is read: its variables and hosts.
func (d *declared) secrets(source sandbox.Source, spec sandbox.Spec) ([]sandbox.SecretGrant, error) {
	if len(d.Secrets) > maxSecrets {
		return nil, fmt.Errorf("secrets: more than %d", maxSecrets)
	}
	var out []sandbox.SecretGrant
	for _, one := range d.Secrets {
		g, err := one.of(source, spec.Network)
		if err != nil {
			return nil, fmt.Errorf("secrets: %s: %w", cmp.Or(one.Name, "one without a name"), err)
		}
		if err := checkBeside(g, out, spec.Env, source.Headers); err != nil {
			return nil, fmt.Errorf("secrets: %s: %w", g.Secret, err)
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b sandbox.SecretGrant) int { return cmp.Compare(a.Secret, b.Secret) })
	return out, nil
}

// checkBeside refuses what two would have to share.
func checkBeside(g sandbox.SecretGrant, others []sandbox.SecretGrant, env, headers map[string]string) error {
	if _, taken := env[g.Env]; taken && g.Env != "" {
		return fmt.Errorf("env already sets %s; take it out there", g.Env)
	}
	for _, p := range g.Places {
		if _, taken := headers[p.Name]; taken && p.In == sandbox.InHeader {
			return fmt.Errorf("headers already sets %s; take it out there", p.Name)
		}
	}
	for _, o := range others {
		switch {
		case o.Secret == g.Secret:
			return fmt.Errorf("it is granted twice")
		case g.Mode == sandbox.SecretSent && samePlace(o.Places, g.Places) != "":
			return fmt.Errorf("%s is put into the %s already", o.Secret, samePlace(o.Places, g.Places))
		case g.Env != "" && o.Env == g.Env, g.File != "" && (o.File == g.File || below(o.File, g.File) || below(g.File, o.File)),
			g.Arg != "" && strings.TrimSuffix(o.Arg, "=") == strings.TrimSuffix(g.Arg, "="):
			return fmt.Errorf("%s is at %s already", o.Secret, g.Where())
		}
	}
	return nil
}

// samePlace is a place that both have, "" when there is none.
func samePlace(a, b []sandbox.SecretPlace) string {
	for _, p := range a {
		if slices.Contains(b, p) {
			return string(p.In) + " " + p.Name
		}
	}
	return ""
}

func below(file, dir string) bool { return strings.HasPrefix(file, dir+"/") && dir != "" }

// of reads a grant to a server of that source.
func (s declaredSecret) of(source sandbox.Source, network sandbox.Allowlist) (sandbox.SecretGrant, error) {
	if source.External() {
		return s.sent(source.URL)
	}
	if s.Scheme != "" {
		return sandbox.SecretGrant{}, fmt.Errorf("scheme is for a server at a url; others write what stands before the value themselves")
	}
	return s.lower(network)
}

func (s declaredSecret) lower(network sandbox.Allowlist) (g sandbox.SecretGrant, err error) {
	if g.Secret, err = sandbox.ParseSecretName(s.Name); err != nil {
		return g, err
	}
	if g.Mode, err = parseSecretMode(s.Mode); err != nil {
		return g, err
	}
	if s.Arg != "" {
		g.Arg, err = s.Arg, s.checkArg(g.Mode)
	} else {
		g.Env, g.File, err = s.where(g.Mode)
	}
	if err != nil {
		return g, err
	}
	if g.Until, err = parseUntil(s.Until); err != nil {
		return g, err
	}
	if g.Weaker() {
		return g, s.refuseHeld(g.Mode)
	}
	g.Ask = s.Ask
	if g.Places, err = s.places(); err != nil {
		return g, err
	}
	if g.Hosts, err = secretHosts(s.Hosts, network); err != nil {
		return g, err
	}
	tools, err := declaredTools{Allow: s.Tools}.lower()
	g.Tools = tools.Allow
	return g, err
}

func parseSecretMode(s string) (sandbox.SecretMode, error) {
	switch m := sandbox.SecretMode(s); m { //nolint:exhaustive // SecretSent is not for servers that have a sandbox
	case "":
		return sandbox.SecretPlaceholder, nil
	case sandbox.SecretPlaceholder, sandbox.SecretEnv, sandbox.SecretFile:
		return m, nil
	}
	return "", fmt.Errorf("mode %q: want placeholder, env or file", s)
}

// refuseHeld refuses bounds on what a server holds itself, where nobody could hold it to them.
func (s declaredSecret) refuseHeld(mode sandbox.SecretMode) error {
	for _, bound := range []struct {
		key string
		set bool
	}{
		{"header", len(s.Header) > 0},
		{"query", len(s.Query) > 0},
		{"body", len(s.Body) > 0},
		{"hosts", len(s.Hosts) > 0},
		{"tools", len(s.Tools) > 0},
		{"ask", s.Ask},
	} {
		if bound.set {
			return fmt.Errorf("%s goes with mode placeholder: with mode %s the server holds the value itself, and sends it where it likes", bound.key, mode)
		}
	}
	return nil
}

// where is the variable or the file in which the server finds it.
func (s declaredSecret) where(mode sandbox.SecretMode) (env, file string, err error) {
	switch {
	case (s.Env == "") == (s.File == ""):
		return "", "", fmt.Errorf("want exactly one of env, file and arg, in which the server finds it")
	case mode == sandbox.SecretEnv && s.Env == "", mode == sandbox.SecretFile && s.File == "":
		return "", "", fmt.Errorf("mode %s goes with %s", mode, mode)
	case s.Env != "":
		return s.Env, "", checkSecretVariable(s.Env)
	}
	file = path.Clean(s.File)
	if !below(file, sandbox.SecretsDir) || !plainPath.MatchString(file) || len(file) > maxSecretPath {
		return "", "", fmt.Errorf("file: want a path below %s, such as %s/token", sandbox.SecretsDir, sandbox.SecretsDir)
	}
	return "", file, nil
}

var flagName = regexp.MustCompile(`^--?[A-Za-z][A-Za-z0-9_-]{0,63}=?$`)

// checkArg refuses a value among arguments, where every program can read it.
func (s declaredSecret) checkArg(mode sandbox.SecretMode) error {
	switch {
	case s.Env+s.File != "":
		return fmt.Errorf("want exactly one of env, file and arg, in which the server finds it")
	case mode != sandbox.SecretPlaceholder:
		return fmt.Errorf("arg goes with a placeholder only: no value is an argument, which other programs can read")
	case !flagName.MatchString(s.Arg):
		return fmt.Errorf("arg: want a flag, such as --api-key, or --api-key= where both are one word")
	}
	return nil
}

// maxSecretPath bounds the path of a secret's file, in bytes.
const maxSecretPath = 255

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

func checkSecretVariable(name string) error {
	switch {
	case !variableName.MatchString(name):
		return fmt.Errorf("env: %q is not a variable's name", name)
	case Steers(name):
		return fmt.Errorf("env: %s changes what is run or whom it trusts; no secret belongs there", name)
	}
	return nil
}

// places are where a placeholder's value may be put; with none it is the header Authorization.
func (s declaredSecret) places() (out []sandbox.SecretPlace, err error) {
	add := func(in sandbox.PlaceKind, names names) {
		for _, name := range names {
			p := sandbox.SecretPlace{In: in, Name: name}
			if in == sandbox.InHeader {
				p.Name = http.CanonicalHeaderKey(name)
			}
			if why := badPlace(p); why != "" && err == nil {
				err = fmt.Errorf("%s: %q %s", in, name, why)
			}
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	add(sandbox.InHeader, s.Header)
	add(sandbox.InQuery, s.Query)
	add(sandbox.InBody, s.Body)
	if len(out) > maxPlaces && err == nil {
		err = fmt.Errorf("more than %d places", maxPlaces)
	}
	if len(out) == 0 {
		out = []sandbox.SecretPlace{usualPlace}
	}
	return out, err
}

// usualPlace is where most secrets are sent.
var usualPlace = sandbox.SecretPlace{In: sandbox.InHeader, Name: "Authorization"}

// frameHeaders say how a message travels and is to be read, or are a proxy's: the wall puts nothing there.
var frameHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Range", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func badPlace(p sandbox.SecretPlace) string {
	switch {
	case p.In == sandbox.InHeader && !headerName.MatchString(p.Name):
		return "is not a header's name"
	case p.In == sandbox.InHeader && slices.Contains(frameHeaders, p.Name):
		return "says how a request is to be read, and carries no secret"
	case p.Name == "" || len(p.Name) > maxSecretPath || strings.ContainsFunc(p.Name, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return "is not a name"
	}
	return ""
}

// secretHosts are read as network.allow is. A secret is sent to names only, whose certificate says
// that they are it; without TLS only to this machine and to private networks, where both are listed.
func secretHosts(rules []string, network sandbox.Allowlist) ([]sandbox.Endpoint, error) {
	if len(rules) == 0 {
		return nil, fmt.Errorf("hosts: want at least one, to which the value may be sent")
	}
	if len(rules) > maxSecrets {
		return nil, fmt.Errorf("hosts: more than %d", maxSecrets)
	}
	var out []sandbox.Endpoint
	for _, rule := range rules {
		e, err := ParseRule(rule)
		if err == nil {
			err = checkSecretHost(e, network)
		}
		if err != nil {
			return nil, fmt.Errorf("hosts: %w", err)
		}
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out, nil
}

func checkSecretHost(e sandbox.Endpoint, network sandbox.Allowlist) error {
	_, literal := e.Address()
	switch {
	case literal:
		return fmt.Errorf("%q: secrets are sent to names", e)
	case e.Host == sandbox.HostName && slices.Contains(network.HostPorts, e.Port), slices.Contains(network.LAN, e):
		return nil
	case e.Host == sandbox.HostName:
		return fmt.Errorf("%q: list the port under network.host first", e)
	case e.Port == 80:
		return fmt.Errorf("%q: secrets are sent over TLS", e)
	}
	return checkPublic(e)
}

// parseUntil reads a time, or a day to its end; "" is no end.
func parseUntil(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC().Truncate(time.Second), nil
	}
	day, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("until %q: want a day or a time, such as 2027-01-31 or 2027-01-31T18:00:00Z", s)
	}
	return day.AddDate(0, 0, 1), nil
}

// declareSecrets writes grants as a person would.
func declareSecrets(grants []sandbox.SecretGrant) []declaredSecret {
	var out []declaredSecret
	for _, g := range grants {
		d := declaredSecret{Name: g.Secret, Env: g.Env, File: g.File, Arg: g.Arg, Hosts: ruleTexts(g.Hosts), Ask: g.Ask}
		switch g.Mode {
		case sandbox.SecretPlaceholder:
		case sandbox.SecretSent:
			d.Hosts, d.Scheme = nil, declareScheme(g)
		default:
			d.Mode = string(g.Mode)
		}
		if len(g.Tools) > 0 {
			d.Tools = slices.Clone(g.Tools)
		}
		if !g.Until.IsZero() {
			d.Until = g.Until.UTC().Format(time.RFC3339)
		}
		if !slices.Equal(g.Places, []sandbox.SecretPlace{usualPlace}) {
			d.put(g.Places)
		}
		out = append(out, d)
	}
	return out
}

func (s *declaredSecret) put(places []sandbox.SecretPlace) {
	for _, p := range places {
		switch p.In {
		case sandbox.InHeader:
			s.Header = append(s.Header, p.Name)
		case sandbox.InQuery:
			s.Query = append(s.Query, p.Name)
		case sandbox.InBody:
			s.Body = append(s.Body, p.Name)
		}
	}
}

// secrets writes them, a block each.
func (w *writer) secrets(all []declaredSecret) {
	if len(all) == 0 {
		return
	}
	w.add("secrets:")
	for _, s := range all {
		w.add("  - name: %s", scalar(s.Name))
		inner := writer{indent: w.indent + "    "}
		inner.text("env", s.Env)
		inner.text("file", s.File)
		inner.text("arg", s.Arg)
		inner.text("mode", s.Mode)
		inner.names("header", s.Header)
		inner.names("query", s.Query)
		inner.names("body", s.Body)
		inner.text("scheme", s.Scheme)
		inner.list("hosts", s.Hosts)
		inner.list("tools", s.Tools)
		inner.text("until", s.Until)
		if s.Ask {
			inner.add("ask: true")
		}
		w.lines = append(w.lines, inner.lines...)
	}
}

func (w *writer) names(key string, all names) {
	if len(all) == 1 {
		w.add("%s: %s", key, scalar(all[0]))
		return
	}
	w.list(key, all)
}

// CheckSecret says whether g, however it came, could be declared for server; the error says in a clause what
// is wrong. It returns g as reading it back does.
func CheckSecret(g sandbox.SecretGrant, server sandbox.Server) (sandbox.SecretGrant, error) {
	written := declareSecrets([]sandbox.SecretGrant{g})[0]
	got, err := written.of(server.Source, server.Spec.Network)
	if err != nil {
		return g, err
	}
	others := slices.DeleteFunc(slices.Clone(server.Spec.Secrets), func(o sandbox.SecretGrant) bool { return o.Secret == g.Secret })
	return got, checkBeside(got, others, server.Spec.Env, server.Source.Headers)
}
