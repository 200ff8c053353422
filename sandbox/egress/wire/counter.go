package wire

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Counter is two numbers that the wall and the daemon share: how many events of a sandbox have
// happened, and how many bytes it has sent out. The wall counts events before they take effect, so
// the daemon knows without asking whether it has heard of everything that a call has done.
type Counter struct {
	file   *os.File
	memory []byte
}

// counterSize is one page.
const counterSize = 4096

// NewCounter makes one, at zero. The caller closes it.
func NewCounter() (*Counter, error) {
	fd, err := unix.MemfdCreate("garita-events", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a counter: %w", err)
	}
	file := os.NewFile(uintptr(fd), "counter")
	if err := file.Truncate(counterSize); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("make a counter: %w", err)
	}
	// Neither side can take memory away that the other one reads.
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("make a counter: %w", err)
	}
	return OpenCounter(file)
}

// OpenCounter uses a counter that was handed over, and owns file from then on.
func OpenCounter(file *os.File) (*Counter, error) {
	memory, err := unix.Mmap(int(file.Fd()), 0, counterSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("use a counter: %w", err)
	}
	return &Counter{file, memory}, nil
}

// File is to be handed over.
func (c *Counter) File() *os.File { return c.file }

func (c *Counter) value() *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&c.memory[0])) } //nolint:gosec // a page is aligned

// Add counts one more and returns the count.
func (c *Counter) Add() uint64 { return c.value().Add(1) }

// Now is the count.
func (c *Counter) Now() uint64 { return c.value().Load() }

func (c *Counter) sent() *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&c.memory[64])) } //nolint:gosec // a line of its own

// Send counts n bytes that leave the sandbox.
func (c *Counter) Send(n int) { c.sent().Add(uint64(n)) } //nolint:gosec // never negative

// Sent is how many bytes have left the sandbox.
func (c *Counter) Sent() uint64 { return c.sent().Load() }

// Close gives the memory back; no other method may be called afterwards.
func (c *Counter) Close() error {
	_ = unix.Munmap(c.memory)
	return c.file.Close()
}
