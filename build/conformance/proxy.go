package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
)

// bear is a proxy on loopback that adds a bearer token, for a suite that cannot send headers: it is
// run as conformance proxy DOOR with the token in TOKEN, and prints its address. It changes nothing
// else: Host and Origin name the door where they named the proxy, and a name of somebody else's
// stays. It is a process of its own since whoever uses the door is an agent, which may not answer.
func bear(door, token string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	_, here, _ := net.SplitHostPort(l.Addr().String())
	_, there, _ := net.SplitHostPort(door)
	rename := func(name string) string {
		if host, ok := strings.CutSuffix(name, ":"+here); ok {
			return host + ":" + there
		}
		return name
	}
	return http.Serve(l, &httputil.ReverseProxy{ //nolint:gosec // for one client, on loopback
		FlushInterval: -1, // streams
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: door})
			r.Out.Host = rename(r.In.Host)
			if origin := r.In.Header.Get("Origin"); origin != "" {
				r.Out.Header.Set("Origin", rename(origin))
			}
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
	})
}

// bearing starts one and returns its address.
func (s *stage) bearing(token string) (string, error) {
	cmd := exec.Command(s.program("conformance"), "proxy", s.door) //nolint:gosec // ourselves
	cmd.Env = append(cmd.Environ(), "TOKEN="+token)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	s.beside = append(s.beside, cmd)
	address, err := bufio.NewReader(out).ReadString('\n')
	return strings.TrimSpace(address), err
}
