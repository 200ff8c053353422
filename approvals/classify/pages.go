package classify

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// leadsInside says why an address that a read was given is no page of the world: it leads into the
// person's own network, carries a password, or is of another kind than a web page's. "" where it
// does not, or where the argument is no address.
func leadsInside(a argument) string {
	if !(property{name: a.name}).isPage() {
		return ""
	}
	for _, text := range a.texts() {
		if !strings.Contains(text, ":") {
			continue
		}
		u, err := url.Parse(text)
		switch {
		case err != nil:
			return fmt.Sprintf("Its argument %q is no address that can be read.", a.name)
		case u.Scheme != "http" && u.Scheme != "https":
			if u.Scheme == "file" || strings.Contains(text, "//") || u.Scheme == "javascript" || u.Scheme == "data" {
				return fmt.Sprintf("Its argument %q leads to something else than a web page (%s:).", a.name, Visible(limit(u.Scheme, 20)))
			}
		case u.User != nil:
			return fmt.Sprintf("Its argument %q carries a password.", a.name)
		case inside(u.Hostname()):
			return fmt.Sprintf("Its argument %q leads into your own network (%s).", a.name, Visible(limit(u.Hostname(), 60)))
		}
	}
	return ""
}

// inside says whether a host is this machine or one of a private network, however its address is
// written. Names are taken as they stand; what they resolve to is the wall's question.
func inside(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		return !addr.IsGlobalUnicast() || addr.IsPrivate()
	}
	if host == "" || !strings.Contains(host, ".") {
		return true
	}
	for _, suffix := range []string{".local", ".localhost", ".internal", ".lan", ".home", ".corp", ".intranet", ".home.arpa"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "" && (last[0] >= '0' && last[0] <= '9')
}
