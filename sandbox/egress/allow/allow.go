// Package allow decides what a sandbox may reach. It is pure: it looks nothing up and reaches
// nothing, so everything the wall lets pass can be read, and tried, here.
package allow

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/garita-dev/garita/sandbox"
)

// Verdict is what is to be done about a connection to a name. The zero Verdict refuses.
type Verdict struct {
	Reach sandbox.Reach // Nowhere: it is refused, or a person is asked
	Rule  string        // that lets it pass
	Ask   bool          // a person may be asked

	// Of a refusal:
	Kind    sandbox.DenialKind
	Why     string // one sentence
	Propose string // the rule that would let it pass; "" where none may
}

// Decide says what is to be done about a connection to host, a DNS name as sandbox.Name makes it,
// at port.
func Decide(l sandbox.Allowlist, host string, port uint16) Verdict {
	if reach, rule := l.Permits(host, port); reach != sandbox.Nowhere && port != 0 && reach != sandbox.ThisHost {
		if rule == publicWeb && slices.Contains(resolvers, host) {
			return Verdict{Kind: sandbox.DeniedProtocol, Why: host + " answers for names, which Garita does itself; public-web does not include it.", Propose: rules(host, port)}
		}
		return Verdict{Reach: reach, Rule: rule}
	} else if reach == sandbox.ThisHost {
		return Verdict{Reach: reach, Rule: rule}
	}
	return refusal(l, host, port)
}

const publicWeb = "public-web"

// resolvers answer for names over HTTPS, by whatever name one asks for: public-web does not include
// them, so that what a server looks up is seen.
var resolvers = []string{
	"dns.google", "dns.google.com", "8888.google", "cloudflare-dns.com", "one.one.one.one", "1dot1dot1dot1.cloudflare-dns.com",
	"mozilla.cloudflare-dns.com", "chrome.cloudflare-dns.com", "security.cloudflare-dns.com", "family.cloudflare-dns.com",
	"dns.quad9.net", "dns9.quad9.net", "dns10.quad9.net", "dns11.quad9.net", "doh.opendns.com", "dns.opendns.com",
	"doh.cleanbrowsing.org", "dns.adguard.com", "dns.adguard-dns.com", "dns.nextdns.io", "doh.pub", "dns.alidns.com",
	"dns.mullvad.net", "doh.mullvad.net", "dns0.eu", "dns.controld.com", "freedns.controld.com",
}

func refusal(l sandbox.Allowlist, host string, port uint16) Verdict {
	if rule := l.Denies(host, port); rule != "" {
		return denied(host, rule)
	}
	v := Verdict{Kind: sandbox.DeniedName, Ask: l.Ask && port != 0, Propose: rules(host, port)}
	switch ports := l.PortsOf(host); {
	case port == dnsOverTLS:
		return Verdict{Kind: sandbox.DeniedProtocol, Why: fmt.Sprintf("%s:%d is for looking up names, which Garita does itself.", host, port)}
	case isThisHost(host):
		v.Kind, v.Why, v.Propose, v.Ask = sandbox.DeniedPort, fmt.Sprintf("Port %d of this machine is not granted.", port), fmt.Sprintf("host: [%d]", port), false
	case len(ports) > 0:
		v.Kind, v.Why = sandbox.DeniedPort, fmt.Sprintf("%s is allowed at port %s, and not at %d.", host, list(ports), port)
	default:
		v.Why = fmt.Sprintf("%s is not in this server's list of hosts.", host)
		if port == sandbox.SSHPort && strings.Contains(host, ".") {
			v.Why += fmt.Sprintf(" git can be let reach %s:22, or use https with a token that stays outside: garita secret set NAME, then garita secret grant NAME SERVER --env GIT_TOKEN --host %s.", host, host)
		}
		if wild := wildcardOver(l, host); wild != "" {
			v.Why = fmt.Sprintf("%s does not include %s itself, only what is below it.", wild, host)
		}
	}
	if !strings.Contains(host, ".") && !isThisHost(host) {
		v.Propose, v.Ask = "lan: ["+sandbox.Endpoint{Host: host, Port: port}.String()+"]", false
	}
	return v
}

// denied refuses what is never reached. Nothing is proposed: a person has said no.
func denied(what, rule string) Verdict {
	return Verdict{Kind: sandbox.DeniedAlways, Why: fmt.Sprintf("%s is kept blocked: %s stands under network.deny.", what, rule)}
}

const dnsOverTLS = 853

func isThisHost(host string) bool {
	return host == sandbox.HostName || slices.Contains(sandbox.HostAliases, host)
}

func rules(host string, port uint16) string { return sandbox.Endpoint{Host: host, Port: port}.String() }

// wildcardOver is the rule that a person may have thought includes host.
func wildcardOver(l sandbox.Allowlist, host string) string {
	for _, e := range slices.Concat(l.Endpoints, l.LAN) {
		if base, wild := e.Wildcard(); wild && base == host {
			return e.Host
		}
	}
	return ""
}

func list(ports []uint16) string {
	var words []string
	for _, p := range ports {
		words = append(words, fmt.Sprint(p))
	}
	return strings.Join(words, ", ")
}

// Literal says what is to be done about a connection to an address that stands for no name: it
// passes where a rule names that very address.
func Literal(l sandbox.Allowlist, to netip.AddrPort) Verdict {
	ip := to.Addr().Unmap()
	if rule := Denied(l, ip, to.Port()); rule != "" {
		return denied(ip.String(), rule)
	}
	if reach, rule := l.Permits(ip.String(), to.Port()); (reach == sandbox.PublicNet || reach == sandbox.PrivateNet) && to.Port() != 0 {
		return Verdict{Reach: reach, Rule: rule}
	}
	v := Verdict{Kind: sandbox.DeniedAddress, Why: fmt.Sprintf("%s is an address; hosts are reached by their names.", ip)}
	switch {
	case to.Port() == 53 || to.Port() == dnsOverTLS:
		v.Kind, v.Why = sandbox.DeniedProtocol, fmt.Sprintf("%s is asked for names, which Garita answers itself.", to)
	case Address(ip, sandbox.PublicNet, nil) == "":
		v.Propose = rules(ip.String(), to.Port())
	case Address(ip, sandbox.PrivateNet, nil) == "":
		v.Propose = "lan: [" + rules(ip.String(), to.Port()) + "]"
	}
	return v
}

// Wildcard says why "*." and base would be too wide a rule, "" when it is not: base is what anybody
// can register names below.
func Wildcard(base string) string {
	if suffix, _ := publicsuffix.PublicSuffix(base); suffix == base {
		return fmt.Sprintf("anybody can have a name below %s", base)
	}
	return ""
}
