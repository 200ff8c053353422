package api

import (
	"bufio"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRunDir(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"its own home":                {map[string]string{"GARITA_HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/7"}, "/h/run"},
		"the session's":               {map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}, "/run/user/7/garita"},
		"a relative one counts as no": {map[string]string{"XDG_RUNTIME_DIR": "run"}, "/tmp/garita-7"},
		"none":                        {nil, "/tmp/garita-7"},
	} {
		if got := runDir(func(k string) string { return c.env[k] }, 7, "/tmp"); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestAnswerCode(t *testing.T) {
	for binding, want := range map[string]string{"sha256:608b1a": "608b", "sha256:60": "60", "": ""} {
		if got := AnswerCode(binding); got != want {
			t.Errorf("%q: got %q, want %q", binding, got, want)
		}
	}
}

func TestAttachSurvivesItsQuery(t *testing.T) {
	for name, a := range map[string]Attach{
		"a server":  {Server: "files", Client: "claude-desktop", Agent: "a b", PID: 42},
		"a command": {Command: []string{"npx", "-y", "x&y=z", ""}, Workspace: []string{"/a b", "/ü"}, Mode: "snapshot"},
	} {
		q, err := url.ParseQuery(a.Query().Encode())
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseAttach(q)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(a, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestParseAttachRefuses(t *testing.T) {
	for name, query := range map[string]string{
		"nothing":          "",
		"both":             "server=a&command=b",
		"a pid that isn't": "server=a&pid=x",
		"a negative pid":   "server=a&pid=-1",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseAttach(q); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestBytesReadAheadComeFirst copies to a file, for which io.Copy moves bytes within the kernel.
func TestBytesReadAheadComeFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "first, second")
		_ = conn.Close()
	}()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ahead := bufio.NewReaderSize(io.LimitReader(conn, 5), 16)
	if _, err := ahead.Peek(5); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	n, err := io.Copy(out, NewStdio(conn, ahead))
	if err != nil || n != 13 {
		t.Errorf("copied %d, %v", n, err)
	}
	if got, err := os.ReadFile(out.Name()); err != nil || string(got) != "first, second" {
		t.Errorf("got %q, %v", got, err)
	}
}
