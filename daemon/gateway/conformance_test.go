package gateway

import (
	"strings"
	"testing"

	"github.com/garita-dev/garita/daemon/protocol"
)

// What the conformance suite found that transcripts had not.
func TestConformanceFindings(t *testing.T) {
	bubble(t, "there is no initialize in the modern era, and no server sees one", func(t *testing.T) {
		w := newModelWorld(func(s *stub, m protocol.Message) {
			if m.Method == protocol.MethodDiscover {
				s.reply(m, `{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}`)
			}
		}, "", nil)
		w.say(modern(1, "server/discover", ""))
		w.say(modern(2, "initialize", ""))
		seen := w.over(t)
		if a := answersTo(seen, "2"); len(a) != 1 || !strings.Contains(a[0], "-32601") {
			t.Errorf("initialize: %s", seen)
		}
		if strings.Contains(w.seenByServer(), `"initialize"`) {
			t.Errorf("the server saw %s", w.seenByServer())
		}
	})
}
