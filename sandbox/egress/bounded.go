package egress

import (
	"errors"
	"io"
	"time"
)

var (
	errTooLarge = errors.New("the registry sent more than is allowed")
	errIdle     = errors.New("the registry fell silent")
)

// bounded reads at most left bytes, and calls cancel when nothing comes for the idle time. A body
// that is exactly as long as allowed passes; one byte more is errTooLarge.
type bounded struct {
	r     io.Reader
	left  int64
	idle  time.Duration
	timer *time.Timer
}

func newBounded(r io.Reader, limit int64, idle time.Duration, cancel func()) *bounded {
	return &bounded{r: r, left: limit, idle: idle, timer: time.AfterFunc(idle, cancel)}
}

func (b *bounded) stop() { b.timer.Stop() }

// Read reads from the body.
func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	if !b.timer.Reset(b.idle) && err != nil && err != io.EOF {
		return n, errIdle
	}
	return n, err
}

// counter counts what passes to w.
type counter struct {
	w io.Writer
	n int64
}

// Write passes p on.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
