package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// KeepWorkspace remembers that w belongs to its principal, or returns the workspace that already
// has the same server, principal and folders. w.Created is set when it is zero.
func (s *Store) KeepWorkspace(ctx context.Context, w store.Workspace) (store.Workspace, error) {
	folders, err := json.Marshal(append([]string{}, w.Folders...))
	if err != nil {
		return w, fmt.Errorf("keep workspace %s: %w: %w", w.ID, errdefs.ErrInvalidArgument, err)
	}
	if w.Created.IsZero() {
		w.Created = time.Now().Truncate(time.Microsecond).UTC()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return w, fmt.Errorf("keep workspace %s: the record is closed: %w", w.ID, errdefs.ErrUnavailable)
	}
	err = s.w.transact(true, func(ctx context.Context) error {
		_, err := s.w.conn.ExecContext(ctx,
			`INSERT INTO workspaces (id, server, uid, client, token, folders, created) VALUES (?, ?, ?, ?, ?, ?, ?)
			 ON CONFLICT (server, uid, client, token, folders) DO NOTHING`,
			string(w.ID), string(w.Server), w.Principal.UID, w.Principal.Client, w.Principal.Token, string(folders), w.Created.UnixMicro())
		return err
	})
	if err != nil {
		return w, unavailable(fmt.Sprintf("keep workspace %s", w.ID), err)
	}
	kept, err := scanWorkspace(s.w.conn.QueryRowContext(ctx,
		selectWorkspace+"WHERE server = ? AND uid = ? AND client = ? AND token = ? AND folders = ?",
		string(w.Server), w.Principal.UID, w.Principal.Client, w.Principal.Token, string(folders)))
	return kept, unavailable(fmt.Sprintf("keep workspace %s", w.ID), err)
}

const selectWorkspace = "SELECT id, server, uid, client, token, folders, created FROM workspaces "

// Workspaces lists the workspaces of server, or all when it is "", oldest first.
func (s *Store) Workspaces(ctx context.Context, server sandbox.ServerName) ([]store.Workspace, error) {
	rows, err := s.readers.QueryContext(ctx, selectWorkspace+"WHERE ?1 = '' OR server = ?1 ORDER BY created, id", string(server))
	if err != nil {
		return nil, unavailable("list workspaces", err)
	}
	defer rows.Close()
	var all []store.Workspace
	for rows.Next() {
		w, err := scanWorkspace(rows)
		if err != nil {
			return nil, unavailable("list workspaces", err)
		}
		all = append(all, w)
	}
	return all, unavailable("list workspaces", rows.Err())
}

// Workspace finds one workspace; NotFound.
func (s *Store) Workspace(ctx context.Context, id sandbox.WorkspaceID) (store.Workspace, error) {
	w, err := scanWorkspace(s.readers.QueryRowContext(ctx, selectWorkspace+"WHERE id = ?", string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return w, fmt.Errorf("find workspace %s: %w", id, errdefs.ErrNotFound)
	}
	return w, unavailable("find workspace", err)
}

// ForgetWorkspace removes a workspace whose files are gone. One that is not known is no error.
func (s *Store) ForgetWorkspace(ctx context.Context, id sandbox.WorkspaceID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("forget workspace %s: the record is closed: %w", id, errdefs.ErrUnavailable)
	}
	_, err := s.w.conn.ExecContext(ctx, "DELETE FROM workspaces WHERE id = ?", string(id))
	return unavailable(fmt.Sprintf("forget workspace %s", id), err)
}

func scanWorkspace(row scanner) (store.Workspace, error) {
	var w store.Workspace
	var folders []byte
	var uid int
	var client, token string
	var created int64
	if err := row.Scan(&w.ID, &w.Server, &uid, &client, &token, &folders, &created); err != nil {
		return w, err
	}
	w.Principal = approvals.Principal{UID: uid, Client: client, Token: token}
	w.Created = micros(created)
	return w, json.Unmarshal(folders, &w.Folders)
}
