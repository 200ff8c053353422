package protocol

import (
	"errors"
	"io"
	"runtime"
	"testing"
)

// endless is a line of that many bytes. It watches what is in use while it is read.
type endless struct {
	left  int
	base  uint64
	worst uint64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	if before := e.left; before>>24 != (before-n)>>24 { // every 16 MiB
		e.worst = max(e.worst, inUse())
	}
	e.left -= n
	return n, nil
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestALineWithoutEndTakesBoundedMemory(t *testing.T) {
	t.Run("attack_H15", func(t *testing.T) {
		const limit = 8 << 20
		e := &endless{left: 300 << 20, base: inUse()}
		var bad *LineError
		if _, err := NewReader(e, limit).Read(); !errors.As(err, &bad) || !errors.Is(err, ErrTooLong) {
			t.Fatalf("read it: %v", err)
		}
		if grown := int64(e.worst) - int64(e.base); grown > 4*limit {
			t.Errorf("%d MiB in use for a limit of %d", grown>>20, limit>>20)
		}
	})
}

func TestTheIDOfAnAnswerThatIsTooLong(t *testing.T) {
	for in, want := range map[string]ID{
		`{"jsonrpc":"2.0","id":"a\"b","result":{"x":"`: `"a\"b"`,
		`{ "id" : 7, "jsonrpc":"2.0","result":{"x":"`:  "7",
		`{"jsonrpc":"2.0","result":{"x":"`:             "",
		`{"jsonrpc":"2.0","method":"x","id":7,"params`: "",
		`[{"id":1,`: "",
		`xxxx`:      "",
	} {
		if got := leadingID([]byte(in)); got != want {
			t.Errorf("%s: id %q, want %q", in, got, want)
		}
	}
}
