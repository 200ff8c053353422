package resolve

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/sandbox/egress/wire"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"some":          {"# a\nsearch x\nnameserver 10.0.0.1\nnameserver\t2001:db8::1 \noptions edns0\n", []string{"10.0.0.1:53", "[2001:db8::1]:53"}},
		"none":          {"", []string{"127.0.0.1:53"}},
		"more than fit": {"nameserver 1.1.1.1\nnameserver 1.1.1.2\nnameserver 1.1.1.3\nnameserver 1.1.1.4\n", []string{"1.1.1.1:53", "1.1.1.2:53", "1.1.1.3:53"}},
		"no address":    {"nameserver resolver.example\nnameserver 10.0.0.1\n", []string{"10.0.0.1:53"}},
		"a port":        {"nameserver 127.0.0.1:5353\n", []string{"127.0.0.1:5353"}},
	} {
		if diff := cmp.Diff(c.want, parse([]byte(c.text))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheFileIsFollowed(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "resolv.conf")
	r := New(wire.Host{ResolvConf: conf})
	write := func(text string) {
		t.Helper()
		fresh := conf + ".new"
		if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(fresh, conf); err != nil {
			t.Fatal(err)
		}
	}
	write("nameserver 10.0.0.1\n")
	if got := r.serversNow(); !cmp.Equal(got, []string{"10.0.0.1:53"}) {
		t.Errorf("first: %v", got)
	}
	write("nameserver 10.0.0.2\n") // the same size, another inode
	if got := r.serversNow(); !cmp.Equal(got, []string{"10.0.0.2:53"}) {
		t.Errorf("replaced: %v", got)
	}
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	if got := r.serversNow(); !cmp.Equal(got, []string{"10.0.0.2:53"}) {
		t.Errorf("gone for a moment: %v", got)
	}
}
