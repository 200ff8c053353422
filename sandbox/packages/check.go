package packages

import (
	"fmt"
	"slices"

	"github.com/containerd/errdefs"

	"github.com/garita-dev/garita/sandbox"
)

// Check refuses (FailedPrecondition) a package that is not the one the lock remembers.
func Check(got sandbox.Package, want *sandbox.Package) error {
	if want == nil {
		return nil
	}
	for _, c := range []struct{ what, got, want string }{
		{"the package", string(got.Ecosystem) + " " + got.Name, string(want.Ecosystem) + " " + want.Name},
		{"the version", got.Version, want.Version},
		{"the registry's integrity", got.Integrity, want.Integrity},
		{"the digest of its dependencies", string(got.Tree), string(want.Tree)},
	} {
		if c.got != c.want {
			return fmt.Errorf("%s@%s is not what garita.lock says: %s is %s, the lock has %s; to take the new one, remove the entry from garita.lock: %w",
				want.Name, want.Version, c.what, c.got, c.want, errdefs.ErrFailedPrecondition)
		}
	}
	for _, s := range want.Ran() {
		if !slices.ContainsFunc(got.Scripts, s.Same) {
			return fmt.Errorf("%s@%s is not what garita.lock says: the install script of %s is not the one that was approved; to look at it anew, remove the entry from garita.lock: %w",
				want.Name, want.Version, s.Spec(), errdefs.ErrFailedPrecondition)
		}
	}
	return nil
}
