package egress

import (
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

// cache keeps what came from registries: tarballs by the digest of their bytes, descriptions by
// registry and name. A nil cache keeps nothing. Several may share a folder.
type cache struct{ root *os.Root }

// cacheSize is how much is kept, in bytes; what was not used for the longest time goes first.
const cacheSize = 2 << 30

// openCache opens dir, which is made if need be; "" is no cache. The caller closes it.
func openCache(dir string) (*cache, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the cache of packages: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the cache of packages: %w", err)
	}
	return &cache{root}, nil
}

func (c *cache) close() {
	if c != nil {
		_ = c.root.Close()
	}
}

// tarballKey is where the tarball of that integrity is, "" for one that cannot be looked up.
func tarballKey(integrity string) string {
	text, ok := strings.CutPrefix(integrity, "sha512-")
	sum, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(sum) != sha512.Size {
		return ""
	}
	return "sha512-" + hex.EncodeToString(sum)
}

// descriptionKey is where a package's description is, as its registry gave it.
func descriptionKey(host, name, form string) string {
	return "npm_" + form + "_" + strings.NewReplacer(":", "_", "/", "_").Replace(host) + "_" + strings.ReplaceAll(name, "/", "%2f")
}

// description is one that was kept earlier. The caller closes it.
func (c *cache) description(key string) (*os.File, error) {
	if c == nil {
		return nil, fs.ErrNotExist
	}
	return c.open(key)
}

// tarball is the one of that integrity, if it is there and whole. The caller closes it.
func (c *cache) tarball(integrity string) (*os.File, error) {
	return c.whole(tarballKey(integrity), sha512.New(), "sha512-")
}

// file is one of Python's by its digest in hex, if it is there and whole. The caller closes it.
func (c *cache) file(digest string) (*os.File, error) {
	if digest == "" {
		return nil, fs.ErrNotExist
	}
	return c.whole(fileKey(digest), sha256.New(), "sha256-")
}

// fileKey is where a file of Python's is, by its digest in hex.
func fileKey(digest string) string { return "sha256-" + digest }

// whole opens what is kept by the digest of its bytes; what is not whole is removed.
func (c *cache) whole(key string, sum hash.Hash, prefix string) (*os.File, error) {
	if c == nil || key == "" {
		return nil, fs.ErrNotExist
	}
	f, err := c.open(key)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(sum, f)
	if err == nil && prefix+hex.EncodeToString(sum.Sum(nil)) != key {
		_ = c.root.Remove(key)
		err = errors.New("it is not what it was")
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (c *cache) open(key string) (*os.File, error) {
	f, err := c.root.Open(key)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	_ = c.root.Chtimes(key, now, now) // so that it goes last
	return f, nil
}

// spool is a file that is being written: all there is to it until it is kept or discarded.
type spool struct {
	*os.File
	cache *cache
	name  string
}

// spool begins a file. Without a cache it is one that nobody else can see.
func (c *cache) spool() (*spool, error) {
	if c == nil {
		f, err := os.CreateTemp("", "garita-*")
		if err != nil {
			return nil, err
		}
		return &spool{File: f}, os.Remove(f.Name())
	}
	name := fmt.Sprintf("new-%016x", rand.Uint64()) //nolint:gosec // only to be another one than the rest
	f, err := c.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	return &spool{f, c, name}, err
}

// keep gives the file its name in the cache; it stays open. "" keeps it nowhere.
func (s *spool) keep(key string) {
	if s.cache == nil {
		return
	}
	if key == "" || s.cache.root.Rename(s.name, key) != nil {
		_ = s.cache.root.Remove(s.name)
	}
	s.cache = nil
}

// discard ends the file; what was kept stays.
func (s *spool) discard() {
	s.keep("")
	_ = s.Close()
}

// trim removes what was not used for the longest time, until at most size bytes are left, and what
// was begun and never kept.
func (c *cache) trim(size int64) {
	if c == nil {
		return
	}
	entries, err := fs.ReadDir(c.root.FS(), ".")
	if err != nil {
		return
	}
	var all []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil:
		case strings.HasPrefix(e.Name(), "new-") && time.Since(info.ModTime()) > time.Hour:
			_ = c.root.Remove(e.Name())
		default:
			all = append(all, info)
			size -= info.Size()
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return cmp.Compare(a.ModTime().UnixNano(), b.ModTime().UnixNano()) })
	for _, info := range all {
		if size >= 0 {
			return
		}
		if c.root.Remove(info.Name()) == nil {
			size += info.Size()
		}
	}
}
