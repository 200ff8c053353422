//go:build !desktop

package app

import "errors"

// run says how to get a window: this binary was compiled without one.
func run([]string) error {
	return errors.New("compiled without a window; build it with " +
		"`go build -tags desktop,production,webkit2_41 -o bin/garita-desktop .`, or open the page with `garita ui`")
}
