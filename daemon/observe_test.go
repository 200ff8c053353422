package daemon

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/garita-dev/garita/approvals"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/daemon/observe"
	"github.com/garita-dev/garita/daemon/supervisor"
	"github.com/garita-dev/garita/sandbox"
	"github.com/garita-dev/garita/store"
)

// newObserveHome is a daemon with a server named files, of which nothing runs.
func newObserveHome(t *testing.T) *Daemon {
	t.Helper()
	h := newPinHome(t)
	h.supervisor = supervisor.New(supervisor.Options{Changed: func(sandbox.ServerName) {}})
	h.observed = newObservations(h.Daemon)
	t.Cleanup(func() { h.stop(); h.observed.running.Wait() })
	return h.Daemon
}

// A server is observed from its beginning to its end: what was seen, and denied, makes the proposal.
func TestAnObservation(t *testing.T) {
	d := newObserveHome(t)
	s, _ := d.config.Server("files")
	if err := d.observed.begin("files", nil, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := d.observed.begin("files", nil, time.Hour); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("begun twice: %v", err)
	}
	if d.observed.since("files").IsZero() || !d.observed.since("other").IsZero() {
		t.Error("it is not known who is observed")
	}
	wide := sandbox.Allowlist{Endpoints: []sandbox.Endpoint{endpoint("a.example.com", 443)}, PublicWeb: true, HostPorts: []uint16{5432}}
	if got, since := d.observed.narrowed("files", wide); len(got.Endpoints) > 0 || got.PublicWeb || !got.Ask || len(got.HostPorts) != 1 || since.IsZero() {
		t.Errorf("unasked it reaches %+v", got)
	}
	if got, since := d.observed.narrowed("other", wide); !cmp.Equal(got, wide) || !since.IsZero() {
		t.Errorf("another server reaches %+v", got)
	}

	call := approvals.Call{ID: "c1", Server: "files", Tool: "read_file", At: time.Now()}
	d.observed.begins(call)
	d.observed.reached("files", "a.example.com:443", false)
	d.observed.reached("files", "evil.example.com:443", true)
	d.observed.recorded(store.CallRecord{Call: call, Decision: approvals.Decision{Effect: approvals.Allow}})
	for tool, outcome := range map[string]approvals.Outcome{"send": approvals.Denied, "unanswered": approvals.Expired} {
		d.observed.recorded(store.CallRecord{
			Call: approvals.Call{ID: "c2", Server: "files", Tool: tool, At: time.Now()}, Decision: approvals.Decision{Effect: approvals.Deny, Outcome: outcome},
		})
	}
	if got := d.observed.show(s); got.State != "observing" || got.Proposal != nil || len(got.Seen) != 4 {
		t.Errorf("meanwhile: %+v", got)
	}
	if _, err := d.observed.proposal("files"); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("there is a proposal before the end: %v", err)
	}
	if err := d.observed.finish(t.Context(), d.observed.of["files"], "test"); err != nil {
		t.Fatal(err)
	}
	if !d.observed.since("files").IsZero() {
		t.Error("it is observed after the end")
	}
	d.observed.reached("files", "late.example.com:443", false)
	got := d.observed.show(s)
	var lines []string
	for _, l := range got.Proposal.Lines {
		lines = append(lines, l.Part+" "+l.Change+" "+l.What)
	}
	for _, want := range []string{"network add a.example.com:443", "network refuse evil.example.com:443", "tools keep read_file", "tools refuse send"} {
		if !slices.Contains(lines, want) {
			t.Errorf("%q is not among %q", want, lines)
		}
	}
	if text := strings.Join(lines, "\n"); strings.Contains(text, "late") || strings.Contains(text, "unanswered") {
		t.Errorf("proposed is %s", text)
	}
	if got.Proposal.Binding == "" || strings.Contains(got.Proposal.After, "evil") || !strings.Contains(got.Proposal.Diff, "+      - read_file") {
		t.Errorf("the proposal is %+v", got.Proposal)
	}
	now, _ := d.config.Server("files")
	if !cmp.Equal(now, s) {
		t.Error("observing has changed the server")
	}
}

// An observation ends by its time and with the daemon, and leaves nothing behind.
func TestObservationsEnd(t *testing.T) {
	d := newObserveHome(t)
	before := runtime.NumGoroutine()
	if err := d.observed.begin("files", nil, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	d.observed.beyond(t.Context(), "files", 1<<40, time.Minute) // until it has ended
	s, _ := d.config.Server("files")
	if got := d.observed.show(s); got.State != "ended" {
		t.Errorf("it is %s after its time", got.State)
	}
	if err := d.observed.begin("files", nil, time.Hour); err != nil {
		t.Errorf("it cannot be observed again: %v", err)
	}
	d.stop()
	d.observed.running.Wait()
	if got := d.observed.show(s); got.State != "ended" {
		t.Errorf("it is %s after the daemon's end", got.State)
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines are left, there were %d", n, before)
	}
	events, err := d.db.Events(t.Context(), 0, 100, "")
	if err != nil {
		t.Fatal(err)
	}
	ends := 0
	for _, e := range events {
		if e.Kind == observeEnded {
			ends++
		}
	}
	if ends != 2 {
		t.Errorf("%d ends are on record", ends)
	}
}

func TestPlacesOfThisMachine(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".ssh", "data", "own"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"keys": home + "/.ssh", "elsewhere": "/etc", "link": home + "/data"} {
		if err := os.Symlink(to, filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	guard := config.Guard{Home: home, Own: []string{filepath.Join(home, "own")}}
	for name, c := range map[string]struct {
		path string
		want observe.Place
	}{
		"a folder":                     {home + "/data", observe.Place{Exists: true, Real: home + "/data"}},
		"a link to one":                {home + "/link", observe.Place{Exists: true, Real: home + "/data"}},
		"nothing":                      {home + "/none", observe.Place{}},
		"keys":                         {home + "/.ssh/id_rsa", observe.Place{Credential: true}},
		"a link to keys":               {home + "/keys", observe.Place{Exists: true, Real: home + "/.ssh", Credential: true}},
		"what may ask another machine": {"/net/evil.example.com/x", observe.Place{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(placeOf(guard, c.path), c.want); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, path := range []string{home, home + "/own", home + "/elsewhere"} {
		if got := placeOf(guard, path); got.Refused == "" && !got.Credential {
			t.Errorf("%s may be given: %+v", path, got)
		}
	}
}

// What a hostile server shows in an observation is shown as what it is, and no secret is.
func TestObservedTextsAreHarmless(t *testing.T) {
	d := newObserveHome(t)
	if err := d.observed.begin("files", nil, time.Hour); err != nil {
		t.Fatal(err)
	}
	token := "ghp_" + strings.Repeat("a1B2", 9)
	d.observed.note("files", func(o *observation) {
		o.take(sandbox.Sightings{List: []sandbox.Sighting{
			{Seq: 1, Kind: sandbox.SawCommand, Path: "/usr/bin/curl", Argv: []string{"curl", "-H", "Authorization: " + token}, Count: 2},
			{Seq: 2, Kind: sandbox.SawMissing, Path: "/data/\x1b]0;owned\a\u202e", Count: 1},
		}}, map[string]int{}, redactLine)
	})
	s, _ := d.config.Server("files")
	for _, seen := range d.observed.show(s).Seen {
		if strings.ContainsAny(seen.What, "\x1b\a\u202e") || strings.Contains(seen.What, token) {
			t.Errorf("shown is %q", seen.What)
		}
	}
}
