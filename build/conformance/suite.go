package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// revisions are the sets of requirements that are run, with what the suite says of the reference
// programs of go-sdk. The fixtures are what they are meant to be as long as it says that.
var revisions = []struct{ name, server, client string }{ //nolint:gochecknoglobals // a constant
	{"2025-11-25", "82 passed, 0 failed", "272 passed, 13 failed, 0 warnings"},
	{"2026-07-28", "165 passed, 30 failed", "445 passed, 13 failed, 0 warnings"},
}

// meant are the differences from the reference that are ours on purpose, by scenario and check.
var meant = map[string]string{ //nolint:gochecknoglobals // a constant
	"server-stateless sep-2575-server-sends-tools-list-changed-on-subscription": "the list is what it was: its tool is added a third time, and a change of nothing is not told (report M14)",
	// The server breaks its answer off without ids to come back with, so it is lost. The suite can ask
	// for nothing again directly; through Garita the client is told at once what happened.
	"server-sse-polling server-sse-disconnect-resume": "the answer was an error, and there was no other to come back for",
	"server-sse-polling server-sse-retry-field":       "the same: it came at once, in a stream that needed no advice",
}

// outcome is what the suite found: by scenario and check, the worst that was said of it.
type outcome struct {
	total  string
	checks map[string]map[string]string
}

// worst orders what a check can say.
var worst = []string{"INFO", "SKIPPED", "SUCCESS", "WARNING", "FAILURE"} //nolint:gochecknoglobals // a constant

func (s *stage) suites(ctx context.Context) error {
	urls := map[string]string{}
	for _, name := range []string{"direct-2025-11-25", "direct-2026-07-28", "far-2025-11-25", "far-2026-07-28"} {
		url, err := s.serve(ctx, strings.HasSuffix(name, "2026-07-28"))
		if err != nil {
			return err
		}
		urls[name] = url
	}
	if err := s.begin(ctx, fmt.Sprintf(
		"  inside: {command: [%s], workspace: none, requests: {allow: [sampling]}}\n  far-2025-11-25: {url: %q, requests: {allow: [sampling]}}\n  far-2026-07-28: {url: %q, requests: {allow: [sampling]}}\n",
		s.program("everything-server"), urls["far-2025-11-25"], urls["far-2026-07-28"])); err != nil {
		return err
	}
	token, err := s.token(ctx, "inside", "far-2025-11-25", "far-2026-07-28")
	if err != nil {
		return err
	}
	proxy, err := s.bearing(token)
	if err != nil {
		return err
	}
	rows := [][]string{{"SUITE", "REVISION", "DIRECTLY", "THROUGH", "WHAT", "SECONDS"}}
	for _, r := range revisions {
		if !s.only.MatchString(r.name) {
			continue
		}
		server := s.fixture(ctx, r.server, "server", r.name, "--url", urls["direct-"+r.name])
		s.same("server/"+r.name+"/fixture", server.total, r.server)
		for what, name := range map[string]string{"sandboxed, stdio": "inside", "elsewhere, HTTP": "far-" + r.name} {
			began := time.Now()
			through := s.through(ctx, server, "server", r.name, "--url", "http://"+proxy+"/mcp/"+name)
			s.compare("server/"+r.name+"/"+what, server, through)
			rows = append(rows, []string{"server", r.name, server.total, through.total, what, seconds(began)})
		}
		client := s.fixture(ctx, r.client, "client", r.name, "--command", s.program("everything-client"))
		s.same("client/"+r.name+"/fixture", client.total, r.client)
		began := time.Now()
		ours := s.through(ctx, client, "client", r.name, "--command", s.program("remote-client"))
		s.compare("client/"+r.name, client, ours)
		rows = append(rows, []string{"client", r.name, client.total, ours.total, "daemon/remote", seconds(began)})
	}
	table(rows)
	return ctx.Err()
}

func seconds(since time.Time) string { return fmt.Sprintf("%.0f", time.Since(since).Seconds()) }

func (s *stage) same(test, got, want string) {
	if got != want {
		s.failedWith(test, fmt.Sprintf("the reference gives %q, want %q", got, want))
		return
	}
	s.passed(test)
}

var totals = regexp.MustCompile(`Total: (.*)`)

// run runs the suite once. That scenarios fail makes it fail, too: what it found is in its files.
func (s *stage) run(ctx context.Context, kind, revision string, args ...string) outcome {
	dir, err := os.MkdirTemp(s.dir, "suite-")
	if err != nil {
		return outcome{total: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	args = append([]string{s.module("@modelcontextprotocol/conformance/dist/index.js"), kind, "--requirements", revision, "-o", dir}, args...)
	out, err := s.output(ctx, "node", args...)
	o := outcome{checks: read(dir)}
	if total := totals.FindStringSubmatch(out); total != nil {
		o.total = total[1]
	} else {
		o.total = fmt.Sprintf("no result: %.200v", err)
	}
	return o
}

// fixture runs the suite on the reference alone; once more where it does not come out as is known,
// which happens on a busy machine.
func (s *stage) fixture(ctx context.Context, want, kind, revision string, args ...string) outcome {
	o := s.run(ctx, kind, revision, args...)
	if o.total != want {
		o = s.run(ctx, kind, revision, args...)
	}
	return o
}

// through runs the suite as it goes through Garita. Its scenarios have time limits of their own, some
// of a second: where one comes out worse the suite is run once more, and what is worse both times counts.
func (s *stage) through(ctx context.Context, direct outcome, kind, revision string, args ...string) outcome {
	o := s.run(ctx, kind, revision, args...)
	worse := o.worseThan(direct)
	if len(worse) == 0 {
		return o
	}
	fmt.Fprintf(os.Stderr, "worse than directly, once more: %s\n", strings.Join(worse, ", "))
	again := s.run(ctx, kind, revision, args...)
	if o.checks == nil {
		return again
	}
	for _, scenario := range worse {
		if len(differences(scenario, direct.checks[scenario], again.checks[scenario])) == 0 {
			o.checks[scenario] = again.checks[scenario]
		}
	}
	return o
}

// worseThan are the scenarios that come out worse.
func (o outcome) worseThan(direct outcome) (scenarios []string) {
	for _, scenario := range slices.Sorted(maps.Keys(direct.checks)) {
		if len(differences(scenario, direct.checks[scenario], o.checks[scenario])) > 0 {
			scenarios = append(scenarios, scenario)
		}
	}
	return scenarios
}

// stamp is what the suite adds to a scenario's name for its folder.
var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[-\dZ]+$`)

// read reads the folders of one run, one of each scenario.
func read(dir string) map[string]map[string]string {
	all := map[string]map[string]string{}
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "checks.json" {
			return nil
		}
		scenario, _ := filepath.Rel(dir, filepath.Dir(path))
		all[strings.TrimPrefix(stamp.ReplaceAllString(scenario, ""), "server-")] = readChecks(path)
		return nil
	})
	return all
}

func readChecks(path string) map[string]string {
	var said []struct {
		ID, Status, ErrorMessage string
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &said) != nil {
		return nil
	}
	checks := map[string]string{}
	for _, c := range said {
		now, _, _ := strings.Cut(checks[c.ID], " ")
		if slices.Index(worst, c.Status) > slices.Index(worst, now) {
			checks[c.ID] = strings.TrimSpace(c.Status + " " + c.ErrorMessage)
		}
	}
	return checks
}

// compare has one result a scenario: no check is to come out worse through Garita.
func (s *stage) compare(test string, direct, through outcome) {
	if len(direct.checks) == 0 || len(through.checks) == 0 {
		s.failedWith(test, "nothing was checked: "+direct.total+"; "+through.total)
		return
	}
	for _, scenario := range slices.Sorted(maps.Keys(direct.checks)) {
		name := test + "/" + scenario
		if worse := differences(scenario, direct.checks[scenario], through.checks[scenario]); len(worse) > 0 {
			s.failedWith(name, strings.Join(worse, "\n"))
		} else {
			s.passed(name)
		}
	}
}

// differences are what succeeded directly and did not through Garita, and what failed only there.
func differences(scenario string, direct, through map[string]string) (worse []string) {
	ids := maps.Clone(direct)
	maps.Copy(ids, through)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		bad := strings.HasPrefix(through[id], "FAILURE") || strings.HasPrefix(through[id], "WARNING")
		missing := through[id] == "" && direct[id] == "SUCCESS"
		was := strings.HasPrefix(direct[id], "FAILURE") || strings.HasPrefix(direct[id], "WARNING")
		if (missing || bad && !was) && meant[scenario+" "+id] == "" {
			worse = append(worse, fmt.Sprintf("%s: directly %q, through Garita %q", id, direct[id], through[id]))
		}
	}
	return worse
}
