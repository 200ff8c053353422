package oauth

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"os/exec"
	"regexp"
	"strings"

	"github.com/garita-dev/garita/daemon/remote/dial"
)

// Opener shows the person a page in a browser. The URL has passed CheckURL. It returns when the
// page is being opened, not when it is done with.
type Opener func(ctx context.Context, url string) error

// Browser opens pages with a program, whose last argument the URL is. No shell sees it. The
// program is not waited for: some stay as long as the browser does.
func Browser(program string, arguments ...string) Opener {
	return func(_ context.Context, page string) error {
		page, err := CheckURL(page, true)
		if err != nil {
			return err
		}
		//nolint:gosec // The program is ours, and the URL has been looked at.
		cmd := exec.Command(program, append(arguments[:len(arguments):len(arguments)], page)...)
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() { _ = cmd.Wait() }() // only so that nothing is left of it
		return nil
	}
}

// ErrPage is a URL that is not shown to anybody.
var ErrPage = errors.New("not the address of a page that may be opened")

// pageURL is all a URL may be made of, once its query is encoded: nothing a shell or a program's
// flags could make something of.
var pageURL = regexp.MustCompile(`^https?://[A-Za-z0-9.\-\[\]:]+(/[A-Za-z0-9._~%/:@+,=\-]*)?(\?[A-Za-z0-9._~%&=+:,/@*\-]*)?$`)

// CheckURL is the URL as it may be opened: https to anywhere but addresses inside, or, if loopback
// says so, http or https to this machine. The error is ErrPage and does not repeat the URL.
func CheckURL(raw string, loopback bool) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.User != nil || u.Fragment != "" || u.Hostname() == "" {
		return "", ErrPage
	}
	u.RawQuery = u.Query().Encode()
	page := u.String()
	if !pageURL.MatchString(page) || strings.HasPrefix(u.Hostname(), "-") {
		return "", ErrPage
	}
	kind := kindOf(u.Hostname())
	switch {
	case kind == dial.Loopback && loopback:
		return page, nil
	case kind == dial.Public && u.Scheme == "https":
		return page, nil
	}
	return "", ErrPage
}

// kindOf is where a host leads as far as it says so itself.
func kindOf(host string) dial.Kind {
	if ip, err := netip.ParseAddr(host); err == nil {
		return dial.KindOf(ip)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return dial.Loopback
	}
	return dial.Public
}
