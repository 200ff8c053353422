package engine

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Bounds of what is told of one call, in bytes.
const (
	maxPath = 1024 // longer paths are cut
	maxWord = 2048 // of a command that rules decide about
	maxArgs = 64   // of a command line, in words
	maxLine = 4096
)

// Bounds of what is read of one that rules decide about; a longer one is cut.
const (
	allArgs = 8192 // in words
	allLine = 512 << 10
)

const pageSize = 4096

// memory is a process's, by its thread. What is read there is hostile, and may change meanwhile.
type memory uint32

// read fills b from an address as far as that is mapped, and for a text until its end; it returns
// what was read.
func (m memory) read(address uint64, b []byte, text bool) []byte {
	n := 0
	for n < len(b) { // page by page: of one that is not there, nothing is read
		here := address + uint64(n)
		part := b[n:min(len(b), n+int(pageSize-here%pageSize))]
		local := []unix.Iovec{{Base: &part[0]}}
		local[0].SetLen(len(part))
		got, err := unix.ProcessVMReadv(int(m), local, []unix.RemoteIovec{{Base: uintptr(here), Len: len(part)}}, 0)
		if err != nil || got < len(part) {
			return b[:n+max(got, 0)]
		}
		n += got
		if text && bytes.IndexByte(part, 0) >= 0 {
			return b[:n]
		}
	}
	return b
}

// text is the string at an address, cut at limit and made valid UTF-8; ok is false when there is none.
func (m memory) text(address uint64, limit int) (s string, ok bool) {
	if address == 0 {
		return "", false
	}
	b := m.read(address, make([]byte, limit), true)
	if len(b) == 0 {
		return "", false
	}
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), true
}

// raw is the string at an address as it is; whole is false where it is longer than limit or not to be read.
func (m memory) raw(address uint64, limit int) (s string, whole bool) {
	size := min(limit, 256)
	for {
		b := m.read(address, make([]byte, size), true)
		end := bytes.IndexByte(b, 0)
		switch {
		case end >= 0:
			return string(b[:end]), true
		case len(b) < size || size == limit:
			return string(b), false
		}
		size = min(limit, 16*size)
	}
}

// words are those of the vector at an address as they are; whole is false where there are too many, or
// some are not to be read.
func (m memory) words(address uint64) (words []string, whole bool) {
	if address == 0 {
		return nil, true
	}
	left := allLine
	for len(words) < allArgs && left > 0 {
		vector := m.read(address, make([]byte, 8*maxArgs), false)
		address += uint64(len(vector))
		if len(vector) < 8 {
			return words, false
		}
		for ; len(vector) >= 8; vector = vector[8:] {
			at := binary.NativeEndian.Uint64(vector)
			if at == 0 {
				return words, true
			}
			word, ok := m.raw(at, left)
			words = append(words, word)
			if left -= len(word) + 1; !ok || left <= 0 {
				return words, false
			}
		}
	}
	return words, false
}

// place is where a system call has what we look for among its arguments.
type place struct {
	command bool
	path    int
	argv    int // noArgv where it is not read
	fd      int // of the directory that the path is relative to; -1 for the working directory
	flags   int // of open; -1 where nothing is opened
}

// dir is what a path is relative to, below the process's directory in /proc.
func (p place) dir(q *question) string {
	if p.fd < 0 || int32(q.args[p.fd]) == unix.AT_FDCWD { //nolint:gosec // an int of C
		return "cwd"
	}
	return "fd/" + strconv.Itoa(int(int32(q.args[p.fd]))) //nolint:gosec // as above
}

func (p place) writes(q *question) bool {
	return p.flags >= 0 && q.args[p.flags]&(unix.O_WRONLY|unix.O_RDWR|unix.O_CREAT) != 0
}

// callAt finds a call. What programs of another architecture do is not looked into but for what they
// execute.
func callAt(q *question) (place, bool) {
	p, known := calls[archCall{q.arch, q.call}]
	return p, known
}

const noArgv = -1

type archCall struct {
	arch uint32
	call int32
}
