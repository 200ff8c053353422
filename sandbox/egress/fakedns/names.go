// Package fakedns answers a sandbox's questions for names. Nobody else is asked: a name that may be
// reached gets an address that stands for it inside this sandbox and nowhere else, and every other
// question is refused. So what is asked for never leaves the machine.
package fakedns

import (
	"net/netip"
	"sync"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

// maxNames bounds the names of one sandbox. A server that asks for more is looking for a way out.
const maxNames = 8192

// Names are the addresses that stand for names. They stay for the sandbox's life: programs keep them.
// Its methods may be called at the same time.
type Names struct {
	// Given is told of each new one, before it is used; it may be nil.
	Given func(wire.Name)

	mu     sync.Mutex // guards the fields below
	byName map[string]netip.Addr
	byAddr map[netip.Addr]string
	next   netip.Addr
}

// NewNames returns Names that know those given before.
func NewNames(known []wire.Name, given func(wire.Name)) *Names {
	n := &Names{Given: given, byName: map[string]netip.Addr{}, byAddr: map[netip.Addr]string{}, next: wire.FirstNamed}
	for _, k := range known {
		if !wire.NamedAddresses.Contains(k.Address) || k.Address.Less(wire.FirstNamed) || len(n.byName) == maxNames {
			continue
		}
		n.byName[k.Name], n.byAddr[k.Address] = k.Address, k.Name
		if !k.Address.Less(n.next) {
			n.next = k.Address.Next()
		}
	}
	return n
}

// Address is the one that stands for name; ok is false when there are too many.
func (n *Names) Address(name string) (ip netip.Addr, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ip, known := n.byName[name]; known {
		return ip, true
	}
	if len(n.byName) >= maxNames || !wire.NamedAddresses.Contains(n.next) {
		return netip.Addr{}, false
	}
	ip = n.next
	n.next = ip.Next()
	n.byName[name], n.byAddr[ip] = ip, name
	if n.Given != nil {
		n.Given(wire.Name{Name: name, Address: ip})
	}
	return ip, true
}

// Name is what ip stands for.
func (n *Names) Name(ip netip.Addr) (name string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, ok = n.byAddr[ip]
	return name, ok
}
