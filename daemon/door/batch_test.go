package door

import (
	"testing"

	"github.com/garita-dev/garita/daemon/protocol"
)

func TestABatchThatCancelsWhatItAsksIsNotWaitedFor(t *testing.T) {
	d := New(Options{})
	defer d.Close()
	s := newSession(d, visit{}, "0")
	s.version = protocol.V20250326
	m, err := protocol.Parse([]byte(`[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}},` +
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}]`))
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.asked(m, protocol.V20250326)
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.expect(all)
	if err != nil {
		t.Fatal(err)
	}
	s.after(m)
	if _, _, done, _ := st.from(0); !done || len(s.waiting) != 0 {
		t.Errorf("done %v, %d requests wait", done, len(s.waiting))
	}
}
