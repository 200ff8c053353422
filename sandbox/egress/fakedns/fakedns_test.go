package fakedns

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

func answerer(known ...wire.Name) (*Answerer, *[]string) {
	var refused []string
	return &Answerer{
		Names:    NewNames(known, nil),
		Resolves: func(name string) bool { return strings.HasSuffix(name, ".example.com") },
		Refused:  func(name string) { refused = append(refused, name) },
	}, &refused
}

func ask(t testing.TB, a *Answerer, name string, kind dnsmessage.Type) dnsmessage.Message {
	t.Helper()
	q := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}, Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}}}
	b, err := q.Pack()
	if err != nil {
		t.Fatal(err)
	}
	var m dnsmessage.Message
	if err := m.Unpack(a.Answer(b)); err != nil {
		t.Fatal(err)
	}
	if m.ID != 7 || !m.Response || len(m.Questions) != 1 {
		t.Errorf("%s: got %+v", name, m.Header)
	}
	return m
}

func addressIn(m dnsmessage.Message) netip.Addr {
	for _, r := range m.Answers {
		if a, ok := r.Body.(*dnsmessage.AResource); ok {
			return netip.AddrFrom4(a.A)
		}
	}
	return netip.Addr{}
}

func TestNamesStandForThemselves(t *testing.T) {
	a, refused := answerer()
	first := addressIn(ask(t, a, "api.example.com.", dnsmessage.TypeA))
	if !wire.NamedAddresses.Contains(first) {
		t.Fatalf("got %s", first)
	}
	if again := addressIn(ask(t, a, "API.Example.COM.", dnsmessage.TypeA)); again != first {
		t.Errorf("another address for the same name: %s, %s", first, again)
	}
	if name, ok := a.Names.Name(first); !ok || name != "api.example.com" {
		t.Errorf("it stands for %q", name)
	}
	for _, kind := range []dnsmessage.Type{dnsmessage.TypeAAAA, dnsmessage.TypeTXT, dnsmessage.TypeMX, dnsmessage.TypeSRV, dnsmessage.Type(65)} {
		if m := ask(t, a, "api.example.com.", kind); m.RCode != dnsmessage.RCodeSuccess || len(m.Answers) != 0 {
			t.Errorf("%v: %+v", kind, m)
		}
	}
	if m := ask(t, a, "secret.evil.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeNameError || len(m.Answers) != 0 {
		t.Errorf("what is not allowed: %+v", m)
	}
	if fmt.Sprint(*refused) != "[secret.evil.example]" {
		t.Errorf("refused %v", *refused)
	}
}

func TestNamesOutliveTheWall(t *testing.T) {
	a, _ := answerer(wire.Name{Name: "old.example.com", Address: netip.MustParseAddr("198.18.7.7")}, wire.Name{Name: "bad.example.com", Address: netip.MustParseAddr("8.8.8.8")})
	if got := addressIn(ask(t, a, "old.example.com.", dnsmessage.TypeA)); got != netip.MustParseAddr("198.18.7.7") {
		t.Errorf("got %s", got)
	}
	if got := addressIn(ask(t, a, "new.example.com.", dnsmessage.TypeA)); got != netip.MustParseAddr("198.18.7.8") {
		t.Errorf("a new one is %s", got)
	}
	if _, known := a.Names.Name(netip.MustParseAddr("8.8.8.8")); known {
		t.Error("a real address stands for a name")
	}
}

func TestTooManyNames(t *testing.T) {
	a, refused := answerer()
	for i := range maxNames {
		ask(t, a, fmt.Sprintf("n%d.example.com.", i), dnsmessage.TypeA)
	}
	if m := ask(t, a, "more.example.com.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeRefused || len(*refused) != 1 {
		t.Errorf("got %v, refused %v", m.RCode, *refused)
	}
}

func FuzzAnswer(f *testing.F) {
	q := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName("api.example.com."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	b, _ := q.Pack()
	f.Add(b)
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x01x\x00\x00\x01\x00\x01\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, _ := answerer()
		out := a.Answer(b)
		if out == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(out); err != nil || !m.Response {
			t.Fatalf("the answer cannot be read: %v", err)
		}
		if ip := addressIn(m); ip.IsValid() && !wire.NamedAddresses.Contains(ip) && !ip.IsLoopback() {
			t.Fatalf("an address of the world: %s", ip)
		}
	})
}
