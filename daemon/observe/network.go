package observe

import (
	"fmt"
	"slices"

	"github.com/garita-dev/garita/sandbox"
)

// manyHosts is how many hosts make public-web what a server needs, and not a list.
const manyHosts = 30

// network leaves just the hosts that were reached, each named, and takes what was denied away.
func (p *Proposal) network(hosts []Thing) {
	old := p.Server.Spec.Network
	next := old.Bare()
	reached := map[sandbox.Endpoint]Thing{}
	web := old.PublicWeb // it can be kept
	for _, t := range hosts {
		e, err := sandbox.ParseEndpoint(t.Raw)
		switch {
		case t.Denied > 0:
			web = web && (err != nil || !slices.Contains(sandbox.WebPorts, e.Port)) // it is no list without one
			p.denied(e, t)
		case err != nil:
			p.add("network", Refuse, t.What, "it is no host that could be listed", t)
		default:
			reached[e] = t
		}
	}
	if web && len(reached) > manyHosts {
		p.add("network", Keep, "public-web", fmt.Sprintf("%d hosts were reached", len(reached)), Thing{Count: len(reached)})
		next.PublicWeb = true
	}
	for _, e := range sorted(reached) {
		p.reached(&next, old, e, reached[e])
	}
	p.dropped(old, next)
	if next.Lists() && old.Empty() {
		next.Ask = true // as where nothing is said of it
	}
	next.Walled = next.Walled && !next.Lists()
	next.Localhost = old.Localhost && len(next.HostPorts) > 0
	p.Server.Spec.Network = next
}

// denied takes a host away that was denied, from the secrets, too.
func (p *Proposal) denied(e sandbox.Endpoint, t Thing) {
	secrets := p.Server.Spec.Secrets
	for i, g := range secrets {
		if hosts := slices.DeleteFunc(slices.Clone(g.Hosts), func(o sandbox.Endpoint) bool { return o == e }); len(hosts) > 0 {
			secrets[i].Hosts = hosts
		}
	}
	if name := p.secretTo(e); name != "" {
		p.add("network", Tell, t.What, "you denied it, and it stays reachable: the secret "+name+" may be sent there", t)
		return
	}
	p.add("network", Refuse, t.What, "you denied it", t)
}

// reached puts one host where it was reached by.
func (p *Proposal) reached(next *sandbox.Allowlist, old sandbox.Allowlist, e sandbox.Endpoint, t Thing) {
	reach, _ := old.Permits(e.Host, e.Port)
	var verb Verb
	why, secret := happened("reached", t), p.secretTo(e)
	switch {
	case secret != "" && !slices.Contains(old.Endpoints, e) && reach != sandbox.PrivateNet:
		verb, why = Keep, why+"; by the secret "+secret
	case reach == sandbox.ThisHost:
		next.HostPorts, verb = append(next.HostPorts, e.Port), Keep
	case reach == sandbox.PrivateNet:
		next.LAN, verb = append(next.LAN, e), verbOf(old.LAN, e)
	case next.PublicWeb && reach == sandbox.PublicNet && !slices.Contains(old.Endpoints, e):
		return // it is one of many
	default:
		next.Endpoints, verb = append(next.Endpoints, e), verbOf(old.Endpoints, e)
	}
	p.add("network", verb, e.String(), why, t)
}

// secretTo is a secret that is left and may be sent there: its hosts are reached without a rule.
func (p *Proposal) secretTo(e sandbox.Endpoint) string {
	for _, g := range p.Server.Spec.Secrets {
		if g.SendsTo(e.Host, e.Port) {
			return g.Secret
		}
	}
	return ""
}

func verbOf(old []sandbox.Endpoint, e sandbox.Endpoint) Verb {
	if slices.Contains(old, e) {
		return Keep
	}
	return Add
}

// dropped tells of the rules that are gone.
func (p *Proposal) dropped(old, next sandbox.Allowlist) {
	for _, lists := range [][2][]sandbox.Endpoint{{old.Endpoints, next.Endpoints}, {old.LAN, next.LAN}} {
		for _, e := range lists[0] {
			if slices.Contains(lists[1], e) {
				continue
			}
			why := "it was never reached"
			if _, wild := e.Wildcard(); wild && slices.ContainsFunc(lists[1], func(n sandbox.Endpoint) bool { return e.Matches(n.Host, n.Port) }) {
				why = "the hosts of it that were reached are named instead"
			}
			p.add("network", Remove, e.String(), why, Thing{})
		}
	}
	for _, port := range old.HostPorts {
		if !slices.Contains(next.HostPorts, port) {
			p.add("network", Remove, fmt.Sprintf("host: %d", port), "it was never reached", Thing{})
		}
	}
	if old.PublicWeb && !next.PublicWeb {
		p.add("network", Remove, "public-web", "the hosts that were reached are named instead", Thing{})
	}
}

func sorted(hosts map[sandbox.Endpoint]Thing) []sandbox.Endpoint {
	out := make([]sandbox.Endpoint, 0, len(hosts))
	for e := range hosts {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b sandbox.Endpoint) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	return out
}
