// Package app is Garita's window: the same web UI as the browser page, in a Wails webview.
//
// The window holds no authority and no port. The webview asks /api/* of its own asset server,
// which passes it on to the daemon's unix socket; the daemon's events arrive over one WebSocket
// on that socket and are repeated to the page. Everything but the webview itself builds and is
// tested without GTK; the webview needs the build tag desktop.
package app

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Main opens the window and returns when the person quits it. It exits the process with 1 when
// there is no window to open.
func Main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "garita-desktop:", err)
		os.Exit(1)
	}
}

// The events the page listens for. link says "up" or "down": whether the daemon is reachable.
const (
	eventChanged = "garita:event"
	eventLink    = "garita:link"
	eventOpen    = "garita:open"
)

// contentPolicy is what the page may load and do. It matches what the daemon sends to browsers.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var approvalID = regexp.MustCompile(`^r[0-9a-f]{32}$`)

// pageFor says which page the arguments of a start ask for: garita://approvals/ID opens that
// question. Anything else, of whatever origin, opens the first page.
func pageFor(args []string) string {
	for _, arg := range args {
		id, ok := strings.CutPrefix(arg, "garita://approvals/")
		if ok && approvalID.MatchString(id) {
			return "/approvals?review=" + id
		}
	}
	return "/"
}
