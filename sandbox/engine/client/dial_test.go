package client_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/sandbox/sandboxtest"
)

// listening is a sandbox whose server listens on an address inside.
func listening(t *testing.T, r sandbox.Runtime, addresses ...string) sandbox.Instance {
	t.Helper()
	i, p := sandboxtest.Start(t, r, sandboxtest.Hostile(t))
	for _, address := range addresses {
		network := "tcp4"
		if strings.HasPrefix(address, "[") {
			network = "tcp6"
		}
		if text, refused := sandboxtest.Tool(t, p, "listen", map[string]any{"network": network, "address": address}); refused {
			t.Fatalf("listen on %s: %s", address, text)
		}
	}
	return i
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// echoes says whether what is written to port 3000 inside comes back.
func echoes(t *testing.T, i sandbox.Instance) error {
	t.Helper()
	c, err := i.(sandbox.Dialer).Dial(soon(t), 3000)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, "there\n"); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && line != "there\n" {
		t.Errorf("got %q back", line)
	}
	return err
}

func TestDial(t *testing.T) {
	e := shared(t)
	t.Run("report_T07", func(t *testing.T) {
		for _, test := range []struct {
			name    string
			listens []string
			want    string // the error
		}{
			{"only ::1", []string{"[::1]:3000"}, ""},
			{"only 127.0.0.1", []string{"127.0.0.1:3000"}, ""},
			{"any address", []string{"0.0.0.0:3000"}, ""},
			{"the wrong port", []string{"0.0.0.0:8080"}, "nothing listens on 3000; listening: 0.0.0.0:8080"},
			{"two wrong ports", []string{"127.0.0.1:8080", "[::1]:8081"}, "nothing listens on 3000; listening: 127.0.0.1:8080, [::1]:8081"},
			{"no port", nil, "nothing listens on 3000, nor on any other port"},
		} {
			t.Run(test.name, func(t *testing.T) {
				err := echoes(t, listening(t, e, test.listens...))
				if err == nil && test.want == "" {
					return
				}
				var none *sandbox.DialError
				if !errors.As(err, &none) || none.Error() != test.want {
					t.Errorf("got %v, want %q", err, test.want)
				}
			})
		}
	})
	t.Run("nobody reaches another's", func(t *testing.T) {
		listening(t, e, "0.0.0.0:3000")
		var none *sandbox.DialError
		if err := echoes(t, listening(t, e)); !errors.As(err, &none) || len(none.Listening) > 0 {
			t.Errorf("got %v, want that nothing listens", err)
		}
	})
	t.Run("many at once", func(t *testing.T) {
		i := listening(t, e, "127.0.0.1:3000")
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := echoes(t, i); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
	t.Run("a sandbox that has ended", func(t *testing.T) {
		i := listening(t, e, "127.0.0.1:3000")
		c, err := i.(sandbox.Dialer).Dial(soon(t), 3000)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := i.Stop(soon(t), 0); err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the connection lives on: %v", err)
		}
		if _, err := i.(sandbox.Dialer).Dial(soon(t), 3000); !errdefs.IsNotFound(err) {
			t.Errorf("got %v, want NotFound", err)
		}
	})
	t.Run("no port at all", func(t *testing.T) {
		for _, port := range []int{0, -1, 65536} {
			if _, err := listening(t, e).(sandbox.Dialer).Dial(soon(t), port); !errdefs.IsInvalidArgument(err) {
				t.Errorf("%d: got %v, want InvalidArgument", port, err)
			}
		}
	})
	s, err := e.Sweep(soon(t))
	if err != nil || !s.Zero() {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}
