package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/garita-dev/garita/sandbox"
)

// SnapshotName is the name of a package's immutable snapshot. It tells which install scripts ran.
func SnapshotName(p sandbox.Package) string {
	return fmt.Sprintf("%s/%s@%s/%s%s", p.Ecosystem, p.Name, p.Version, p.Tree, ranName(p.Ran()))
}

// ranName stands for the scripts that ran, "" for none.
func ranName(ran []sandbox.InstallScript) string {
	if len(ran) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, s := range ran {
		fmt.Fprintf(sum, "%q %q %q\n", s.Spec(), s.Integrity, s.Text)
	}
	return scriptsRan + hex.EncodeToString(sum.Sum(nil)[:8])
}

// scriptsRan is in the names of snapshots in which install scripts ran, and of no others.
const scriptsRan = "+scripts:"

// packageDir is the directory of the launch's package; "" without one. NotFound when it is not installed.
func (e *Engine) packageDir(ctx context.Context, b *box) (string, error) {
	if b.launch.Package == nil {
		return "", nil
	}
	return e.viewSnapshot(ctx, b, SnapshotName(*b.launch.Package))
}
