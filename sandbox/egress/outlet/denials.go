package outlet

import (
	"sync"
	"time"

	"github.com/garita-dev/garita/sandbox"
)

const (
	// again is how long the same denial is only counted.
	again = 10 * time.Second
	// maxKept bounds what is remembered of a sandbox that tries many things.
	maxKept = 512
)

// denials reports what was refused; the same again and again is counted.
type denials struct {
	report func(sandbox.Denial)

	mu   sync.Mutex // guards kept
	kept map[denialKey]*kept
}

type denialKey struct {
	kind sandbox.DenialKind
	host string
	port uint16
	at   string
}

type kept struct {
	told  time.Time
	since int
}

func (d *denials) add(one sandbox.Denial) {
	one.At = time.Now().UTC()
	if one.Count = d.count(one); one.Count > 0 {
		d.report(one)
	}
}

// count is how many a report stands for; 0 when none is due.
func (d *denials) count(one sandbox.Denial) int {
	key := denialKey{one.Kind, one.Host, one.Port, one.Address}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept == nil || len(d.kept) >= maxKept {
		d.kept = map[denialKey]*kept{}
	}
	k := d.kept[key]
	if k == nil {
		k = &kept{}
		d.kept[key] = k
	}
	if k.since++; one.At.Sub(k.told) < again {
		return 0
	}
	n := k.since
	k.told, k.since = one.At, 0
	return n
}
