package sandbox

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Endpoint is somewhere a sandbox may connect. Host is a lower-case DNS name without a final dot,
// "*." and such a name (its sub-domains, at any depth, and not the name itself), or an IP address.
// The zero Endpoint matches nothing.
type Endpoint struct {
	Host string `json:"host"`
	Port uint16 `json:"port"` // 1–65535
}

// DefaultPort is an Endpoint's where a rule names none.
const DefaultPort = 443

// String is the Endpoint as a rule names it, always with its port: "api.github.com:443".
func (e Endpoint) String() string {
	host := e.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(e.Port))
}

// Rule is String without the port where that is 0: each port, of Allowlist.Deny.
func (e Endpoint) Rule() string {
	if e.Port == 0 {
		return strings.TrimSuffix(e.String(), ":0")
	}
	return e.String()
}

// Address is the IP address that e names; ok is false for a name.
func (e Endpoint) Address() (ip netip.Addr, ok bool) {
	ip, err := netip.ParseAddr(e.Host)
	return ip, err == nil
}

// Wildcard is the name whose sub-domains e stands for; ok is false for one host.
func (e Endpoint) Wildcard() (base string, ok bool) { return strings.CutPrefix(e.Host, "*.") }

// Matches says whether e is exactly the host, or a wildcard over it, and the port. host is a name
// as Name makes it, or an address.
func (e Endpoint) Matches(host string, port uint16) bool {
	if e.Port == 0 || e.Port != port || host == "" {
		return false
	}
	base, wild := e.Wildcard()
	if !wild {
		return e.Host == host
	}
	sub, below := strings.CutSuffix(host, "."+base)
	return below && sub != "" && base != ""
}

// ParseEndpoint reads "host", "host:port", "*.name:port", "192.0.2.1:port" or "[2001:db8::1]:port".
// Names are ASCII; capitals and one final dot are read as if they were not there. Anything else,
// and so a scheme, a path, a blank or a lone "*", is InvalidArgument's business of the caller: the
// error says in a clause what is wrong.
func ParseEndpoint(text string) (Endpoint, error) {
	host, port, err := splitPort(text)
	if err != nil {
		return Endpoint{}, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" || ip.Is4In6() {
			return Endpoint{}, fmt.Errorf("%q: write the address plainly, without a zone or a mapping", text)
		}
		return Endpoint{ip.String(), port}, nil
	}
	base, wild := strings.CutPrefix(host, "*.")
	name, err := Name(base)
	switch {
	case err != nil:
		return Endpoint{}, fmt.Errorf("%q: %w", text, err)
	case wild && !strings.Contains(name, "."):
		return Endpoint{}, fmt.Errorf("%q: a wildcard over everything below %q would be no rule", text, name)
	case wild:
		name = "*." + name
	}
	return Endpoint{name, port}, nil
}

func splitPort(text string) (host string, port uint16, err error) {
	switch {
	case text == "":
		return "", 0, errors.New("an empty rule")
	case strings.Contains(text, "://"):
		return "", 0, fmt.Errorf("%q: a host and a port are wanted, not an address of the web", text)
	case strings.ContainsAny(text, "/?#@ \t\r\n\x00"):
		return "", 0, fmt.Errorf("%q: only host:port is wanted", text)
	}
	if rest, bracketed := strings.CutPrefix(text, "["); bracketed {
		host, rest, ok := strings.Cut(rest, "]")
		if !ok || !strings.Contains(host, ":") {
			return "", 0, fmt.Errorf("%q: brackets are for IPv6 addresses", text)
		}
		if rest == "" {
			return host, DefaultPort, nil
		}
		number, ok := strings.CutPrefix(rest, ":")
		if !ok {
			return "", 0, fmt.Errorf("%q: only a port may follow the bracket", text)
		}
		port, err = parsePort(number)
		return host, port, err
	}
	host, number, named := strings.Cut(text, ":")
	switch {
	case strings.Contains(number, ":"):
		return "", 0, fmt.Errorf("%q: write an IPv6 address in brackets", text)
	case !named:
		return host, DefaultPort, nil
	}
	port, err = parsePort(number)
	return host, port, err
}

func parsePort(number string) (uint16, error) {
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 || number[0] == '0' {
		return 0, fmt.Errorf("port %q: want 1 to 65535", number)
	}
	return uint16(n), nil
}

// maxName is how long a DNS name may be, in bytes (RFC 1035, 2.3.4).
const maxName = 253

// Name is text as a DNS name: lower case, without a final dot, labels of letters, digits, "-" and
// "_". What could be read as an address by somebody, as "127.1" or "0x7f.1" can, is no name.
func Name(text string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	if name == "" || len(name) > maxName {
		return "", fmt.Errorf("a name has 1 to %d characters", maxName)
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if why := badLabel(label); why != "" {
			return "", errors.New(why)
		}
	}
	if last := labels[len(labels)-1]; numeric(last) {
		return "", fmt.Errorf("%q could be read as an address", name)
	}
	return name, nil
}

func badLabel(label string) string {
	switch {
	case label == "":
		return "a name with an empty part"
	case len(label) > 63:
		return "a name with a part of more than 63 characters"
	case label == "*" || strings.Contains(label, "*"):
		return `"*" stands at the beginning only, before a dot and a name`
	case label[0] == '-' || label[len(label)-1] == '-':
		return `a part of a name that begins or ends with "-"`
	}
	for _, c := range []byte(label) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return "a character that no name has"
		}
	}
	return ""
}

// numeric tells what programs take for the last part of an IPv4 address.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
