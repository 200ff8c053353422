package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/garita-dev/garita/build/wire"
)

const (
	// floodRate is messages a second, both ways: half of them calls, half answers.
	floodRate = 1000
	// floodWarm is how long the daemon may grow to its working size before it is weighed.
	floodWarm = 3 * time.Second
)

// flood calls at a steady rate and tells what the daemon and its record weigh before and after.
func (b *bench) flood(ctx context.Context, d time.Duration) error {
	note("flood: %s", d)
	c, err := wire.Start(b.walled("", b.echo))
	if err != nil {
		return err
	}
	defer c.Kill()
	if _, _, err := c.Handshake("bench"); err != nil {
		return err
	}
	if _, err := b.pour(ctx, c, floodWarm); err != nil {
		return err
	}
	rss, wal := b.load()
	took, err := b.pour(ctx, c, d)
	if err != nil {
		return err
	}
	rssAfter, walAfter := b.load()
	fmt.Printf("\n**a steady load** (%d messages/s aimed at for %s: %.0f/s came through; p50 %s, p99 %s)\n\n", floodRate, d,
		2*float64(len(took))/d.Seconds(), ms(took.at(50)), ms(took.at(99)))
	fmt.Println("| | before | after |\n| --- | ---: | ---: |")
	fmt.Printf("| daemon, resident | %s | %s |\n| write-ahead log | %s | %s |\n", mb(rss), mb(rssAfter), mb(wal), mb(walAfter))
	return nil
}

// pour makes calls for a time, each at its moment or as soon as the one before has been answered.
func (b *bench) pour(ctx context.Context, c *wire.Client, d time.Duration) (sample, error) {
	tick := time.NewTicker(2 * time.Second / floodRate)
	defer tick.Stop()
	var took sample
	for end := time.Now().Add(d); time.Now().Before(end); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		one, err := call(c, "read_text", map[string]any{"text": "hello"})
		if err != nil {
			return nil, err
		}
		took = append(took, one)
	}
	return took, nil
}

// load is the daemon's own size, without its children, and its write-ahead log's, in bytes.
func (b *bench) load() (daemon, wal int64) {
	if info, err := os.Stat(filepath.Join(b.home(), "state", "garita.db-wal")); err == nil {
		wal = info.Size()
	}
	return weigh(b.daemon.Process.Pid), wal
}
