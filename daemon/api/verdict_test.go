package api

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestCarry(t *testing.T) {
	var failed bytes.Buffer
	failed.WriteString("{\"id\":1}\n")
	if err := EndFailed(&failed, "files does not start: no such program"); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ comes, carried, verdict string }{
		"a session that went well":     {"{}\n{}\n", "{}\n{}\n", ""},
		"nothing at all":               {"", "", ""},
		"a session that failed":        {failed.String(), "{\"id\":1}\n", "files does not start: no such program"},
		"a verdict alone":              {"\x00why", "", "why"},
		"a verdict without end":        {"{}\n\x00" + strings.Repeat("x", 2*maxVerdict), "{}\n", strings.Repeat("x", maxVerdict)},
		"a verdict that is no text":    {"\x00\xff!", "", "?!"},
		"a message longer than blocks": {strings.Repeat("y", 100_000) + "\x00why", strings.Repeat("y", 100_000), "why"},
	} {
		for kind, r := range map[string]io.Reader{
			"at once": strings.NewReader(test.comes), "byte by byte": iotest.OneByteReader(strings.NewReader(test.comes)),
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				var w bytes.Buffer
				verdict, err := Carry(&w, r)
				if err != nil || w.String() != test.carried || !strings.HasPrefix(verdict, test.verdict) || (verdict == "") != (test.verdict == "") {
					t.Errorf("carried %d bytes, %q, %v", w.Len(), verdict, err)
				}
			})
		}
	}
	t.Run("what breaks", func(t *testing.T) {
		broken := errors.New("broken")
		if _, err := Carry(io.Discard, iotest.ErrReader(broken)); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
}
