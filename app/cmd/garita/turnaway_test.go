package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/garita-dev/garita/daemon/api"
)

func TestAClientThatIsNotServedIsTold(t *testing.T) {
	cause := &api.Problem{Title: "There is no server named \"nope\"", Next: "garita server list"}
	const says = `"error":{"code":-32603,"message":"garita: There is no server named \"nope\"\n  garita server list"}}`
	for name, c := range map[string]struct{ line, want string }{
		"a number":       {`{"jsonrpc":"2.0","id":9007199254740993,"method":"initialize","params":{}}`, `{"jsonrpc":"2.0","id":9007199254740993,` + says},
		"a text":         {`{"id":"a\u0062","method":"initialize"}`, `{"jsonrpc":"2.0","id":"a\u0062",` + says},
		"with a mark":    {"\xef\xbb\xbf" + `{"id":1,"method":"initialize"}` + "\r", `{"jsonrpc":"2.0","id":1,` + says},
		"a notification": {`{"method":"notifications/initialized"}`, ""},
		"an answer":      {`{"id":1,"result":{}}`, ""},
		"no id at all":   {`{"id":null,"method":"x"}`, ""},
		"two ids":        {`{"id":1,"id":2,"method":"x"}`, ""},
		"not JSON":       {`hello`, ""},
		"nothing":        {``, ""},
	} {
		got, _ := refusalOf([]byte(c.line), cause)
		if strings.TrimSuffix(string(got), "\n") != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestTurningAwayWritesOneAnswer(t *testing.T) {
	c, out, _ := testCLI(t, `{"id":7,"method":"initialize"}`+"\n"+`{"id":8,"method":"ping"}`+"\n")
	c.turnAway(t.Context(), errors.New("no"))
	if got := out.String(); got != `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"garita: no"}}`+"\n" {
		t.Errorf("got %s", got)
	}
	c, out, _ = testCLI(t, `{"id":7,"method":"initialize"}`)
	c.asks = true
	c.turnAway(t.Context(), errors.New("no"))
	if out.Len() != 0 {
		t.Errorf("a person got %s", out)
	}
}

func TestExpiry(t *testing.T) {
	now := time.Unix(1e9, 0)
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "12h": 12 * time.Hour, "90m": 90 * time.Minute} {
		if at, err := expiry(text, now); err != nil || at.Sub(now) != want {
			t.Errorf("%s: %v, %v", text, at, err)
		}
	}
	if at, err := expiry("", now); at != nil || err != nil {
		t.Errorf("nothing: %v, %v", at, err)
	}
	for _, bad := range []string{"30", "d", "-1d", "0h", "soon", "99999999999d"} {
		if at, err := expiry(bad, now); err == nil {
			t.Errorf("%s: %v", bad, at)
		}
	}
}
