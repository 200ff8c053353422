package door

import (
	"context"
	"errors"
)

func serveAll(ctx context.Context, o Options, a Access, c Client) error {
	return errors.New("not yet")
}
