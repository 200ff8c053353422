-- +goose Up
-- What a person has permitted beyond one call.
CREATE TABLE grants (
    id        TEXT    PRIMARY KEY, -- "g" and 16 hex digits
    scope     TEXT    NOT NULL,    -- session | until | always | collect
    uid       INTEGER NOT NULL,    -- of the principal, as client and token
    client    TEXT    NOT NULL,    -- '' for none
    token     TEXT    NOT NULL,    -- id; '' for none
    server    TEXT    NOT NULL,
    spec      TEXT    NOT NULL,    -- digest of the server's definition
    tool      TEXT    NOT NULL,    -- '' for all of the server's
    pin       TEXT    NOT NULL,    -- digest of the tool's definition; '' where tool is
    class     TEXT    NOT NULL,    -- read | write | destroy | execute; '' where tool is
    sensitive INTEGER NOT NULL,    -- 1: given for a tool that shows what is not for everybody
    session   TEXT    NOT NULL,    -- '' unless the scope is session
    workspace TEXT    NOT NULL,    -- '' unless the scope is collect
    until     INTEGER NOT NULL,    -- unix microseconds, UTC, as all below; 0 unless the scope is until
    arguments TEXT    NOT NULL,    -- JSON array of {path, equals, prefix, command}
    request   TEXT    NOT NULL,    -- id of the question it answered
    by        TEXT    NOT NULL,    -- who answered
    created   INTEGER NOT NULL,
    revoked   INTEGER NOT NULL,    -- 0 while it is not
    used      INTEGER NOT NULL,    -- last; 0 for never
    uses      INTEGER NOT NULL     -- how many calls it has let through
) STRICT;

-- Questions that nobody answered are shown until a person has seen that.
ALTER TABLE requests ADD COLUMN seen INTEGER NOT NULL DEFAULT 0; -- 1: a person has seen how it ended
UPDATE requests SET seen = 1;
CREATE INDEX requests_unseen ON requests (seq) WHERE outcome = 'expired' AND seen = 0;
