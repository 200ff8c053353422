package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/garita-dev/garita/build/wire"
	"github.com/garita-dev/garita/sandbox/sandboxtest/visitors"
)

const (
	visitTries = 3
	visitGoal  = 2 * time.Second // until an error inside
)

// refusals are what nobody has allowed: a name, an address, a port of a host that is allowed.
var refusals = []string{"https://unlisted.example.com", "https://192.0.2.7", "https://listed.example.com:8443"}

// visits measures, for every kind of client, the time from its start, and from that of its request, to the
// error when the wall refuses it, against the same client when it succeeds, bare and walled.
func (b *bench) visits(ctx context.Context) error {
	kit := os.Getenv("GARITA_KIT")
	programs := filepath.Join(b.dir, "visitors")
	if err := errors.Join(os.Mkdir(programs, 0o755), visitors.Install(programs)); err != nil {
		return err
	}
	host := httptest.NewServer(new(visitors.Host).Open())
	defer host.Close()
	_, port, err := net.SplitHostPort(host.Listener.Addr().String())
	if err != nil {
		return err
	}
	bare, walled, err := b.travelers(ctx, kit, programs, port)
	defer func() { bare.Kill(); walled.Kill() }()
	if err != nil {
		return err
	}
	fmt.Printf("\n**until an error inside** (p50 of %d, with the program's start; in parentheses the request alone, where the program tells; goal %v)\n\n", visitTries, visitGoal)
	fmt.Println("| | succeeds, bare | succeeds, walled | an unlisted name | an address | another port |\n| --- | ---: | ---: | ---: | ---: | ---: |")
	late := 0
	for _, v := range append(visitors.All(), visitors.Raw()...) {
		if missing := v.Missing(kit); missing != "" {
			note("wall: %s is passed over: no %s", v.Name, missing)
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		note("wall: %s", v.Name)
		row := []string{v.Name, journey(bare, v.Name, "http://127.0.0.1:"+port).String(), journey(walled, v.Name, "http://host.garita.internal:"+port).String()}
		for _, url := range refusals {
			j := journey(walled, v.Name, url)
			if j.passed || j.err != nil || j.whole.at(50) > visitGoal {
				late++
			}
			row = append(row, j.refused())
		}
		fmt.Printf("| %s |\n", strings.Join(row, " | "))
	}
	if late > 0 {
		fmt.Printf("\n%d are over the goal.\n", late)
	}
	return nil
}

// travelers are two servers that run visitors: one bare, one that may reach port of this machine and a host
// of which nothing is ever looked up.
func (b *bench) travelers(ctx context.Context, kit, programs, port string) (bare, walled *wire.Client, err error) {
	text := fmt.Sprintf("  visitor:\n    command: [%q]\n    workspace: none\n    mounts: [{host: %q, at: /srv/kit, mode: ro}, {host: %q, at: /srv/visitors, mode: ro}]\n"+
		"    env: {KIT: /srv/kit, VISITORS: /srv/visitors}\n    network: {allow: [listed.example.com], host: [%s], ask: false}\n", b.probeProgram(), kit, programs, port)
	if err := b.declare(ctx, "visitor", text); err != nil {
		return nil, nil, err
	}
	plain := exec.Command(b.probeProgram())
	plain.Env = append(os.Environ(), "KIT="+kit, "VISITORS="+programs)
	bare, err = wire.Start(plain)
	if err == nil {
		walled, err = wire.Start(b.connected("visitor"))
	}
	for _, c := range []*wire.Client{bare, walled} {
		if err == nil {
			_, _, err = c.Handshake("bench")
		}
	}
	return bare, walled, err
}

// trip is how some visits to one place went.
type trip struct {
	passed          bool // the last
	whole, requests sample
	err             error
}

func journey(c *wire.Client, name, url string) (t trip) {
	for range visitTries {
		all, err := timed(c, name+" "+url, "visit", 0)
		if err != nil {
			return trip{err: err}
		}
		t.passed = all[0] == 1
		t.whole = append(t.whole, all[1])
		if all[2] > 0 {
			t.requests = append(t.requests, all[2])
		}
	}
	return t
}

// String is of one that should succeed.
func (t trip) String() string {
	if !t.passed || t.err != nil {
		return "–"
	}
	return t.took()
}

// refused is of one that should not.
func (t trip) refused() string {
	switch {
	case t.err != nil:
		return "**over a minute**"
	case t.passed:
		return "**not refused**"
	}
	return t.took()
}

func (t trip) took() string {
	text := ms(t.whole.at(50))
	if len(t.requests) > 0 {
		text += " (" + ms(t.requests.at(50)) + ")"
	}
	return text
}
