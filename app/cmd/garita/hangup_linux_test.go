package main

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAwaitHangup(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	far, near := os.NewFile(uintptr(fds[0]), "far"), os.NewFile(uintptr(fds[1]), "near")
	for name, c := range map[string]struct{ reader, writer *os.File }{"pipe": {r, w}, "socket": {far, near}} {
		seen := make(chan bool)
		go func() { seen <- awaitHangup(c.writer) }()
		select {
		case <-seen:
			t.Errorf("%s: seen before it happened", name)
		default:
		}
		if err := c.reader.Close(); err != nil {
			t.Fatal(err)
		}
		if !<-seen {
			t.Errorf("%s: not seen", name)
		}
		_ = c.writer.Close()
	}
}
