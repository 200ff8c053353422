-- +goose Up
-- A principal may have come in by a bearer token. The hash of an event that has none is what it was.
ALTER TABLE events ADD COLUMN token TEXT NOT NULL DEFAULT ''; -- id of the principal's token; '' for none

CREATE TABLE workspaces_2 (
    id      TEXT    PRIMARY KEY,
    server  TEXT    NOT NULL,
    uid     INTEGER NOT NULL, -- of the principal
    client  TEXT    NOT NULL, -- of the principal; '' for none
    token   TEXT    NOT NULL, -- of the principal; '' for none
    folders TEXT    NOT NULL, -- JSON array of absolute paths
    created INTEGER NOT NULL, -- unix microseconds, UTC
    UNIQUE (server, uid, client, token, folders)
) STRICT;
INSERT INTO workspaces_2 SELECT id, server, uid, client, '', folders, created FROM workspaces;
DROP TABLE workspaces;
ALTER TABLE workspaces_2 RENAME TO workspaces;

-- Bearer tokens of the HTTP door. The secret itself is nowhere.
CREATE TABLE tokens (
    id      TEXT    PRIMARY KEY,
    hash    BLOB    NOT NULL UNIQUE, -- 32 bytes: SHA-256 of the secret
    name    TEXT    NOT NULL,        -- for people
    servers TEXT    NOT NULL,        -- JSON array of server names
    tools   TEXT    NOT NULL,        -- JSON array of patterns; [] for every tool
    created INTEGER NOT NULL,        -- unix microseconds, UTC, as all below
    expires INTEGER NOT NULL,        -- 0 for never
    used    INTEGER NOT NULL,        -- last use, now and then written; 0 for never
    revoked INTEGER NOT NULL         -- 0 while it is not
) STRICT;

-- What a server was found to speak, so that it need not be probed at every start.
CREATE TABLE eras (
    key TEXT    PRIMARY KEY, -- the server's definition and its package's version, as the daemon puts them
    era TEXT    NOT NULL,    -- legacy | modern
    at  INTEGER NOT NULL     -- unix microseconds, UTC
) STRICT;
