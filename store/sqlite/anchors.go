package sqlite

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
)

// newestAnchor is h's anchor, or the one after it in the database: a crash between a commit and its
// note in the head file leaves that behind. It must be signed by us.
func (w *writer) newestAnchor(ctx context.Context, h head, key ed25519.PublicKey) (anchor, error) {
	a, err := scanAnchor(w.conn.QueryRowContext(ctx, "SELECT seq, at, prev, hash, sig FROM anchors ORDER BY seq DESC LIMIT 1"))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return h.anchor, nil
	case err != nil:
		return h.anchor, err
	case a.seq > h.anchor.seq && a.seq <= h.seq && a.verify(h.id, key):
		return a, nil
	}
	return h.anchor, nil
}

// scanAnchor reads one row of the anchors. Columns of a wrong length leave the anchor false.
func scanAnchor(row scanner) (a anchor, err error) {
	var h, sig []byte
	if err := row.Scan(&a.seq, &a.at, &a.prev, &h, &sig); err != nil {
		return anchor{}, err
	}
	copy(a.hash[:], h)
	copy(a.sig[:], sig)
	return a, nil
}
