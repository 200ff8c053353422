package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/garita-dev/garita/sandbox"
)

// declaredNetwork is what a server may reach. Missing, null and empty all mean nothing, and that it is
// asked about.
type declaredNetwork struct {
	Word      string   `yaml:"-"`                   // "none" in place of all this: not even the wall
	Deny      []string `yaml:"deny,omitempty"`      // never, at each port where none is named
	Allow     []string `yaml:"allow,omitempty"`     // "host", "host:port", "*.name", "public-web"
	LAN       []string `yaml:"lan,omitempty"`       // the same, for hosts with private addresses
	Host      []int    `yaml:"host,omitempty"`      // ports of services on this machine's loopback
	Localhost bool     `yaml:"localhost,omitempty"` // those are at localhost inside, too
	Ask       *bool    `yaml:"ask,omitempty"`       // nil asks
	Uploads   string   `yaml:"uploads,omitempty"`   // how much may be sent to a public host unasked; "" is 1MiB, "none" any amount

	SSH []declaredSSH `yaml:"ssh,omitempty"` // by which keys hosts are known that are reached by SSH
}

// noUploadLimit lets a server send any amount.
const noUploadLimit = "none"

// uploadLimit reads how much may be sent unasked; "" is what it is without being said.
func uploadLimit(text string) (int64, error) {
	switch text {
	case "":
		return 0, nil
	case noUploadLimit:
		return sandbox.NoLimit, nil
	}
	n, err := parseSize(text)
	if err != nil {
		return 0, fmt.Errorf("network: uploads: want a size or none: %w", err)
	}
	return n, nil
}

// noNetwork is what stands for a network that is not there.
const noNetwork = "none"

// UnmarshalYAML reads the word none, or what is reached.
func (d *declaredNetwork) UnmarshalYAML(unmarshal func(any) error) error {
	var word string
	if err := unmarshal(&word); err == nil && word != "" {
		*d = declaredNetwork{Word: word}
		return nil
	}
	type plain declaredNetwork
	return unmarshal((*plain)(d))
}

// publicWeb is any public host at the ports of the web.
const publicWeb = "public-web"

// maxRules bounds one server's list.
const maxRules = 1000

func (d *declaredNetwork) lower() (l sandbox.Allowlist, err error) {
	switch {
	case d == nil:
		return sandbox.Unsaid(), nil
	case d.Word == noNetwork:
		return l, nil
	case d.Word != "":
		return l, fmt.Errorf("network: want none, or what the server may reach: {allow: [HOST]}")
	case len(d.Allow)+len(d.LAN)+len(d.Host)+len(d.Deny) > maxRules:
		return l, fmt.Errorf("network: more than %d rules", maxRules)
	}
	rules := slices.DeleteFunc(slices.Clone(d.Allow), func(r string) bool { return r == publicWeb })
	l.PublicWeb = len(rules) < len(d.Allow)
	if l.Endpoints, err = endpoints("allow", rules, checkPublic); err != nil {
		return sandbox.Allowlist{}, err
	}
	if l.LAN, err = endpoints("lan", d.LAN, checkLAN); err != nil {
		return sandbox.Allowlist{}, err
	}
	if l.HostPorts, err = hostPorts(d.Host); err != nil {
		return sandbox.Allowlist{}, err
	}
	if err = lowerSSH(d.SSH, &l); err != nil {
		return sandbox.Allowlist{}, err
	}
	if l.Localhost = d.Localhost; l.Localhost && len(l.HostPorts) == 0 {
		return sandbox.Allowlist{}, fmt.Errorf("network: localhost is for the ports of host, and none is listed")
	}
	if l.UploadLimit, err = uploadLimit(d.Uploads); err != nil {
		return sandbox.Allowlist{}, err
	}
	if l.Deny, err = denials(d.Deny); err != nil {
		return sandbox.Allowlist{}, err
	}
	l.Ask = d.Ask == nil || *d.Ask
	l.Walled = l.Empty()
	return l, nil
}

// network is what the server may reach from within its walls; one elsewhere has none.
func (d *declared) network() (l sandbox.Allowlist, err error) {
	if d.URL != "" {
		return l, nil
	}
	if d.Network != nil && d.Network.Word != "" && slices.ContainsFunc(d.Secrets, declaredSecret.byTheWall) {
		return l, fmt.Errorf("network: none, and a secret is to be sent to hosts; take one of them out")
	}
	return d.Network.lower()
}

// byTheWall says that the secret is put into requests.
func (s declaredSecret) byTheWall() bool {
	return s.Mode == "" || s.Mode == string(sandbox.SecretPlaceholder)
}

// denials reads what is never reached.
func denials(rules []string) (out []sandbox.Endpoint, err error) {
	for _, rule := range rules {
		e, err := ParseDenial(rule)
		if err != nil {
			return nil, fmt.Errorf("network: deny: %w", err)
		}
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out, nil
}

// ParseDenial reads a host that is never reached as a person writes it: at each port where none is named,
// which the Endpoint has as port 0. A wildcard may be as wide as its author likes.
func ParseDenial(rule string) (sandbox.Endpoint, error) {
	text, err := ascii(rule)
	if err != nil {
		return sandbox.Endpoint{}, err
	}
	e, err := sandbox.ParseEndpoint(text)
	named := strings.HasSuffix(text, fmt.Sprintf(":%d", e.Port)) && (strings.Count(text, ":") == 1 || strings.HasPrefix(text, "["))
	if err == nil && !named {
		e.Port = 0
	}
	return e, err
}

func endpoints(key string, rules []string, check func(sandbox.Endpoint) error) ([]sandbox.Endpoint, error) {
	var out []sandbox.Endpoint
	for _, rule := range rules {
		e, err := ParseRule(rule)
		if err == nil {
			err = check(e)
		}
		if err != nil {
			return nil, fmt.Errorf("network: %s: %w", key, err)
		}
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out, nil
}

// ParseRule reads one host and port as a person writes it: names in other scripts become what DNS
// calls them, and a wildcard over what anybody can register names below is refused.
func ParseRule(rule string) (sandbox.Endpoint, error) {
	text, err := ascii(rule)
	if err != nil {
		return sandbox.Endpoint{}, err
	}
	e, err := sandbox.ParseEndpoint(text)
	if err != nil {
		return e, err
	}
	if base, wild := e.Wildcard(); wild {
		if suffix, _ := publicsuffix.PublicSuffix(base); suffix == base {
			return e, fmt.Errorf("%q: anybody can have a name below %s; name the hosts", rule, base)
		}
	}
	return e, nil
}

// ascii turns a name in another script into the form that DNS has it in.
func ascii(rule string) (string, error) {
	if strings.IndexFunc(rule, func(r rune) bool { return r >= 0x80 }) < 0 {
		return rule, nil
	}
	wild, rest := "", rule
	if below, ok := strings.CutPrefix(rule, "*."); ok {
		wild, rest = "*.", below
	}
	host, port, named := strings.Cut(rest, ":")
	name, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return "", fmt.Errorf("%q: no name of DNS", rule)
	}
	if named {
		port = ":" + port
	}
	return wild + name + port, nil
}

// checkPublic refuses what can have no public address.
func checkPublic(e sandbox.Endpoint) error {
	ip, literal := e.Address()
	switch {
	case e.Host == sandbox.HostName || slices.Contains(sandbox.HostAliases, e.Host):
		return fmt.Errorf("%q: list the port under host, and it is reached by that name", e)
	case e.Host == "localhost" || strings.HasSuffix(e.Host, ".localhost"):
		return fmt.Errorf("%q: inside, that is the sandbox itself; list the port of a service of this machine under host", e)
	case literal && (ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast()):
		return fmt.Errorf("%q: that address is never reached; list the port of a service of this machine under host", e)
	case literal && ip.IsPrivate(), !literal && !strings.Contains(e.Host, "."):
		return fmt.Errorf("%q: list a host of a private network under lan", e)
	}
	return nil
}

func checkLAN(e sandbox.Endpoint) error {
	if ip, literal := e.Address(); literal && ip.IsPrivate() {
		return nil
	}
	if !strings.Contains(e.Host, ".") && e.Host != "localhost" {
		return nil
	}
	return checkPublic(e)
}

// hostPorts are services of this machine. Printing and the screen are never granted: whoever talks to
// them acts as the person.
func hostPorts(ports []int) ([]uint16, error) {
	var out []uint16
	for _, p := range ports {
		switch {
		case p < 1 || p > 65535:
			return nil, fmt.Errorf("network: host: port %d: want 1 to 65535", p)
		case p == 631 || p >= 6000 && p <= 6063:
			return nil, fmt.Errorf("network: host: port %d is the printers' or the screen's, and is not granted", p)
		}
		if !slices.Contains(out, uint16(p)) {
			out = append(out, uint16(p))
		}
	}
	return out, nil
}

// declareNetwork writes an Allowlist as a person would.
func declareNetwork(l sandbox.Allowlist) *declaredNetwork {
	if l.Empty() {
		return &declaredNetwork{Word: noNetwork}
	}
	d := &declaredNetwork{Allow: ruleTexts(l.Endpoints), LAN: ruleTexts(l.LAN), Localhost: l.Localhost, Deny: ruleTexts(l.Deny), SSH: declareSSH(l.SSH)}
	if l.PublicWeb {
		d.Allow = append(d.Allow, publicWeb)
	}
	switch {
	case l.UploadLimit > 0:
		d.Uploads = formatSize(l.UploadLimit)
	case l.UploadLimit < 0:
		d.Uploads = noUploadLimit
	}
	for _, p := range l.HostPorts {
		d.Host = append(d.Host, int(p))
	}
	if !l.Ask {
		d.Ask = new(bool)
	}
	if reflect.DeepEqual(*d, declaredNetwork{}) { // it is what it would be anyway
		return nil
	}
	return d
}

func ruleTexts(list []sandbox.Endpoint) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Rule())
	}
	return out
}
