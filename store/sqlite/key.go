package sqlite

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"
)

// key signs anchors, and with a key derived from it authenticates the head file.
type key struct {
	private ed25519.PrivateKey
	head    []byte // the head file's HMAC key
}

func newKey(seed []byte) key {
	mac := hmac.New(sha256.New, seed)
	mac.Write([]byte("garita audit head 1"))
	return key{ed25519.NewKeyFromSeed(seed), mac.Sum(nil)}
}

func (k key) public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// sign completes a.
func (k key) sign(id logID, a anchor) anchor {
	a.sig = [ed25519.SignatureSize]byte(ed25519.Sign(k.private, a.message(id)))
	return a
}

// openKey reads the 32-byte seed at path, or makes one there, readable by its owner alone. A file
// that others may read, or that is no regular file, is refused (FailedPrecondition).
func openKey(path string) (key, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(path)
	}
	if err != nil {
		return key{}, fmt.Errorf("open audit key: %w", err)
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return key{}, fmt.Errorf("open audit key: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return key{}, fmt.Errorf("open audit key %s: it must be a regular file that only its owner can read (chmod 600): %w", path, errdefs.ErrFailedPrecondition)
	}
	seed, err := io.ReadAll(io.LimitReader(f, ed25519.SeedSize+1))
	if err != nil {
		return key{}, fmt.Errorf("read audit key: %w", err)
	}
	if len(seed) != ed25519.SeedSize {
		return key{}, fmt.Errorf("read audit key %s: it has %d bytes instead of %d: %w", path, len(seed), ed25519.SeedSize, errdefs.ErrFailedPrecondition)
	}
	return newKey(seed), nil
}

// makeKey writes a new seed. It is whole on disk, under its name, before it is used.
func makeKey(path string) (key, error) {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	if err := writeNew(path, seed); err != nil {
		return key{}, fmt.Errorf("make audit key: %w", err)
	}
	return newKey(seed), nil
}

// writeNew puts a file of mode 0600 at path, whole or not at all, and not over another.
func writeNew(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".garita-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
