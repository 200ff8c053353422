package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	sqlite3 "github.com/mattn/go-sqlite3"
)

// statement is a prepared statement of the writer's connection, run without database/sql between,
// which costs more than some of them do. Its user holds Store.mu. Arguments are int64, string or []byte.
type statement struct {
	stmt *sqlite3.SQLiteStmt
	args []driver.NamedValue // used again
}

func prepare(conn *sql.Conn, query string) (*statement, error) {
	var s *statement
	err := conn.Raw(func(c any) error {
		own, ok := c.(*sqlite3.SQLiteConn)
		if !ok {
			return fmt.Errorf("the connection is a %T", c)
		}
		stmt, err := own.Prepare(query)
		if err != nil {
			return err
		}
		s = &statement{stmt: stmt.(*sqlite3.SQLiteStmt)} //nolint:errcheck // it is the one type this driver makes
		s.args = make([]driver.NamedValue, s.stmt.NumInput())
		return nil
	})
	return s, err
}

// exec runs it to its end or its first row, and says how many rows it has changed.
func (s *statement) exec(args ...driver.Value) (int64, error) {
	for i, v := range args {
		s.args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	r, err := s.stmt.ExecContext(context.Background(), s.args)
	clear(s.args)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (s *statement) close() error { return s.stmt.Close() }
