package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/garita-dev/garita/sandbox/ocispec"
)

const etcDir = "/run/garita/etc"

// rootIDs is where container ids go in root mode, where no range of subordinate ids is needed.
const rootIDs = 100_000

// topDirs are, on hosts with a merged /usr, links into it.
var topDirs = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}

// findHost reads what every sandbox's spec depends on and makes the synthetic /etc.
func findHost(cfg Config) (ocispec.Host, error) {
	if err := makeEtc(etcDir); err != nil {
		return ocispec.Host{}, fmt.Errorf("make the sandboxes' /etc: %w", err)
	}
	h := ocispec.Host{IDs: cfg.IDs, FirstID: 1, Cgroups: cfg.Cgroups, Init: cfg.Init, Etc: etcDir}
	if cfg.Root {
		h.IDs, h.FirstID = 0, rootIDs
	}
	for _, d := range topDirs {
		if info, err := os.Lstat("/" + d); err == nil && info.IsDir() {
			h.TopDirs = append(h.TopDirs, "/"+d)
		}
	}
	return h, nil
}

// makeSkeleton makes the empty root that the host's directories are mounted into. Each sandbox has
// its own: runc makes mount points in it, and their names are nobody else's business.
func makeSkeleton(dir string) error {
	for _, d := range []string{
		".garita", "dev", "etc", "home", "opt/garita/package", "proc", "run", "sys", "tmp", "usr",
		"var/tmp", "workspace",
	} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	// runc gives a tmpfs the mode of the directory that it covers.
	for _, d := range []string{"tmp", "var/tmp"} {
		if err := os.Chmod(filepath.Join(dir, d), 0o777|fs.ModeSticky); err != nil {
			return err
		}
	}
	for _, d := range topDirs {
		target, err := os.Readlink("/" + d)
		if err != nil {
			continue // absent, or a real directory that is mounted
		}
		if err := os.Symlink(target, filepath.Join(dir, d)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
