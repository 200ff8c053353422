package door

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`

func TestPagesGetNoFurtherThanTheGuard(t *testing.T) {
	f := one(newStub().serve)
	_, url := open(t, Options{Backend: f})
	host := strings.TrimPrefix(url, "http://")
	_, port, _ := net.SplitHostPort(host)
	c := &client{t: t, url: url + "/mcp/srv", token: "secret"}
	refused := func(t *testing.T, reason string, headers ...string) {
		t.Helper()
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodOptions} {
			resp := c.ask(t.Context(), method, initialize, headers...)
			if resp.StatusCode != http.StatusForbidden || resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s with %q: %d", method, headers, resp.StatusCode)
			}
			if got := f.take(); len(got) != 1 || got[0].Reason != reason {
				t.Errorf("%s with %q: recorded %+v", method, headers, got)
			}
		}
		if n := f.starts("srv"); n != 0 {
			t.Errorf("%d servers were started", n)
		}
	}
	t.Run("attack_H01", func(t *testing.T) {
		refused(t, "host", "Host", "evil.example:"+port)
		refused(t, "origin", "Origin", "http://evil.example")
	})
	t.Run("attack_H02", func(t *testing.T) {
		for _, origin := range []string{
			"null", "http://localhost.evil.example", "http://127.0.0.1.nip.io", "http://127.0.0.1:" + port + "@evil",
			"http://localhost", "https://localhost:" + port, "http://localhost:1", "http://localhost:" + port + "/", "file://",
		} {
			refused(t, "origin", "Origin", origin)
		}
		for _, h := range []string{"localhost", "127.0.0.1", "localhost.:" + port, "0.0.0.0:" + port, "127.0.0.2:" + port, "localhost:1", "[::ffff:127.0.0.1]:" + port} {
			refused(t, "host", "Host", h)
		}
	})
	for _, h := range []string{"localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port} {
		if status, _ := c.post(initialize, "Host", h, "Origin", "http://"+h); status != http.StatusOK {
			t.Errorf("%s: %d", h, status)
		}
	}
}

func TestTokens(t *testing.T) {
	f := one(newStub().serve)
	f.reach["tok1"] = []string{"other", "srv"}
	_, url := open(t, Options{Backend: f})
	c := &client{t: t, url: url + "/mcp/srv"}
	t.Run("attack_H03", func(t *testing.T) {
		var bodies []string
		for name, headers := range map[string][]string{
			"none": nil, "wrong": {"Authorization", "Bearer nope"}, "other scheme": {"Authorization", "Basic secret"},
			"no scheme": {"Authorization", "secret"}, "empty": {"Authorization", "Bearer "}, "two": {"Authorization", "Bearer a Bearer secret"},
		} {
			c.url = url + "/mcp/srv?access_token=secret&token=secret"
			resp := c.ask(t.Context(), http.MethodPost, initialize, headers...)
			var b bytes.Buffer
			_, _ = b.ReadFrom(resp.Body)
			bodies = append(bodies, b.String())
			if resp.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s: %d, %q", name, resp.StatusCode, resp.Header)
			}
			for _, r := range f.take() {
				if r.Reason != "token" || strings.Contains(r.Path+r.Host+r.Origin, "secret") {
					t.Errorf("%s: recorded %+v", name, r)
				}
			}
		}
		for _, b := range bodies {
			if b != bodies[0] {
				t.Errorf("bodies differ: %q", bodies)
			}
		}
	})
	t.Run("another server than the token is for is no server", func(t *testing.T) {
		var bodies []string
		for path, token := range map[string]string{"/mcp/other": "second", "/mcp/nowhere": "second", "/mcp/srv/x": "secret", "/mcp/": "secret", "/mcpx": "secret"} {
			resp := (&client{t: t, url: url + path, token: token}).ask(t.Context(), http.MethodPost, initialize)
			var b bytes.Buffer
			_, _ = b.ReadFrom(resp.Body)
			bodies = append(bodies, b.String())
			if got := f.take(); resp.StatusCode != http.StatusNotFound || len(got) != 1 || got[0].Reason != "server" {
				t.Errorf("%s: %d, recorded %+v", path, resp.StatusCode, got)
			}
		}
		if d := cmp.Diff(bodies, []string{bodies[0], bodies[0], bodies[0], bodies[0], bodies[0]}, cmpopts.SortSlices(strings.Compare)); d != "" {
			t.Error(d)
		}
	})
	if n := f.starts("srv") + f.starts("other"); n != 0 {
		t.Errorf("%d servers were started", n)
	}
}

// The matrix is of the page's routes; here it is put to the door, with a token where a page would
// have had its own.
func TestTheMatrixOfThePageHoldsForTheDoor(t *testing.T) {
	t.Run("report_T05", func(t *testing.T) {
		f := one(newStub().serve)
		_, url := open(t, Options{Backend: f})
		address := strings.TrimPrefix(url, "http://")
		_, port, _ := net.SplitHostPort(address)
		for _, block := range strings.Split(string(fieldInput(t, "T05.http")), "%%\n") {
			want, raw, _ := strings.Cut(block, "\n")
			status, header := exchange(t, address, toDoor(raw, port))
			switch {
			case strings.Contains(want, "want allow"):
				if status != http.StatusOK {
					t.Errorf("%s\ngot %d", block, status)
				}
			case strings.Contains(want, "401 (an MCP client's"):
				continue // here it is one
			default:
				if status != http.StatusForbidden && status != http.StatusUnauthorized {
					t.Errorf("%s\ngot %d", block, status)
				}
			}
			if header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s\nallowed an origin", block)
			}
		}
	})
}

// toDoor is a request of the matrix as it would come to the door.
func toDoor(raw, port string) string {
	head, _, _ := strings.Cut(strings.ReplaceAll(raw, "PORT", port), "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	var out []string
	for i, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		switch {
		case i == 0:
			out = append(out, strings.Fields(line)[0]+" /mcp/srv HTTP/1.1", "Accept: application/json, text/event-stream", "Connection: close")
		case name == "X-Garita-Token":
			out = append(out, "Authorization: Bearer secret")
		case name != "Content-Length" && name != "Connection":
			out = append(out, line)
		}
	}
	return strings.Join(out, "\r\n") + "\r\nContent-Length: " + strconv.Itoa(len(initialize)) + "\r\n\r\n" + initialize
}

func exchange(t *testing.T, address, raw string) (int, http.Header) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(raw)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	f := one(newStub().serve)
	_, url := open(t, Options{Backend: f, MaxBody: 1000})
	c := &client{t: t, url: url + "/mcp/srv", token: "secret"}
	for name, tt := range map[string]struct {
		body    string
		headers []string
		status  int
		code    string
	}{
		"not JSON":           {`{`, nil, 400, "-32700"},
		"duplicate method":   {`{"jsonrpc":"2.0","id":1,"method":"initialize","method":"x"}`, nil, 400, "-32600"},
		"empty":              {``, nil, 400, "-32600"},
		"too long":           {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 2000) + `"}`, nil, 413, "-32600"},
		"text":               {initialize, []string{"Content-Type", "text/plain"}, 415, "-32600"},
		"no Content-Type":    {initialize, []string{"Content-Type", ""}, 415, "-32600"},
		"JSON alone":         {initialize, []string{"Accept", "application/json"}, 406, "-32600"},
		"events alone":       {initialize, []string{"Accept", "text/event-stream"}, 406, "-32600"},
		"no session":         {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, 400, "-32600"},
		"a version to come":  {initialize, []string{"MCP-Protocol-Version", "2099-01-01"}, 400, "-32602"},
		"batch at the start": {"[" + initialize + "]", nil, 400, "-32600"},
	} {
		t.Run(name, func(t *testing.T) {
			status, got := c.post(tt.body, tt.headers...)
			if status != tt.status || len(got) != 1 || codeOf(got[0]) != tt.code {
				t.Errorf("%d %s, want %d, %s", status, raws(got), tt.status, tt.code)
			}
		})
	}
	if n := f.starts("srv"); n != 0 {
		t.Errorf("%d servers were started", n)
	}
	if resp := c.ask(t.Context(), http.MethodPut, initialize); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", resp.StatusCode)
	}
	if status, _ := c.post(initialize, "Content-Type", "application/json; charset=utf-8", "Accept", "*/*"); status != http.StatusOK {
		t.Errorf("wider headers: %d", status)
	}
}

func TestTheDoorClosed(t *testing.T) {
	d, url := open(t, Options{Backend: one(newStub().serve)})
	c := &client{t: t, url: url + "/mcp/srv", token: "secret"}
	c.initialize("2025-11-25")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != http.StatusNotFound {
		t.Errorf("the session: %d", status)
	}
	if status, _ := (&client{t: t, url: c.url, token: "secret"}).post(initialize); status != http.StatusServiceUnavailable {
		t.Errorf("a new one: %d", status)
	}
	if status, _ := c.post(modernBody("1", "tools/list", ""), modern("tools/list", "", "Mcp-Session-Id", "")...); status != http.StatusServiceUnavailable {
		t.Errorf("modern: %d", status)
	}
}
