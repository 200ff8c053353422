// Package resolve finds the real addresses of names, as this machine does at the moment: its name
// servers are read anew when they change, so that sandboxes outlive a change of network.
package resolve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

const (
	defaultConf = "/etc/resolv.conf"
	// each is how long one name server may take before the next is asked.
	each = 3 * time.Second
	// maxServers is how many there are (MAXNS of the C library).
	maxServers = 3
)

// Resolver looks names up. Calls may overlap; several for one name at the same time are one.
type Resolver struct {
	host   wire.Host
	flight singleflight.Group

	mu      sync.Mutex // guards the fields below
	seen    os.FileInfo
	servers []string
}

// New returns a Resolver for a machine.
func New(host wire.Host) *Resolver {
	if host.ResolvConf == "" {
		host.ResolvConf = defaultConf
	}
	return &Resolver{host: host}
}

// LookUp finds the addresses of name, those of IPv4 first. Nothing is kept: the next call asks
// again.
func (r *Resolver) LookUp(ctx context.Context, name string) ([]netip.Addr, error) {
	found := r.flight.DoChan(name, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxServers*each)
		defer cancel()
		return r.lookUp(ctx, name)
	})
	select {
	case f := <-found:
		if f.Err != nil {
			return nil, f.Err
		}
		all, _ := f.Val.([]netip.Addr)
		return all, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lookUp asks one server after the other; one that says there is no such name has answered.
func (r *Resolver) lookUp(ctx context.Context, name string) ([]netip.Addr, error) {
	err := errors.New("this machine has no name server")
	for _, server := range r.serversNow() {
		var all []netip.Addr
		if all, err = ask(ctx, server, name); err == nil {
			return all, nil
		}
		var dns *net.DNSError
		if errors.As(err, &dns) && dns.IsNotFound {
			return nil, fmt.Errorf("no such host %s", name)
		}
	}
	return nil, fmt.Errorf("look up %s: %w", name, err)
}

func ask(ctx context.Context, server, name string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}}
	all, err := r.LookupNetIP(ctx, "ip", name+".") // whole: no search list is tried
	if err != nil {
		return nil, err
	}
	var four, six []netip.Addr
	for _, ip := range all {
		if ip = ip.Unmap(); ip.Is4() {
			four = append(four, ip)
		} else {
			six = append(six, ip)
		}
	}
	return append(four, six...), nil
}

// serversNow are the name servers of this moment.
func (r *Resolver) serversNow() []string {
	if r.host.Resolver != "" {
		return []string{r.host.Resolver}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now, err := os.Stat(r.host.ResolvConf)
	if err != nil {
		return r.servers // it is being replaced; the old ones are the best there is
	}
	if r.seen != nil && os.SameFile(r.seen, now) && r.seen.ModTime().Equal(now.ModTime()) && r.seen.Size() == now.Size() {
		return r.servers
	}
	text, err := os.ReadFile(r.host.ResolvConf)
	if err != nil {
		return r.servers
	}
	r.seen, r.servers = now, parse(text)
	return r.servers
}

// parse reads the name servers of a resolv.conf; without any, there is one on this machine.
func parse(text []byte) []string {
	var all []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() && len(all) < maxServers {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if ip, err := netip.ParseAddr(fields[1]); err == nil {
			all = append(all, net.JoinHostPort(ip.String(), "53"))
		} else if at, err := netip.ParseAddrPort(fields[1]); err == nil { // some systems write a port
			all = append(all, at.String())
		}
	}
	if len(all) == 0 {
		return []string{"127.0.0.1:53"}
	}
	return all
}
