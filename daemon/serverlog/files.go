package serverlog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sys/unix"

	"github.com/garita-dev/garita/sandbox"
)

const (
	// share is the part of the bound that one sandbox's log may have: a loud one does not push all
	// others out.
	share = 8
	// halves: a log is two files, the older of which goes when the newer is full.
	halves = 2
	// flushEvery is how often at most a repeated line's number is brought up to date on disk.
	flushEvery = time.Minute
)

// Dir is the folder of the logs: SERVER/SANDBOX.jsonl, a JSON object a line, and .1.jsonl before it.
// Its methods may overlap.
type Dir struct {
	path string

	mu    sync.Mutex // guards the fields below
	bound int64      // bytes of all logs
	size  int64      // about what they have
	off   bool       // the disk is low
}

// Open opens the logs in a folder that it makes if need be. Nothing is kept until Bound says how much.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("open the servers' logs: %w", err)
	}
	return &Dir{path: path}, nil
}

// Bound sets how many bytes all logs together may have, 0 for none, and whether they are to stop
// while the disk is low. The oldest go.
func (d *Dir) Bound(bytes int64, off bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bound, d.off = bytes, off
	return d.trim()
}

// Log begins the log of one sandbox. Whoever begins it closes it.
func (d *Dir) Log(server sandbox.ServerName, id sandbox.InstanceID) *Log {
	return &Log{dir: d, path: filepath.Join(d.path, filepath.Base(string(server)), filepath.Base(string(id)))}
}

// entry is one line on disk.
type entry struct {
	At      time.Time `json:"at"`
	Text    string    `json:"text"`
	Times   int64     `json:"times,omitempty"`   // how often it has come so far, when more than once
	Skipped int64     `json:"skipped,omitempty"` // lines let go before it
}

// Log is one sandbox's. Its methods may overlap.
type Log struct {
	dir  *Dir
	path string // without .jsonl

	mu      sync.Mutex // guards the fields below
	file    *os.File
	size    int64
	pending *entry // a repetition that is not on disk yet
	flushed time.Time
}

// Add keeps a line. Repetitions are written when they are worth it, when another line comes, or by
// Close. It is an error when the line cannot be written; the server runs on.
func (l *Log) Add(v Verdict, skipped int64, now time.Time) error {
	e := entry{At: now.UTC(), Text: v.Text, Skipped: skipped}
	l.mu.Lock()
	defer l.mu.Unlock()
	if v.New {
		return errors.Join(l.flush(now), l.write(e))
	}
	e.Times = v.Times
	l.pending = &e
	if !v.Worth && now.Sub(l.flushed) < flushEvery {
		return nil
	}
	return l.flush(now)
}

// flush writes the repetition that waits. l.mu is held.
func (l *Log) flush(now time.Time) error {
	if l.pending == nil {
		return nil
	}
	e := *l.pending
	l.pending, l.flushed = nil, now
	return l.write(e)
}

// write appends one line. l.mu is held.
func (l *Log) write(e entry) error {
	line, err := json.Marshal(e, jsontext.AllowInvalidUTF8(true), jsontext.EscapeForHTML(false))
	if err != nil {
		return fmt.Errorf("keep a server's line: %w", err)
	}
	line = append(line, '\n')
	room, err := l.dir.take(int64(len(line)))
	if err != nil || room == 0 {
		return err
	}
	if l.file != nil && l.size+int64(len(line)) > room {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	if l.file == nil {
		if err := l.open(); err != nil {
			return err
		}
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	if err != nil {
		return fmt.Errorf("keep a server's line: %w", err)
	}
	return nil
}

func (l *Log) open() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return fmt.Errorf("keep a server's line: %w", err)
	}
	f, err := os.OpenFile(l.path+".jsonl", os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("keep a server's line: %w", err)
	}
	l.file, l.size = f, 0
	return nil
}

// rotate makes the log the older half, over the one there was.
func (l *Log) rotate() error {
	err := errors.Join(l.file.Close(), ignoreGone(os.Rename(l.path+".jsonl", l.path+".1.jsonl"))) // trimmed away already
	l.file, l.size = nil, 0
	if err != nil {
		return fmt.Errorf("rotate a server's log: %w", err)
	}
	return nil
}

// Close writes what waits and ends the log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.flush(time.Now())
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
		l.file = nil
	}
	return err
}

// take makes room for n bytes and says how long one file may be; 0 when nothing is kept.
func (d *Dir) take(n int64) (room int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off || d.bound == 0 {
		return 0, nil
	}
	if d.size += n; d.size > d.bound {
		err = d.trim()
	}
	return d.bound / share / halves, err
}

// kept is one file.
type kept struct {
	path string
	size int64
	at   time.Time
}

// trim removes the oldest files until all are well within the bound. d.mu is held.
func (d *Dir) trim() error {
	files, err := d.files()
	if err != nil {
		return err
	}
	d.size = 0
	for _, f := range files {
		d.size += f.size
	}
	for _, f := range files {
		if d.size <= d.bound-d.bound/share {
			break
		}
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an old log: %w", err)
		}
		d.size -= f.size
	}
	return nil
}

// files are all logs, the one written longest ago first.
func (d *Dir) files() ([]kept, error) {
	var all []kept
	err := filepath.WalkDir(d.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Ext(path) != ".jsonl" {
			return ignoreGone(err)
		}
		info, err := e.Info()
		if err == nil {
			all = append(all, kept{path, info.Size(), info.ModTime()})
		}
		return ignoreGone(err)
	})
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.path, b.path)) })
	if err != nil {
		return nil, fmt.Errorf("list the servers' logs: %w", err)
	}
	return all, nil
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
