package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/gateway"
	"github.com/garita-dev/garita/daemon/redact"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// known is what takes secrets out where no server is known, of the record, logs and traces: tokens
// show by their shape, values by their name, and what servers were granted is looked for.
var known = newKnowledge()

// knowledge is a Redactor that learns.
type knowledge struct {
	current atomic.Pointer[redact.Redactor]
}

func newKnowledge() *knowledge {
	k := &knowledge{}
	k.learn(nil)
	return k
}

func (k *knowledge) learn(all []redact.Secret) { k.current.Store(redact.New(all...)) }
func (k *knowledge) now() *redact.Redactor     { return k.current.Load() }
func (k *knowledge) Record(text []byte) []byte { return k.now().Record(text) }
func (k *knowledge) Log(line string) string    { return k.now().Log(line) }

// redactorOf is what takes secrets out of what a server returns: those that it was granted, whatever it
// makes of them, besides what looks like one.
func (d *Daemon) redactorOf(server sandbox.ServerName) func() *redact.Redactor {
	return func() *redact.Redactor { return d.secrets.redactor(server) }
}

// resultsOf says what is done with what a session's server returns.
func (d *Daemon) resultsOf(o gateway.Options) gateway.Results {
	want := d.config.Settings().Results
	return gateway.Results{
		Redactor: d.redactorOf(o.Server.Name), Limit: want.Limit, Spotlight: want.Spotlight, Granted: reachable(o.Server),
		Doubt: d.doubtOf(o.Principal), Keep: d.keepResult,
		Noted: func(method string, findings []string) { d.noteMessage(o, method, findings) },
	}
}

// reachable says which hosts a server may reach: one elsewhere is at its own already.
func reachable(server sandbox.Server) func(string) bool {
	u, err := url.Parse(server.Source.URL)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	own := strings.ToLower(u.Hostname())
	return func(host string) bool { return host == own }
}

// doubtOf is the doubt that the sessions of one agent share.
func (d *Daemon) doubtOf(p approvals.Principal) *gateway.Doubt {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.doubts[p.String()] == nil {
		d.doubts[p.String()] = &gateway.Doubt{}
	}
	return d.doubts[p.String()]
}

// noteMessage records what was found in what a server sent outside of calls.
func (d *Daemon) noteMessage(o gateway.Options, method string, findings []string) {
	e := event(store.MessageNoted, o.Principal, map[string]any{"method": method, "findings": findings})
	e.Session, e.Server = o.ID, o.Server.Name
	if _, err := d.db.Append(context.Background(), e); err != nil {
		d.log.Error("cannot record what was found in a message", "server", o.Server.Name, "session", o.ID, "err", err)
	}
}

// keepResult keeps a result that is too long to be passed on, and lets the oldest go that there is
// no room for.
func (d *Daemon) keepResult(id approvals.CallID, result []byte) (where string, err error) {
	most := d.config.Settings().Results.Kept
	if int64(len(result)) > most {
		return "", fmt.Errorf("keep the result of %s: it is %d bytes, and at most %d are kept (results.kept)", id, len(result), most)
	}
	dir := filepath.Join(d.config.Paths().State, "results")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("keep the result of %s: %w", id, err)
	}
	file := filepath.Join(dir, string(id)+".json")
	if err := os.WriteFile(file, result, 0o600); err != nil {
		return "", errors.Join(fmt.Errorf("keep the result of %s: %w", id, err), os.Remove(file))
	}
	return file, boundResults(dir, most)
}

// boundResults removes the oldest files of a folder until the rest is no more than most bytes.
func boundResults(dir string, most int64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	type file struct {
		name string
		size int64
		at   time.Time
	}
	var files []file
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return err
		}
		files, total = append(files, file{e.Name(), info.Size(), info.ModTime()}), total+info.Size()
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	for _, f := range files {
		if total <= most {
			return nil
		}
		if err := os.Remove(filepath.Join(dir, f.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= f.size
	}
	return nil
}
