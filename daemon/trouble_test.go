package daemon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
)

func TestTrouble(t *testing.T) {
	d := newListeningTest(t)
	// end starts a server that fails with these words.
	end := func(words string) *supervisor.Instance {
		t.Helper()
		server := sandbox.Server{Name: "bad", Source: sandbox.Source{Command: []string{"/bin/sh", "-c", "cat; " + words + " exit 1"}}}
		i, err := d.supervisor.Start(t.Context(), server, supervisor.NewInstanceID(), supervisor.Owner{Group: "g"})
		if err != nil {
			t.Fatal(err)
		}
		i.Fail("no handshake")
		if err := i.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		return i
	}
	first := end("echo the first >&2;")
	second := end("")
	for i, want := range map[*supervisor.Instance]string{
		first:  "Its last words: the first. Next: garita server logs bad",
		second: "It wrote nothing to stderr. Next: garita server logs bad",
		nil:    "Its last words: the first. Next: garita server logs bad",
	} {
		if got := d.trouble("bad", i); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for n := 3; d.supervisor.Standing("bad") == nil; n++ {
		if n > 10 {
			t.Fatal("it is started for ever")
		}
		end(fmt.Sprintf("echo number %d >&2;", n))
	}
	p := problemOfTrouble(d.supervisor.Standing("bad"))
	if !strings.HasPrefix(p.Title, "bad is failed: crash-looping: no handshake, ") || !strings.Contains(p.Detail, "It may be tried again at ") || !strings.Contains(p.Next, "garita server restart bad") {
		t.Errorf("the problem: %+v", p)
	}
	if got := d.trouble("bad", second); !strings.Contains(got, "It may be tried again at ") || !strings.Contains(got, "Next: garita server logs bad; once it is mended: garita server restart bad") {
		t.Errorf("got %q", got)
	}
}
