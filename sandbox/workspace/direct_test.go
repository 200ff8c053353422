package workspace

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestDirectListsEffects(t *testing.T) {
	d := newDesk(t, "a=1", "d/b=2", "d/c=3")
	w, err := d.store.WatchDirect([]string{d.host})
	d.must(err)
	m, err := w.Mark(context.Background())
	d.must(err)
	d.put(d.host, "a=2")
	d.put(d.host, "n/o=3")
	d.must(os.Remove(d.host + "/d/c"))
	d.put(d.host, "tmp=1")
	d.must(os.Remove(d.host + "/tmp"))
	changes, err := w.Since(context.Background(), m)
	d.must(err)
	want := []string{"modified file a", "deleted file d/c", "added dir n", "added file n/o"}
	if diff := cmp.Diff(words(changes), want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	m, err = w.Mark(context.Background())
	d.must(err)
	if changes, err = w.Since(context.Background(), m); err != nil || len(changes) > 0 {
		t.Errorf("nothing happened: %v, %v", changes, err)
	}
}

func TestInspectNamesWhatReachesOut(t *testing.T) {
	d := newDesk(t, "a=1", "d/b=2", "c=3")
	outside := filepath.Dir(d.host) + "/outside"
	d.put(outside, "x=1")
	d.must(os.Link(outside+"/x", d.host+"/d/linked"))
	d.must(os.Link(d.host+"/a", d.host+"/d/also a"))
	d.must(unix.Mkfifo(d.host+"/fifo", 0o600))
	l, err := net.Listen("unix", d.host+"/sock")
	d.must(err)
	defer l.Close()
	got, err := Inspect(context.Background(), d.host, 1000)
	d.must(err)
	want := Findings{HardLinks: []string{"d/linked"}, Sockets: []string{"sock"}, Entries: 8}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	notices := strings.Join(got.Notices(d.host, true), "\n")
	if !strings.Contains(notices, "d/linked") || !strings.Contains(notices, "sock") {
		t.Errorf("notices: %s", notices)
	}
	if got, err = Inspect(context.Background(), d.host, 3); err != nil || !got.Cut {
		t.Errorf("cut: %+v, %v", got, err)
	}
}
