package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// connector opens connections to one database file.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return &sqlite3.SQLiteDriver{} }

// source is path as SQLite takes it, with settings. The page cache is bounded to 1 MiB a connection.
func source(path, settings string) connector {
	u := url.URL{Scheme: "file", Path: path, RawQuery: "_busy_timeout=5000&_cache_size=-1024&_trusted_schema=off&" + settings}
	return connector{u.String()}
}

func openReaders(path string) *sql.DB {
	db := sql.OpenDB(source(path, "_query_only=1"))
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(1)
	return db
}

// writer is the one connection that writes. Its user holds Store.mu.
type writer struct {
	db   *sql.DB
	conn *sql.Conn

	begin, commit, rollback *statement
	pin                     *statement
	insertEvent             *statement
	insertAnchor            *statement
	insertCall              *statement
	insertMention           *statement
	insertRequest           *statement
	endRequest              *statement
}

func openWriter(ctx context.Context, path string) (*writer, error) {
	db := sql.OpenDB(source(path, "_journal_mode=WAL&_synchronous=NORMAL"))
	db.SetMaxOpenConns(1)
	w := &writer{db: db}
	if err := w.open(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *writer) open(ctx context.Context) error {
	if err := migrate(ctx, w.db); err != nil {
		return err
	}
	var err error
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	// Checkpoints are ours (checkpoint.go): SQLite's own would stop an append for its fsyncs.
	// What a burst has made of the log is given back when it begins anew.
	for _, pragma := range []string{"PRAGMA wal_autocheckpoint = 0", "PRAGMA journal_size_limit = 33554432"} {
		if _, err := w.conn.ExecContext(ctx, pragma); err != nil {
			return err
		}
	}
	return w.prepare()
}

func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

func (w *writer) prepare() error {
	for _, p := range []struct {
		stmt  **statement
		query string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.pin, "SELECT 1 FROM sqlite_schema WHERE ?1"},
		{&w.insertEvent, insertEvent},
		{&w.insertAnchor, insertAnchor},
		{&w.insertCall, insertCall},
		{&w.insertMention, insertMention},
		{&w.insertRequest, insertRequest},
		{&w.endRequest, endRequest},
	} {
		stmt, err := prepare(w.conn, p.query)
		if err != nil {
			return fmt.Errorf("prepare %q: %w", p.query, err)
		}
		*p.stmt = stmt
	}
	return nil
}

// close lets SQLite fold its write-ahead log into the database.
func (w *writer) close() error {
	var errs []error
	for _, s := range []*statement{
		w.begin, w.commit, w.rollback, w.pin,
		w.insertEvent, w.insertAnchor, w.insertCall, w.insertMention, w.insertRequest, w.endRequest,
	} {
		if s != nil {
			errs = append(errs, s.close())
		}
	}
	if w.conn != nil {
		errs = append(errs, w.conn.Close())
	}
	return errors.Join(append(errs, w.db.Close())...)
}

// transact runs do in one transaction; durable waits for the disk.
func (w *writer) transact(durable bool, do func(ctx context.Context) error) error {
	ctx := context.Background() // a transaction is not stopped halfway
	if durable {
		if err := w.wait(ctx, true); err != nil {
			return err
		}
		defer func() { _ = w.wait(ctx, false) }() // if this fails, appends are merely slower
	}
	if err := w.renewed(func() error { _, err := w.begin.exec(); return err }); err != nil {
		return err
	}
	if err := do(ctx); err != nil {
		return errors.Join(err, w.undo())
	}
	if _, err := w.commit.exec(); err != nil {
		return errors.Join(err, w.undo())
	}
	return nil
}

// hold keeps a read transaction open between the writes, so that each need not begin and end one of
// its own, which is four of the six file locks it takes. Nobody else writes, so what it sees is the
// newest; if somebody has, the next write fails and is told apart by Store.ready.
func (w *writer) hold() error {
	_, err := w.pin.exec(int64(1))
	return err
}

// renewed does one write, and again with a new read transaction when somebody else has written since
// the old one: that shows in the chain, and is no reason not to go on.
func (w *writer) renewed(write func() error) error {
	err := write()
	var se sqlite3.Error
	if !errors.As(err, &se) || se.ExtendedCode != sqlite3.ErrBusySnapshot {
		return err
	}
	if err := w.hold(); err != nil {
		return err
	}
	return write()
}

// release ends it. A checkpoint does not get past it.
func (w *writer) release() error {
	_, err := w.pin.exec(int64(0))
	return err
}

// wait says whether commits wait for the disk. SQLite sets this when it compiles the statement, not
// when it runs it: preparing it once would set it once.
func (w *writer) wait(ctx context.Context, forDisk bool) error {
	query := "PRAGMA synchronous = NORMAL"
	if forDisk {
		query = "PRAGMA synchronous = FULL"
	}
	_, err := w.conn.ExecContext(ctx, query)
	return err
}

// undo rolls back, if SQLite has not already done so.
func (w *writer) undo() error {
	_, err := w.rollback.exec()
	var se sqlite3.Error
	if errors.As(err, &se) && se.Code == sqlite3.ErrError { // no transaction is active
		return nil
	}
	return err
}

// standing is what the database says of itself: the log it holds and its newest event.
func (w *writer) standing(ctx context.Context) (id logID, last link, err error) {
	var b []byte
	err = w.conn.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'log'").Scan(&b)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return id, last, err
	}
	copy(id[:], b)
	last, err = w.link(ctx, "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")
	return id, last, err
}

// link is an event's place in the chain.
type link struct {
	seq  int64
	hash hash
}

// link reads one link; the zero link when there is none, or none that could be ours.
func (w *writer) link(ctx context.Context, query string, args ...any) (l link, err error) {
	var b []byte
	err = w.conn.QueryRowContext(ctx, query, args...).Scan(&l.seq, &b)
	if errors.Is(err, sql.ErrNoRows) {
		return link{}, nil
	}
	if err != nil {
		return link{}, err
	}
	copy(l.hash[:], b)
	return l, nil
}

// agree is h brought in line with a database whose newest event is last. Where the two contradict
// each other the chain goes on behind both, and the first event in question is marked.
func (w *writer) agree(ctx context.Context, h head, last link) (head, error) {
	at, err := w.link(ctx, "SELECT seq, hash FROM events WHERE seq = ?", h.seq)
	if err != nil {
		return h, err
	}
	held := at.hash == h.hash || h.seq == 0
	next := last.seq == h.nextSeq && last.hash == h.nextHash && h.nextSeq > h.seq

	doubt := int64(0)
	switch {
	case last.seq < h.seq:
		doubt = last.seq + 1 // the tail was cut
	case !held:
		doubt = h.seq // replaced
	case next: // died between commit and note: the newest is ours
		h.seq, h.hash = last.seq, last.hash
	case last.seq > h.seq:
		doubt = h.seq + 1 // added by somebody else
		h.seq, h.hash = last.seq, last.hash
	}
	if doubt != 0 && (h.doubt == 0 || doubt < h.doubt) {
		h.doubt = doubt
	}
	h.nextSeq, h.nextHash = 0, hash{}
	return h, nil
}

func (w *writer) setLogID(ctx context.Context, id logID) error {
	_, err := w.conn.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ('log', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value", id[:])
	return err
}

// micros is a time from a column.
func micros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// scanner is one row of an answer: *sql.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }
