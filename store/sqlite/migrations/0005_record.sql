-- +goose Up
-- Which events tell of a call or a session. It follows the events, many at a time: see index.go.
CREATE TABLE mentions (
    id  TEXT    NOT NULL, -- of a call or a session
    seq INTEGER NOT NULL, -- of the event
    PRIMARY KEY (id, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO mentions SELECT call, seq FROM events WHERE call <> '';
INSERT OR IGNORE INTO mentions SELECT session, seq FROM events WHERE session <> '';
DROP INDEX events_call;
INSERT INTO meta (key, value)
    SELECT 'indexed', unhex(printf('%016X', max(seq))) FROM events WHERE seq > 0 HAVING max(seq) IS NOT NULL;
