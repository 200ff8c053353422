package gateway

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/daemon/protocol"
)

// full is what a server says that can do everything.
const full = `"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true},"completions":{},"logging":{}},"serverInfo":{"name":"m","version":"1"}`

// beside is what such a server answers but tools.
func beside(hello string) model {
	return func(s *stub, m protocol.Message) {
		switch m.Method {
		case protocol.MethodInitialize, protocol.MethodDiscover:
			s.reply(m, hello)
			s.print(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"secret://a"}}`)
			s.print(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
		case protocol.MethodToolsList:
			s.reply(m, tools("read_a", "write_b"))
		default:
			s.reply(m, `{"said":"secret"}`)
		}
	}
}

func TestATokenForSomeToolsOpensNothingElse(t *testing.T) {
	bubble(t, "legacy", func(t *testing.T) {
		w := newModelWorld(beside(`{"protocolVersion":"2025-06-18",`+full+`}`), "", func(o *Options) { o.Allow = []string{"read_*"} })
		w.say(legacyHello)
		synctest.Wait()
		refused := []string{
			`"prompts/list"`, `"prompts/get","params":{"name":"x"}`, `"resources/list"`, `"resources/templates/list"`, `"resources/read","params":{"uri":"secret://a"}`,
			`"resources/subscribe","params":{"uri":"secret://a"}`, `"completion/complete","params":{"ref":{"type":"ref/prompt","name":"x"}}`, `"vendor/x"`,
		}
		for i, r := range refused {
			w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%s}`+"\n", 100+i, r))
		}
		w.say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n")
		seen := w.over(t)
		if strings.Contains(seen, "secret") || strings.Contains(seen, "write_b") || strings.Contains(seen, "prompts/list_changed") {
			t.Errorf("the client saw %s", seen)
		}
		for i, r := range refused {
			if got := answersTo(seen, fmt.Sprint(100+i)); len(got) != 1 || !strings.Contains(got[0], "-32601") {
				t.Errorf("%s: %q", r, got)
			}
		}
		if !strings.Contains(seen, "read_a") || !strings.Contains(seen, `"capabilities":{"tools":{"listChanged":true},"logging":{}}`) {
			t.Errorf("the client saw %s", seen)
		}
	})
	bubble(t, "modern", func(t *testing.T) {
		w := newModelWorld(beside(`{"supportedVersions":["2026-07-28"],`+full+`,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`), "", func(o *Options) { o.Allow = []string{"read_*"} })
		w.say(modern(1, protocol.MethodDiscover, ""))
		w.say(modern(2, "resources/read", `"uri":"secret://a"`))
		w.say(modern(3, protocol.MethodListen, `"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["secret://a"]}`))
		synctest.Wait()
		sent := w.seenByServer()
		seen := w.over(t)
		if strings.Contains(seen, `"prompts"`) || strings.Contains(seen, `"resources"`) || !strings.Contains(answersTo(seen, "2")[0], "-32601") {
			t.Errorf("the client saw %s", seen)
		}
		if strings.Contains(sent, "secret://a") || !strings.Contains(sent, `"notifications":{"toolsListChanged":true}`) {
			t.Errorf("the server saw %s", sent)
		}
	})
	bubble(t, "a client without limits", func(t *testing.T) {
		w := newModelWorld(beside(`{"protocolVersion":"2025-06-18",`+full+`}`), "", nil)
		w.say(legacyHello)
		synctest.Wait()
		w.say(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"secret://a"}}` + "\n")
		if diff := cmp.Diff([]string{`{"jsonrpc":"2.0","id":2,"result":{"said":"secret"}}`}, answersTo(w.over(t), "2")); diff != "" {
			t.Error(diff)
		}
	})
}
