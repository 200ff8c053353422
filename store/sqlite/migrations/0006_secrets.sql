-- +goose Up
-- Values that servers may use. A value is here sealed only; the key is elsewhere (store/seal).
CREATE TABLE secrets (
    name    TEXT    PRIMARY KEY,
    version INTEGER NOT NULL, -- from 1; goes on when one is removed and set again
    sealed  BLOB,             -- AES-256-GCM; NULL where a command gives the value, or it was removed
    key     TEXT    NOT NULL, -- id of the key that sealed it; '' where sealed is NULL
    command TEXT    NOT NULL, -- JSON array, argv; [] where the value is kept
    created INTEGER NOT NULL, -- unix microseconds, UTC, as all below
    changed INTEGER NOT NULL,
    expires INTEGER NOT NULL, -- 0 for never
    removed INTEGER NOT NULL  -- 0 while it is there
) STRICT;

-- Which events tell of a secret's use.
CREATE TABLE secret_uses (
    secret TEXT    NOT NULL,
    seq    INTEGER NOT NULL, -- of its secret.used event
    PRIMARY KEY (secret, seq)
) STRICT, WITHOUT ROWID;
