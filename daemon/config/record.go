package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
)

// Record bounds what is kept on disk of what has happened.
type Record struct {
	Size int64         // bytes of the audit log; its oldest segments are dropped beyond
	Keep time.Duration // age of an event; 0 means as long as there is room
	Free int64         // bytes the disk should have left; below it, as little as possible is kept
	Logs int64         // bytes of all servers' standard error together; 0 keeps none on disk
}

// The bounds where config.yaml says nothing.
const (
	recordSize = 512 << 20
	recordFree = 1 << 30
	recordLogs = 64 << 20
	// leastRecord is the smallest record that is worth something, in bytes.
	leastRecord = 1 << 20
)

type recordFile struct {
	Size string `yaml:"size"`
	Keep string `yaml:"keep"`
	Free string `yaml:"free"`
	Logs string `yaml:"logs"`
}

// over sets what the file says in r. On an error key is where it says so.
func (f recordFile) over(r *Record) (key []string, err error) {
	for _, s := range []struct {
		name, text string
		to         *int64
		least      int64
	}{
		{"size", f.Size, &r.Size, leastRecord},
		{"free", f.Free, &r.Free, 0},
		{"logs", f.Logs, &r.Logs, leastRecord},
	} {
		if err := setSize(s.to, s.text, s.least); err != nil {
			return []string{"record", s.name}, err
		}
	}
	if f.Keep == "" {
		return nil, nil
	}
	r.Keep, err = parseDays(f.Keep)
	return []string{"record", "keep"}, err
}

// setSize reads a size; "none" is 0, and "" changes nothing.
func setSize(to *int64, text string, least int64) error {
	switch text {
	case "":
		return nil
	case "none":
		*to = 0
		return nil
	}
	n, err := parseSize(text)
	if err == nil && n < least {
		err = fmt.Errorf("size %q: want %s or more: %w", text, formatSize(least), errdefs.ErrInvalidArgument)
	}
	if err == nil {
		*to = n
	}
	return err
}

// parseDays reads "90d", and what parseDuration reads.
func parseDays(text string) (time.Duration, error) {
	number, ok := strings.CutSuffix(text, "d")
	if !ok {
		return parseDuration(text)
	}
	days, err := strconv.ParseUint(number, 10, 16)
	if err != nil || days == 0 {
		return 0, fmt.Errorf("duration %q: want a number and a unit, such as 90d: %w", text, errdefs.ErrInvalidArgument)
	}
	return time.Duration(days) * 24 * time.Hour, nil
}
