package supervisor

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

const (
	ringLines = 200     // lines kept of one server's stderr
	lineBytes = 4 << 10 // bytes kept of one line
)

// ring keeps the last lines that a server's instances wrote to stderr.
type ring struct {
	mu   sync.Mutex
	kept []string
}

// drain reads r to its end, so that a server never blocks on a full pipe.
func (r *ring) drain(from io.Reader) {
	b := bufio.NewReaderSize(from, lineBytes)
	for {
		line, err := b.ReadSlice('\n')
		if len(line) > 0 {
			r.add(string(line))
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line is dropped
			_, err = b.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

func (r *ring) add(line string) {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, line)
	if len(r.kept) > ringLines {
		r.kept = append(r.kept[:0], r.kept[len(r.kept)-ringLines:]...)
	}
}

func (r *ring) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.kept...)
}
