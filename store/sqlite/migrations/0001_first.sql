-- +goose Up
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

-- The audit log. A row is never changed; hash covers every other column, see chain.go.
CREATE TABLE events (
    seq     INTEGER PRIMARY KEY, -- from 1, without gaps
    at      INTEGER NOT NULL,    -- unix microseconds, UTC
    kind    TEXT    NOT NULL,
    uid     INTEGER NOT NULL,    -- of the principal
    client  TEXT    NOT NULL,    -- of the principal; '' for none
    session TEXT    NOT NULL,    -- '' for none
    server  TEXT    NOT NULL,    -- '' for none
    call    TEXT    NOT NULL,    -- '' for none
    body    TEXT    NOT NULL,    -- compact JSON object
    prev    BLOB    NOT NULL,    -- 32 bytes: hash of the event before
    hash    BLOB    NOT NULL     -- 32 bytes: SHA-256
) STRICT;
CREATE INDEX events_call ON events (call, seq) WHERE call <> '';

-- Signed statements "event seq has this hash, and so everything before it is as it was".
CREATE TABLE anchors (
    seq  INTEGER PRIMARY KEY, -- of the event
    at   INTEGER NOT NULL,    -- unix microseconds, UTC
    prev INTEGER NOT NULL,    -- seq of the anchor before, 0 for the first
    hash BLOB    NOT NULL,    -- 32 bytes: the event's
    sig  BLOB    NOT NULL     -- 64 bytes: ed25519
) STRICT;

-- Finished calls, for listings; everything about one is in its call.finished event.
CREATE TABLE calls (
    pos     INTEGER PRIMARY KEY,  -- start in unix microseconds, UTC, moved up to be unique: the order of listings
    id      TEXT    NOT NULL,
    seq     INTEGER NOT NULL,     -- of its call.finished event
    server  TEXT    NOT NULL,
    class   TEXT    NOT NULL,     -- read | write | destroy | execute
    answer  TEXT    NOT NULL,     -- how the question ended; '' when nobody was asked
    outcome TEXT    NOT NULL      -- done | failed | refused | withheld | unknown
) STRICT;
CREATE INDEX calls_server ON calls (server, pos) WHERE class <> 'read';

-- Questions put to a person; the call and why it was asked are in the approval.asked event.
CREATE TABLE requests (
    id       TEXT    PRIMARY KEY,
    seq      INTEGER NOT NULL, -- of its approval.asked event
    outcome  TEXT    NOT NULL, -- pending | approved | denied | expired | withdrawn
    answered INTEGER NOT NULL, -- unix microseconds, UTC; 0 while pending
    by       TEXT    NOT NULL  -- who answered; '' when nobody did
) STRICT;
CREATE INDEX requests_pending ON requests (seq) WHERE outcome = 'pending';

-- Tools that may no longer pass as reads.
CREATE TABLE demotions (
    server TEXT    NOT NULL,
    tool   TEXT    NOT NULL,
    reason TEXT    NOT NULL, -- one sentence
    call   TEXT    NOT NULL, -- the call that showed it
    at     INTEGER NOT NULL, -- unix microseconds, UTC
    PRIMARY KEY (server, tool)
) STRICT;

-- Overlays that agents own.
CREATE TABLE workspaces (
    id      TEXT    PRIMARY KEY,
    server  TEXT    NOT NULL,
    uid     INTEGER NOT NULL, -- of the principal
    client  TEXT    NOT NULL, -- of the principal; '' for none
    folders TEXT    NOT NULL, -- JSON array of absolute paths
    created INTEGER NOT NULL, -- unix microseconds, UTC
    UNIQUE (server, uid, client, folders)
) STRICT;
