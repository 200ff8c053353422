package dial

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

func TestKindOf(t *testing.T) {
	for _, test := range []struct {
		addr string
		want Kind
	}{
		{"1.1.1.1", Public},
		{"2606:4700::1111", Public},
		{"127.0.0.1", Loopback},
		{"127.9.9.9", Loopback},
		{"::1", Loopback},
		{"10.1.2.3", Private},
		{"172.31.255.255", Private},
		{"172.32.0.1", Public},
		{"192.168.1.1", Private},
		{"100.64.0.1", Private},
		{"100.100.100.200", Reserved},
		{"fd12::1", Private},
		{"fd00:ec2::254", Reserved},
		{"169.254.169.254", Reserved},
		{"168.63.129.16", Reserved},
		{"0.0.0.0", Reserved},
		{"::", Reserved},
		{"224.0.0.1", Reserved},
		{"255.255.255.255", Reserved},
		{"fe80::1", Reserved},
		{"fe80::1%eth0", Reserved},
		{"ff02::1", Reserved},
		{"::ffff:127.0.0.1", Loopback},
		{"::ffff:169.254.169.254", Reserved},
		{"::ffff:1.1.1.1", Public},
		{"::127.0.0.1", Reserved},
		{"64:ff9b::7f00:1", Loopback},
		{"64:ff9b::a9fe:a9fe", Reserved},
		{"64:ff9b::101:101", Public},
		{"64:ff9b:1::1", Reserved},
		{"2002:7f00:1::", Reserved},
		{"2001:0:1::1", Reserved},
		{"2001:db8::1", Reserved},
	} {
		if got := KindOf(netip.MustParseAddr(test.addr)); got != test.want {
			t.Errorf("KindOf(%s) = %s, want %s", test.addr, got, test.want)
		}
	}
	if got := KindOf(netip.Addr{}); got != Reserved {
		t.Errorf("KindOf(no address) = %s, want %s", got, Reserved)
	}
}

func TestRules(t *testing.T) {
	for _, test := range []struct {
		name       string
		rules      Rules
		host, addr string
		want       bool
	}{
		{"a public name", Rules{}, "a.example", "1.1.1.1", true},
		{"a name that leads inside", Rules{Declared: []string{"a.example"}}, "a.example", "127.0.0.1", false},
		{"the person's own network", Rules{Declared: []string{"a.example"}, Inside: true}, "a.example", "10.0.0.1", true},
		{"metadata even then", Rules{Declared: []string{"a.example"}, Inside: true}, "a.example", "169.254.169.254", false},
		{"another name than the declared", Rules{Declared: []string{"a.example"}, Inside: true}, "b.example", "10.0.0.1", false},
		{"an address that was written down", Rules{Declared: []string{"127.0.0.1"}}, "127.0.0.1", "127.0.0.1", true},
		{"another address", Rules{Declared: []string{"127.0.0.1"}}, "127.0.0.2", "127.0.0.2", false},
		{"brackets", Rules{Declared: []string{"[::1]"}}, "::1", "::1", true},
		{"localhost", Rules{Declared: []string{"localhost"}}, "localhost", "::1", true},
		{"localhost undeclared", Rules{}, "localhost", "127.0.0.1", false},
		{"localhost that leads into the network", Rules{Declared: []string{"localhost"}}, "localhost", "10.0.0.1", false},
	} {
		if got := test.rules.allows(test.host, netip.MustParseAddr(test.addr)); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// flipping answers differently each time it is asked, the way a rebinding name server does.
type flipping struct {
	asked   atomic.Int32
	answers [][]netip.Addr
}

func (f *flipping) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return f.answers[min(int(f.asked.Add(1)), len(f.answers))-1], nil
}

func addrs(all ...string) []netip.Addr {
	var out []netip.Addr
	for _, a := range all {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

func TestAHostThatLeadsInsideIsNotDialed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":")+1:]
	for name, answers := range map[string][]netip.Addr{
		"loopback":                 addrs("127.0.0.1"),
		"outside and inside":       addrs("1.1.1.1", "127.0.0.1"),
		"mapped":                   addrs("::ffff:127.0.0.1"),
		"metadata":                 addrs("169.254.169.254"),
		"an IPv4 address in NAT64": addrs("64:ff9b::7f00:1"),
	} {
		t.Run(name, func(t *testing.T) {
			d := New(Rules{Declared: []string{"evil.example"}}, &flipping{answers: [][]netip.Addr{answers}})
			_, err := d.DialContext(t.Context(), "tcp", "evil.example:"+port)
			var refused *AddressError
			if !errors.As(err, &refused) {
				t.Errorf("got %v, want an AddressError", err)
			}
		})
	}
}

func TestWhatANameMeansLaterDoesNotMatter(t *testing.T) {
	inside := httptest.NewServer(http.NotFoundHandler())
	defer inside.Close()
	port := inside.URL[strings.LastIndex(inside.URL, ":")+1:]
	// Judged as ::1, which is allowed here; asked again it would be 127.0.0.1, where the server is.
	flips := &flipping{answers: [][]netip.Addr{addrs("::1"), addrs("127.0.0.1")}}
	d := New(Rules{Declared: []string{"localhost"}}, flips)
	conn, err := d.DialContext(t.Context(), "tcp", "localhost:"+port)
	if err == nil {
		conn.Close()
		t.Error("the connection went to an address that was never judged")
	}
	if n := flips.asked.Load(); n != 1 {
		t.Errorf("the name was resolved %d times, want once", n)
	}
}

func TestASocketGoesWhereItWasJudgedToGo(t *testing.T) {
	control := pinned(netip.MustParseAddr("1.1.1.1"))
	if err := control("tcp4", "1.1.1.1:443", nil); err != nil {
		t.Error(err)
	}
	for _, other := range []string{"127.0.0.1:443", "[::1]:443", "nonsense"} {
		if control("tcp", other, nil) == nil {
			t.Errorf("%s passed", other)
		}
	}
}

func TestRedirectsStayWithinTheirOrigin(t *testing.T) {
	var reached atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached.Add(1) }))
	defer elsewhere.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/get", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/here", http.StatusFound) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/here", http.StatusPermanentRedirect)
	})
	mux.HandleFunc("/here", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, r.Method+" "+string(body))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	client := New(Rules{Declared: []string{"127.0.0.1"}}, nil).Client()
	defer client.CloseIdleConnections()
	for _, test := range []struct {
		path string
		want int
		body string
	}{{"/away", 307, ""}, {"/loop", http.StatusTemporaryRedirect, ""}, {"/get", 302, ""}, {"/moved", 200, "POST x"}} {
		res, err := client.Post(server.URL+test.path, "text/plain", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != test.want || test.body != "" && string(body) != test.body {
			t.Errorf("%s: %d %q, want %d %q", test.path, res.StatusCode, body, test.want, test.body)
		}
	}
	if reached.Load() > 0 {
		t.Error("a redirect led elsewhere")
	}
}

func TestAProxyIsUsedOnlyWhenTold(t *testing.T) {
	if New(Rules{}, nil).Transport().Proxy != nil {
		t.Error("the environment's proxy is used unasked")
	}
	d := New(Rules{Proxy: true}, nil)
	_, err := d.proxy(&http.Request{URL: &url.URL{Scheme: "http", Host: "169.254.169.254"}})
	var refused *AddressError
	if !errors.As(err, &refused) {
		t.Errorf("got %v, want an AddressError", err)
	}
}

func TestSameOrigin(t *testing.T) {
	parse := func(s string) *url.URL {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"https://a.example/x", "https://A.example:443/y", true},
		{"https://a.example", "http://a.example", false},
		{"https://a.example", "https://a.example:8443", false},
		{"https://a.example", "https://a.example.evil", false},
	} {
		if got := SameOrigin(parse(test.a), parse(test.b)); got != test.want {
			t.Errorf("SameOrigin(%s, %s) = %v", test.a, test.b, got)
		}
	}
}

var _ Resolver = (*net.Resolver)(nil)
